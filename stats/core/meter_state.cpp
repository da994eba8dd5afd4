#include "stats/core/meter_state.hpp"

#include <algorithm>

namespace tensorstat {
namespace {

// Folded and digested in turns, so that the second finds it in the cache. A whole number of tiles of `low`.
constexpr std::size_t kPieceBytes = std::size_t{64} << 10;

Needs without_digests(Needs needs) { return static_cast<Needs>(needs & ~kDigests); }

}  // namespace

Meter::State::State(MeterOptions given)
    : options(std::move(given)), ledger(options.budget_bytes), host(make_host_engine(options)) {}

void Meter::State::log(Severity severity, std::string_view text) {
  const std::lock_guard lock(log_mutex);
  if (options.log) options.log(severity, text);
}

DeviceEngine* Meter::State::find_device() {
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

std::string Meter::State::trouble() const {
  return device_failed ? "the device failed earlier, see the log" : device_trouble;
}

Status Meter::State::may_read_device() {
  find_device();
  if (device != nullptr) return {};
  return Error{Code::kDevice, "the tensor is in device memory, which cannot be read: " + trouble()};
}

Result<std::string> Meter::State::fold_on_device(std::span<const Job> jobs, On on) {
  const Status status = device->fold(jobs);
  if (status) return std::string();
  const Error& error = status.error();
  if (on == On::kDevice || error.code == Code::kInUse) return error;  // a row would say that the tensors are free
  if (error.code == Code::kOverBudget) {
    log(Severity::kInfo, error.message + "; done on the host");
  } else if (!device_failed.exchange(true)) {
    log(Severity::kWarning, "the OpenCL device failed, the host takes over: " + error.message);
  }
  return "the device gave up: " + error.message;
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
  return {device->name(), placement.reason, ledger.use().current_bytes};
}

Intake::Intake(Meter::State& meter, Dtype dtype, const Wanted& wanted)
    : meter_(meter), folds_(wanted.partial), partial_(dtype, wanted.precision, without_digests(wanted.needs)) {
  if ((wanted.needs & kMd5Digest) != 0) md5_ = meter.host->digester(kMd5Digest, dtype);
  if ((wanted.needs & kSha1Digest) != 0) sha1_ = meter.host->digester(kSha1Digest, dtype);
}

Status Intake::take(std::span<const std::byte> elements, bool folded) {
  const bool is_digested = md5_ || sha1_;
  const std::size_t most = is_digested ? kPieceBytes : elements.size();
  for (; !elements.empty(); elements = elements.subspan(std::min(most, elements.size()))) {
    const auto piece = elements.first(std::min(most, elements.size()));
    if (folds_ && !folded) {
      const Job job{{.dtype = partial_.dtype(),
                     .element_count = piece.size() / size_bytes(partial_.dtype()),
                     .address = piece.data()},
                    &partial_};
      if (Status status = meter_.host->fold({&job, 1}); !status) return status;
    }
    if (md5_) md5_->update(piece);
    if (sha1_) sha1_->update(piece);
  }
  return {};
}

Found Intake::finish() {
  Found found{.words = partial_.words()};
  if (md5_) found.md5 = meter_.accept(md5_->finish());
  if (sha1_) found.sha1 = meter_.accept(sha1_->finish());
  return found;
}

}  // namespace tensorstat
