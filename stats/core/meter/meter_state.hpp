// The state that all requests of a Meter share: the engines, the ledger and past failures.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tensorstat/meter.hpp>
#include <utility>

#include "stats/core/engine/engine.hpp"
#include "stats/core/engine/gpu/lane.hpp"
#include "stats/core/engine/ledger.hpp"
#include "stats/core/engine/measured.hpp"
#include "stats/core/meter/placement.hpp"

namespace tensorstat {

struct Meter::State {
  explicit State(MeterOptions given);
  ~State();

  // Holds no lock, so the log may call the Meter. Exceptions are ignored.
  void log(Severity severity, std::string_view text) const noexcept;

  // Finds the device at the first request that may need one. nullptr if there is no usable device: none was found, it
  // has failed, or this process was forked after the search began.
  DeviceEngine* find_device(const std::optional<Errand>& errand = {});
  std::string trouble() const;
  const std::string& host_memory_stays();
  bool keeps_shared_memory();
  DeviceSight sight() {
    return {[this](const Errand& errand) { return find_device(errand); },
            [this] { return trouble(); },
            [this]() -> const std::string& { return host_memory_stays(); },
            [this](const Tensor& tensor, const Wanted& wanted) { return gpu_folder->refusal(tensor, wanted); },
            [this](const TensorPair& pair) { return gpu_folder->refusal(pair); },
            [this] { return keeps_shared_memory(); }};
  }

  // After Code::kInUse the device is not called any more, since each call might wait forever. Logs this once.
  void heed(const Error& error) noexcept;

  // Copies a tensor in device memory to the host. Also tries a device that failed to fold, but not one that does not
  // answer.
  Status read_device(const Tensor& tensor, std::uint64_t first_byte, std::span<std::byte> bytes);

  // Takes what the device's engine returned. An empty text: it folded, and `held_bytes` is raised to the device memory
  // that this took. Else the text says why not, and the host has to take over. If the caller insisted on the device,
  // that is an error. A device that failed is not used again. `on_gpu`: it was the GpuFolder, which sees to itself.
  Result<std::string> ended_on_device(const Result<std::uint64_t>& result, On on, std::uint64_t& held_bytes,
                                      bool on_gpu = false);

  // The first refused digest logs a warning. A refused digest has no value.
  void refuse_digests(const Error& error);
  std::optional<Digest> accept(Result<Digest> digest);

  // Converts a placement to the form in Measurements.
  Placed placed(const Placement& placement) const;

  const MeterOptions options;
  Ledger ledger;
  const std::unique_ptr<HostEngine> host;
  gpu::Lanes lanes;
  const std::unique_ptr<GpuFolder> gpu_folder;
  std::atomic<pid_t> finder{0};  // the process that looked for the device; 0 if none has yet
  std::once_flag device_found;
  std::unique_ptr<DeviceEngine> device;
  std::string device_trouble;
  std::once_flag driver_seen;
  std::string why_stays;
  std::atomic<bool> device_failed{false}, device_silent{false}, digest_refused{false};

 private:
  bool forked_since_the_search() const;
};

// Folds and digests pieces on the host, reading each once. `meter` must outlive it.
class Intake {
 public:
  Intake(Meter::State& meter, Dtype dtype, const Wanted& wanted);

  // Takes the first `count` elements of these bytes. All pieces but the last fill their bytes. `folded`: an engine has
  // already folded them into partial().
  Status take(std::span<const std::byte> elements, std::uint64_t count, bool folded = false);

  Partial& partial() { return partial_; }
  TensorResult finish();  // its words point into partial()

 private:
  Meter::State& meter_;
  const bool folds_;
  Partial partial_;
  std::unique_ptr<Digester> md5_, sha1_;  // null if not wanted
};

}  // namespace tensorstat
