#include <tensorstat/meter.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <new>
#include <utility>

#include "stats/engine.hpp"
#include "stats/ledger.hpp"
#include "stats/placement.hpp"

namespace tensorstat {
namespace {

// What leaves a device for the host passes through a window of this size.
constexpr std::uint64_t kReadBackBytes = std::uint64_t{8} << 20;

Error out_of_memory() { return {Code::kInvalid, "out of host memory"}; }

}  // namespace

struct Meter::State {
  explicit State(MeterOptions given)
      : options(std::move(given)), ledger(options.budget_bytes), host(make_host_engine(options.threads)) {}

  void log(Severity severity, std::string_view text) {
    const std::lock_guard lock(log_mutex);
    if (options.log) options.log(severity, text);
  }

  // Finds the device once, at the first request that may want it.
  DeviceEngine* find_device() {
    std::call_once(device_found, [this] {
      auto made = make_opencl_engine(options, ledger);
      if (made) {
        device = std::move(*made);
      } else {
        device_trouble = made.error().message;
        log(Severity::kInfo, "no OpenCL device: " + device_trouble);
      }
    });
    return device_failed ? nullptr : device.get();
  }

  std::string trouble() const {
    return device_failed ? "the device failed earlier, see the log" : device_trouble;
  }

  DeviceSight sight() {
    return {[this] { return find_device(); }, [this] { return trouble(); }};
  }

  // Folds what the host cannot read, window by window.
  Status fold_read_back(const Job& job) {
    std::vector<std::byte> window(std::min(job.tensor.bytes(), kReadBackBytes));
    for (std::uint64_t first = 0; first < job.tensor.bytes(); first += window.size()) {
      window.resize(std::min<std::uint64_t>(window.size(), job.tensor.bytes() - first));
      if (Status status = device->read(job.tensor, first, window); !status) return status;
      Job part = job;
      part.tensor.address = window.data();
      part.tensor.offset_bytes = 0;
      part.tensor.where = Where::kHost;
      part.tensor.element_count = window.size() / size_bytes(job.tensor.dtype);
      if (Status status = host->fold({&part, 1}); !status) return status;
    }
    return {};
  }

  Status fold_on_host(std::span<const Job> jobs) {
    std::vector<Job> readable;
    for (const Job& job : jobs) {
      if (host->refusal(job.tensor, job.partial->precision()).empty()) {
        readable.push_back(job);
      } else if (find_device() == nullptr) {
        return Error{Code::kDevice, "the tensor is in device memory, which cannot be read: " + trouble()};
      } else if (Status status = fold_read_back(job); !status) {
        return status;
      }
    }
    return host->fold(readable);
  }

  // Folds every job where its placement says; a device that fails is not asked again, and the host
  // takes over with the same bits, unless the caller insisted.
  Status fold(std::span<const Job> jobs, std::span<Placement> placements, On on) {
    std::vector<Job> on_device, on_host;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      (placements[i].on_device ? on_device : on_host).push_back(jobs[i]);
    }
    if (!on_device.empty()) {
      if (Status status = device->fold(on_device); !status) {
        const bool over_budget = status.error().code == Code::kOverBudget;
        if (on == On::kDevice) return status;
        if (over_budget) {
          log(Severity::kInfo, status.error().message + "; done on the host");
        } else if (!device_failed.exchange(true)) {
          log(Severity::kWarning, "the OpenCL device failed, the host takes over: " + status.error().message);
        }
        for (Placement& placement : placements) {
          if (placement.on_device) placement = {false, "the device gave up: " + status.error().message};
        }
        on_host.insert(on_host.end(), on_device.begin(), on_device.end());
      }
    }
    return on_host.empty() ? Status{} : fold_on_host(on_host);
  }

  // The MD5 of each tensor; an empty text, and one warning, where there is none.
  Status digest(std::span<const Tensor> tensors, std::span<std::string> hex) {
    std::vector<Tensor> readable;
    std::vector<std::size_t> whose;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i].where != Where::kClBuffer) {
        readable.push_back(tensors[i]);
        whose.push_back(i);
        continue;
      }
      if (find_device() == nullptr) return Error{Code::kDevice, "the tensor is in device memory: " + trouble()};
      const std::unique_ptr<Digest> digest = host->digest();
      std::vector<std::byte> window(std::min(tensors[i].bytes(), kReadBackBytes));
      for (std::uint64_t first = 0; first < tensors[i].bytes(); first += window.size()) {
        window.resize(std::min<std::uint64_t>(window.size(), tensors[i].bytes() - first));
        if (Status status = device->read(tensors[i], first, window); !status) return status;
        digest->update(window);
      }
      hex[i] = accept(digest->finish());
    }
    std::vector<std::string> found(readable.size());
    if (Status status = host->digest(readable, found); !status) {
      accept(status.error());
    } else {
      for (std::size_t i = 0; i < found.size(); ++i) hex[whose[i]] = std::move(found[i]);
    }
    return {};
  }

  std::string accept(Result<std::string> digest) {
    if (digest) return *std::move(digest);
    if (!digest_refused.exchange(true)) log(Severity::kWarning, "no MD5, its cells stay empty: " + digest.error().message);
    return {};
  }

  Measurement finish(const Partial& partial, const Request& request, const Placement& placement,
                     std::string md5) const {
    Measurement result;
    result.statistics.categories = request.categories;
    result.statistics.values.reserve(request.categories.size());
    result.placement.reserve(request.categories.size());
    const std::string engine(placement.on_device ? device->name() : host->name());
    for (const Category category : request.categories) {
      const bool is_digest = (needs(category) & kBytes) != 0;
      result.placement.push_back(is_digest ? Decision{category, "host", "a digest is serial: host work"}
                                           : Decision{category, engine, placement.reason});
      result.statistics.values.push_back(!is_digest    ? partial.finish(category)
                                         : md5.empty() ? Value{}
                                                       : Value{md5});
    }
    return result;
  }

  const MeterOptions options;
  Ledger ledger;
  const std::unique_ptr<HostEngine> host;
  std::once_flag device_found;
  std::unique_ptr<DeviceEngine> device;
  std::string device_trouble;
  std::atomic<bool> device_failed{false}, digest_refused{false};
  std::mutex log_mutex;
};

