// What a Meter holds for all its requests: the engines, the ledger, and what has gone wrong so far.
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
#include <utility>

#include <tensorstat/meter.hpp>

#include "stats/engine/engine.hpp"
#include "stats/engine/ledger.hpp"
#include "stats/engine/measured.hpp"
#include "stats/meter/placement.hpp"

namespace tensorstat {

struct Meter::State {
  explicit State(MeterOptions given);
  ~State();

  // Holds no lock, so that the caller's code may come back here. What it throws is dropped.
  void log(Severity severity, std::string_view text) const noexcept;

  // Finds the device once, at the first request that may want it. nullptr where there is none to use: none was
  // found, it has failed, or this is a child that was forked after the search began.
  DeviceEngine* find_device();
  std::string trouble() const;
  const std::string& host_memory_stays();
  DeviceSight sight() {
    return {[this] { return find_device(); }, [this] { return trouble(); },
            [this]() -> const std::string& { return host_memory_stays(); }};
  }

  // After Code::kInUse the device is asked nothing any more: each further call might wait for ever. Said once.
  void heed(const Error& error) noexcept;

  // A tensor in device memory, to the host. A device that failed to fold is still asked, unless it does not answer.
  Status read_device(const Tensor& tensor, std::uint64_t first_byte, std::span<std::byte> bytes);

  // Folds where placement said. A device that fails is not asked again: the text then says that it gave up and
  // why, and the host has to take over; an error where the caller insisted. An empty text: done.
  // `held_bytes` is raised to the device memory that this took.
  Result<std::string> fold_on_device(std::span<const Job> jobs, On on, std::uint64_t& held_bytes);

  // The same of pairs that were placed there.
  Result<std::string> compare_on_device(std::span<const TensorPair> pairs, const PairRequest& request,
                                        std::span<PairPartial> partials, std::uint64_t& held_bytes);

  // A digest that is refused has one warning, and its cells stay empty.
  void refuse_digests(const Error& error);
  std::optional<Digest> accept(Result<Digest> digest);

  // The words of a placement, for the record.
  Placed placed(const Placement& placement) const;

  const MeterOptions options;
  Ledger ledger;
  const std::unique_ptr<HostEngine> host;
  std::atomic<pid_t> finder{0};  // the process that looked for the device; 0 before
  std::once_flag device_found;
  std::unique_ptr<DeviceEngine> device;
  std::string device_trouble;
  std::once_flag driver_seen;
  std::string why_stays;
  std::atomic<bool> device_failed{false}, device_silent{false}, digest_refused{false};

 private:
  bool forked_since_the_search() const;
  Result<std::string> ended_on_device(const Result<std::uint64_t>& held, On on, std::uint64_t& held_bytes);
};

// What comes piece by piece, folded and digested on the host in one read.
class Intake {
 public:
  Intake(Meter::State& meter, Dtype dtype, const Wanted& wanted);

  // The first `count` elements of these bytes, which all but the last call fill. `folded` where an engine has put them into
  // partial() already.
  Status take(std::span<const std::byte> elements, std::uint64_t count, bool folded = false);

  Partial& partial() { return partial_; }
  Found finish();  // its words are partial()'s

 private:
  Meter::State& meter_;
  const bool folds_;
  Partial partial_;
  std::unique_ptr<Digester> md5_, sha1_;  // where they are wanted
};

}  // namespace tensorstat
