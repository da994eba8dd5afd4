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

// Hexadecimal digits, where they were asked for and could be had.
struct Digests {
  std::string md5, sha1;
};

Error out_of_memory() { return {Code::kInvalid, "out of host memory"}; }

}  // namespace

struct Meter::State {
  explicit State(MeterOptions given)
      : options(std::move(given)), ledger(options.budget_bytes), host(make_host_engine(options)) {}

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

  // Whether `device` is there to read from; one that failed to fold still is.
  Status may_read_device() {
    find_device();
    if (device != nullptr) return {};
    return Error{Code::kDevice, "the tensor is in device memory, which cannot be read: " + trouble()};
  }

  // Hands a tensor in device memory to `take`, window by window: as a tensor in host memory, and as bytes.
  template <typename Take>
  Status read_back(const Tensor& tensor, const Take& take) {
    if (Status status = may_read_device(); !status) return status;
    std::vector<std::byte> window(std::min(tensor.bytes(), kReadBackBytes));
    for (std::uint64_t first = 0; first < tensor.bytes(); first += window.size()) {
      window.resize(std::min<std::uint64_t>(window.size(), tensor.bytes() - first));
      if (Status status = device->read(tensor, first, window); !status) return status;
      const Tensor part{.dtype = tensor.dtype,
                        .element_count = window.size() / size_bytes(tensor.dtype),
                        .address = window.data()};
      if (Status status = take(part, window); !status) return status;
    }
    return {};
  }