Meter::Meter(MeterOptions options) : state_(std::make_unique<State>(std::move(options))) {}
Meter::~Meter() = default;

MemoryUse Meter::device_memory() const { return state_->ledger.use(); }

Result<std::vector<Measurement>> Meter::measure(std::span<const Tensor> tensors, const Request& request) try {
  const Needs wanted = needs(request.categories, request.precision);
  std::uint64_t total_bytes = 0;
  for (const Tensor& tensor : tensors) total_bytes += tensor.bytes();

  std::vector<Partial> partials;
  std::vector<Placement> placements;
  std::vector<Job> jobs;
  partials.reserve(tensors.size());
  placements.reserve(tensors.size());
  jobs.reserve(tensors.size());
  for (const Tensor& tensor : tensors) {
    auto placement = place(tensor, request, total_bytes, *state_->host, state_->sight());
    if (!placement) return placement.error();
    placements.push_back(*std::move(placement));
    partials.emplace_back(tensor.dtype, request.precision, static_cast<Needs>(wanted & ~kBytes));
    jobs.push_back({tensor, &partials.back()});
  }
  if (Status status = state_->fold(jobs, placements, request.on); !status) return status.error();

  std::vector<std::string> md5(tensors.size());
  if ((wanted & kBytes) != 0) {
    if (Status status = state_->digest(tensors, md5); !status) return status.error();
  }
  std::vector<Measurement> results;
  results.reserve(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    results.push_back(state_->finish(partials[i], request, placements[i], std::move(md5[i])));
  }
  return results;
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

struct Meter::Stream::State {
  Meter::State* meter;
  Request request;
  Partial partial;
  std::unique_ptr<Digest> digest;  // where one was asked for
  Placement placement{false, "no elements"};
};

Meter::Stream::Stream(std::unique_ptr<State> state) : state_(std::move(state)) {}
Meter::Stream::Stream(Stream&&) noexcept = default;
Meter::Stream& Meter::Stream::operator=(Stream&&) noexcept = default;
Meter::Stream::~Stream() = default;

Result<Meter::Stream> Meter::stream(Dtype dtype, const Request& request) try {
  const Needs wanted = needs(request.categories, request.precision);
  auto state = std::make_unique<Stream::State>(Stream::State{
      state_.get(), request, Partial(dtype, request.precision, static_cast<Needs>(wanted & ~kBytes)),
      (wanted & kBytes) != 0 ? state_->host->digest() : nullptr});
  return Stream(std::move(state));
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

Status Meter::Stream::append(std::span<const std::byte> whole_elements) try {
  Meter::State& meter = *state_->meter;
  const Dtype dtype = state_->partial.dtype();
  if (whole_elements.size() % size_bytes(dtype) != 0) {
    return Error{Code::kInvalid, "a piece of " + std::to_string(whole_elements.size()) +
                                     " bytes is no whole number of " + std::string(name(dtype)) + " elements"};
  }
  const Job job{{.dtype = dtype,
                 .element_count = whole_elements.size() / size_bytes(dtype),
                 .address = whole_elements.data()},
                &state_->partial};
  auto placement = place(job.tensor, state_->request, job.tensor.bytes(), *meter.host, meter.sight());
  if (!placement) return placement.error();
  if (Status status = meter.fold({&job, 1}, {&*placement, 1}, state_->request.on); !status) return status;
  state_->placement = *std::move(placement);
  if (state_->digest) state_->digest->update(whole_elements);
  return {};
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

Result<Measurement> Meter::Stream::finish() try {
  std::string md5;
  if (state_->digest) md5 = state_->meter->accept(state_->digest->finish());
  return state_->meter->finish(state_->partial, state_->request, state_->placement, std::move(md5));
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

}  // namespace tensorstat
