#include "stats/core/meter/meter_state.hpp"

#include <algorithm>

#include "stats/core/base/abandon.hpp"
#include "stats/core/base/process_id.hpp"

namespace tensorstat {
namespace {

// A piece is folded and then digested while it is in the cache. A multiple of the tile size of `low`.
constexpr std::size_t kPieceBytes = std::size_t{64} << 10;

Needs without_digests(Needs needs) { return static_cast<Needs>(needs & ~kDigests); }

}  // namespace

Meter::State::State(MeterOptions given)
    : options(std::move(given)),
      ledger(options.budget_bytes),
      host(make_host_engine(options)),
      gpu_folder(make_gpu_folder(lanes, ledger)) {}

// If the driver does not answer, releasing its objects might never return.
Meter::State::~State() {
  if (device_silent) abandon(std::move(device));
}

void Meter::State::log(Severity severity, std::string_view text) const noexcept {
  if (!options.log) return;
  try {
    options.log(severity, text);
  } catch (...) {
  }
}

bool Meter::State::forked_since_the_search() const {
  const pid_t process = finder;
  return process != 0 && process != process_id();
}

DeviceEngine* Meter::State::find_device(const std::optional<Errand>& errand) {
  pid_t nobody = 0;
  finder.compare_exchange_strong(nobody, process_id());
  // In a forked child, the searching thread may exist only in the parent; then call_once would wait forever.
  if (forked_since_the_search()) return nullptr;
  bool in_vain = false;
  std::call_once(device_found, [&] {
    auto made = make_opencl_engine(options, ledger, errand);
    if (made) {
      device = std::move(*made);
    } else {
      device_trouble = std::move(made).error().message;
      in_vain = true;
    }
  });
  if (in_vain) log(Severity::kInfo, "no OpenCL device: " + device_trouble);
  return device_failed ? nullptr : device.get();
}

const std::string& Meter::State::host_memory_stays() {
  static const std::string is_to_be_seen;
  if (forked_since_the_search()) return is_to_be_seen;
  pid_t nobody = 0;
  finder.compare_exchange_strong(nobody, process_id());
  if (forked_since_the_search()) return is_to_be_seen;
  std::call_once(driver_seen, [&] { why_stays = why_host_memory_stays(options); });
  return why_stays;
}

// Also of a device that has failed: the host cannot see its memory then, either.
bool Meter::State::keeps_shared_memory() {
  if (options.queue == nullptr) return false;
  find_device();
  return !forked_since_the_search() && device != nullptr && device->keeps_shared_memory();
}

std::string Meter::State::trouble() const {
  if (forked_since_the_search()) return "the process has forked since the device was looked for";
  return device_failed ? "the device is not used any more, see the log" : device_trouble;
}

Status Meter::State::read_device(const Tensor& tensor, std::uint64_t first_byte, std::span<std::byte> bytes) {
  if (is_in_gpu_memory(tensor.where)) {
    const auto lane = lanes.lend(tensor);
    return lane ? (*lane)->read(tensor.data() + first_byte, bytes) : Status(lane.error());
  }
  find_device();
  if (device == nullptr || device_silent || forked_since_the_search()) {
    return Error{Code::kDevice, "the tensor is in device memory, which cannot be read: " + trouble()};
  }
  KnownBuffer known;
  if (Status status = device->check(tensor, known); !status) return status;
  Status status = device->read(tensor, first_byte, bytes);
  if (!status) heed(status.error());
  return status;
}

void Meter::State::heed(const Error& error) noexcept try {
  if (error.code != Code::kInUse || device_silent.exchange(true)) return;
  device_failed = true;
  log(Severity::kWarning, "the OpenCL device does not answer any more, and is not used again: " + error.message);
} catch (const std::bad_alloc&) {  // the caller has the error anyway
}

Result<std::string> Meter::State::ended_on_device(const Result<std::uint64_t>& result, On on, std::uint64_t& held_bytes,
                                                  bool on_gpu) {
  if (result) {
    held_bytes = std::max(held_bytes, *result);
    return std::string();
  }
  const Error& error = result.error();
  heed(error);
  // After kInUse the caller has to learn that the tensors are in use. What a GPU's tensor is refused for, such as a
  // capture, the host would refuse, too.
  if (on == On::kDevice || error.code == Code::kInUse || (on_gpu && error.code == Code::kUnsupported)) return error;
  if (error.code == Code::kOverBudget) {
    log(Severity::kInfo, error.message + "; done on the host");
  } else if (on_gpu) {
    log(Severity::kWarning, "the GPU failed to fold its tensors, the host takes over: " + error.message);
  } else if (error.code == Code::kInvalid) {
    log(Severity::kWarning, "the OpenCL device cannot use a tensor, the host takes over: " + error.message);
  } else if (!device_failed.exchange(true)) {
    log(Severity::kWarning, "the OpenCL device is not used from now on, the host takes over: " + error.message);
  }
  return "the device could not: " + error.message;
}

void Meter::State::refuse_digests(const Error& error) {
  if (digest_refused.exchange(true)) return;
  log(Severity::kWarning, "no digest, its cells stay empty: " + error.message);
}

std::optional<Digest> Meter::State::accept(Result<Digest> digest) {
  if (digest) return *digest;
  refuse_digests(digest.error());
  return std::nullopt;
}

Placed Meter::State::placed(const Placement& placement) const {
  if (!placement.on_device) return {host->name(), placement.reason};
  if (placement.on_gpu) return {GpuFolder::kName, placement.reason, placement.device_bytes};
  return {device->name(), placement.reason, placement.device_bytes};
}

Intake::Intake(Meter::State& meter, Dtype dtype, const Wanted& wanted)
    : meter_(meter),
      folds_(wanted.partial),
      partial_(dtype, wanted.precision, without_digests(wanted.needs), wanted.cast_scale) {
  if ((wanted.needs & kMd5Digest) != 0) md5_ = meter.host->digester(kMd5Digest, dtype);
  if ((wanted.needs & kSha1Digest) != 0) sha1_ = meter.host->digester(kSha1Digest, dtype);
}

Status Intake::take(std::span<const std::byte> elements, std::uint64_t count, bool folded) {
  const bool is_digested = md5_ || sha1_;
  const std::size_t most = is_digested ? kPieceBytes : elements.size();
  for (; !elements.empty(); elements = elements.subspan(std::min(most, elements.size()))) {
    const auto piece = elements.first(std::min(most, elements.size()));
    const std::uint64_t taken = std::min(elements_of(partial_.dtype(), piece.size()), count);
    count -= taken;
    if (folds_ && !folded) {
      const Job job{{.dtype = partial_.dtype(), .element_count = taken, .address = piece.data()}, &partial_};
      if (Status status = meter_.host->fold({&job, 1}); !status) return status;
    }
    if (md5_) md5_->update(piece);
    if (sha1_) sha1_->update(piece);
  }
  return {};
}

TensorResult Intake::finish() {
  TensorResult outcome{.words = partial_.words(), .bins = {.kept = partial_.bins()}};
  if (md5_) outcome.md5 = meter_.accept(md5_->finish());
  if (sha1_) outcome.sha1 = meter_.accept(sha1_->finish());
  return outcome;
}

}  // namespace tensorstat