  Status fold_on_host(std::span<const Job> jobs) {
    std::vector<Job> readable;
    for (const Job& job : jobs) {
      if (host->refusal(job.tensor, job.partial->precision()).empty()) {
        readable.push_back(job);
        continue;
      }
      const Status status = read_back(job.tensor, [&](const Tensor& part, std::span<const std::byte>) {
        const Job piece{part, job.partial};
        return host->fold({&piece, 1});
      });
      if (!status) return status;
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

  // A digest of each tensor; an empty text, and one warning, where there is none.
  Status digest(Need which, std::span<const Tensor> tensors, std::span<std::string> hex) {
    std::vector<Tensor> readable;
    std::vector<std::size_t> whose;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i].where != Where::kClBuffer) {
        readable.push_back(tensors[i]);
        whose.push_back(i);
        continue;
      }
      const std::unique_ptr<Digest> digest = host->digest(which, tensors[i].dtype);
      const Status status =
          read_back(tensors[i], [&](const Tensor&, std::span<const std::byte> bytes) -> Status {
            digest->update(bytes);
            return {};
          });
      if (!status) return status;
      hex[i] = accept(digest->finish());
    }
    std::vector<std::string> found(readable.size());
    if (Status status = host->digest(which, readable, found); !status) {
      accept(status.error());
    } else {
      for (std::size_t i = 0; i < found.size(); ++i) hex[whose[i]] = std::move(found[i]);
    }
    return {};
  }

  std::string accept(Result<std::string> digest) {
    if (digest) return *std::move(digest);
    if (!digest_refused.exchange(true)) {
      log(Severity::kWarning, "no digest, its cells stay empty: " + digest.error().message);
    }
    return {};
  }

  Measurement finish(const Partial& partial, const Request& request, const Placement& placement,
                     Digests digests) const {
    Measurement result;
    result.statistics.categories = request.categories;
    result.statistics.values.reserve(request.categories.size());
    result.placement.reserve(request.categories.size());
    if (placement.on_device) result.device_bytes = ledger.use().current_bytes;
    const std::string engine(placement.on_device ? device->name() : host->name());
    for (const Category category : request.categories) {
      const Needs digest = needs(category) & kDigests;
      if (digest == 0) {
        result.placement.push_back({category, engine, placement.reason});
        result.statistics.values.push_back(partial.finish(category));
        continue;
      }
      std::string& hex = digest == kMd5Digest ? digests.md5 : digests.sha1;
      result.placement.push_back({category, "host", "a digest is serial: host work"});
      result.statistics.values.push_back(hex.empty() ? Value{} : Value{hex});
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

Status Meter::read(const Tensor& tensor, std::uint64_t first_byte, std::span<std::byte> bytes) {
  if (tensor.strides != nullptr) {
    state_->host->gather(tensor, first_byte / size_bytes(tensor.dtype), bytes);
    return {};
  }
  if (tensor.where != Where::kClBuffer) {
    const auto* from = static_cast<const std::byte*>(tensor.address) + tensor.offset_bytes + first_byte;
    std::copy_n(from, bytes.size(), bytes.begin());
    return {};
  }
  if (Status status = state_->may_read_device(); !status) return status;
  return state_->device->read(tensor, first_byte, bytes);
}

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
    partials.emplace_back(tensor.dtype, request.precision, static_cast<Needs>(wanted & ~kDigests));
    jobs.push_back({tensor, &partials.back()});
  }
  if (Status status = state_->fold(jobs, placements, request.on); !status) return status.error();

  std::vector<std::string> md5(tensors.size()), sha1(tensors.size());
  for (const auto& [which, hex] : {std::pair{kMd5Digest, &md5}, std::pair{kSha1Digest, &sha1}}) {
    if ((wanted & which) == 0) continue;
    if (Status status = state_->digest(which, tensors, *hex); !status) return status.error();
  }
  std::vector<Measurement> results;
  results.reserve(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    results.push_back(state_->finish(partials[i], request, placements[i],
                                     {std::move(md5[i]), std::move(sha1[i])}));
  }
  return results;
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

struct Meter::Stream::State {
  Meter::State* meter;
  Request request;
  Partial partial;
  std::unique_ptr<Digest> md5, sha1;  // where they were asked for
  Placement placement{false, "no elements"};
  std::unique_ptr<DeviceStream> uploads{};  // to a device that does not share the host's memory

  // On such a device pieces are folded while later ones arrive. Only a caller who insists on it comes here:
  // a piece that was let go of cannot be folded again on the host.
  Status upload(const Tensor& piece) {
    if (!uploads) {
      auto begun = meter->device->stream(partial);
      if (!begun) return begun.error();
      uploads = *std::move(begun);
    }
    return uploads->append(piece);
  }
};

Meter::Stream::Stream(std::unique_ptr<State> state) : state_(std::move(state)) {}
Meter::Stream::Stream(Stream&&) noexcept = default;
Meter::Stream& Meter::Stream::operator=(Stream&&) noexcept = default;
Meter::Stream::~Stream() = default;

Result<Meter::Stream> Meter::stream(Dtype dtype, const Request& request) try {
  const Needs wanted = needs(request.categories, request.precision);
  auto state = std::make_unique<Stream::State>(Stream::State{
      state_.get(), request, Partial(dtype, request.precision, static_cast<Needs>(wanted & ~kDigests)),
      (wanted & kMd5Digest) != 0 ? state_->host->digest(kMd5Digest, dtype) : nullptr,
      (wanted & kSha1Digest) != 0 ? state_->host->digest(kSha1Digest, dtype) : nullptr});
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
  const bool uploaded = placement->on_device && state_->request.on == On::kDevice && !meter.device->shares_host_memory();
  Status status = uploaded ? state_->upload(job.tensor) : meter.fold({&job, 1}, {&*placement, 1}, state_->request.on);
  if (!status) return status;
  state_->placement = *std::move(placement);
  if (state_->md5) state_->md5->update(whole_elements);
  if (state_->sha1) state_->sha1->update(whole_elements);
  return {};
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

Result<Measurement> Meter::Stream::finish() try {
  if (state_->uploads) {
    if (Status status = state_->uploads->finish(); !status) return status.error();
  }
  Digests digests;
  if (state_->md5) digests.md5 = state_->meter->accept(state_->md5->finish());
  if (state_->sha1) digests.sha1 = state_->meter->accept(state_->sha1->finish());
  return state_->meter->finish(state_->partial, state_->request, state_->placement, std::move(digests));
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

}  // namespace tensorstat
