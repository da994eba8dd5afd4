// Placement: where a tensor's statistics are computed, with the reason as a text for people.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <tensorstat/meter.hpp>
#include <utility>
#include <vector>

#include "stats/core/engine/engine.hpp"
#include "stats/core/engine/reason.hpp"

namespace tensorstat {

struct Placement {
  bool on_device = false;
  Reason reason;
  std::uint64_t device_bytes = 0;  // peak of device memory for folding; known afterwards
  bool on_gpu = false;             // the device is the GPU with the tensor, by the GpuFolder
  bool only_there = false;         // the host may see old values, and cannot take over
  friend bool operator==(const Placement&, const Placement&) = default;
};

// The device as placement sees it. `find` may be slow once (it loads a driver) and is called only if a device is
// wanted. If it returns nullptr, `trouble` gives the reason.
struct DeviceSight {
  std::function<DeviceEngine*(const Errand& errand)> find;
  std::function<std::string()> trouble;
  // The reason why On::kAuto folds host memory on the host, if it is known without the device; else empty.
  std::function<const std::string&()> host_memory_stays;
  // GpuFolder::refusal
  std::function<std::string(const Tensor& tensor, const Wanted& wanted)> gpu_refusal = {};
  std::function<std::string(const TensorPair& pair)> gpu_pair_refusal = {};
  // DeviceEngine::keeps_shared_memory
  std::function<bool()> keeps_shared_memory = {};
};

// A request for host memory with fewer bytes than this runs on the host: launching a kernel and waiting for it costs
// more than the fold.
inline constexpr std::uint64_t kWorthALaunchBytes = std::uint64_t{1} << 20;

// For a request without tensors in device memory: the reason why all go to the host, whatever they are; nullptr if each
// has to be placed.
const char* why_all_on_host(const Request& request, std::uint64_t request_bytes);

// The reason why the host takes tensors in a GPU's memory, if nothing else is said.
std::string why_gpu_memory_on_host(Where where);

// The work of a request for each tensor.
Wanted wanted_by(const Request& request);

// Places the tensors of one request. Tensors with the same place and reason share a Placement. Most requests have one,
// so placing a tensor costs a comparison.
class Placements {
 public:
  // `request_bytes` is the size of the whole batch. Everything passed by reference must outlive this.
  Placements(const Request& request, std::uint64_t request_bytes, const Engine& host, DeviceSight device)
      : request_(request), request_bytes_(request_bytes), host_(host), device_(std::move(device)) {}

  // Returns where to fold `tensor`, as an index into all(). An error if the request insists on a device that cannot.
  Result<std::uint32_t> place(const Tensor& tensor);

  // As place(), for two tensors. The pair counts as in device memory if one of them is.
  Result<std::uint32_t> place(const TensorPair& pair);

  std::vector<Placement>& all() { return all_; }

  // DeviceEngine::check() takes these after place(), for the same item.
  KnownBuffers& known_buffers() { return known_buffers_; }

 private:
  // The last answer for tensors in this kind of memory. `refusal` is nullopt if the device was not asked.
  struct Known {
    std::optional<std::string> refusal;
    std::uint32_t placement;
  };

  bool considers_device(Where where) const;
  bool is_kept(bool is_shared) const;
  Result<std::uint32_t> place_in_gpu_memory(Where where, const std::string& refusal);
  template <typename ErrandOf, typename RefusalOf>
  Result<std::uint32_t> place_in(Where where, bool is_shared, const ErrandOf& errand_of, const RefusalOf& refusal_of);
  std::uint32_t index_of(Placement placement);
  Result<Placement> decide(Where where, const std::optional<std::string>& refusal, bool host_can);

  const Request& request_;
  const std::uint64_t request_bytes_;
  const Engine& host_;
  const DeviceSight device_;
  KnownBuffers known_buffers_;
  std::optional<DeviceEngine*> engine_;        // nullopt until it has been looked for
  std::array<std::optional<Known>, 3> known_;  // by Where
  std::optional<std::uint32_t> stays_;         // the placement of host memory, if the device is not asked
  std::vector<Placement> all_;
};

}  // namespace tensorstat
