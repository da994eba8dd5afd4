// A batch of tensors, or of pairs of tensors, divided among the device and the host.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <tensorstat/meter.hpp>
#include <vector>

#include "stats/core/meter/meter_state.hpp"

namespace tensorstat {

inline std::array<const Tensor*, 1> tensors_of(const Tensor& tensor) { return {&tensor}; }
inline std::array<const Tensor*, 2> tensors_of(const TensorPair& pair) { return {&pair.a, &pair.b}; }

template <typename Item>
bool is_in_device_memory(const Item& item) {
  for (const Tensor* tensor : tensors_of(item)) {
    if (!is_readable_by_cpu(tensor->where)) return true;
  }
  return false;
}

// The items of a batch are numbered. Until place() they are all on the host.
class PlacedBatch {
 public:
  // Both must outlive this. Of the request, only `on` and `precision` matter.
  PlacedBatch(Meter::State& meter, const Request& request) : meter_(meter), request_(request) {}

  // Places each Tensor, or TensorPair. An error if the request insists on a device that cannot do it, or if a tensor
  // reaches beyond its cl_mem.
  template <typename Item>
  Status place(std::span<const Item> items);

  // Folds the items that are placed on the device, some at a time: the first `at_once(items)` of the rest. `fold` calls
  // the engine and takes the results; on an error it has changed nothing. If the device gives up, the remaining items
  // move to the host, unless the request insists on the device.
  using Items = std::span<const std::size_t>;
  Status fold_on_device(const std::function<std::size_t(Items)>& at_once,
                        const std::function<Result<std::uint64_t>(Items)>& fold);

  // How many of the first items the same device folds: OpenCL's, or the GPU with the tensors.
  std::size_t alike(Items items) const;

  bool any_on_device() const;
  // After place(): nothing is on the device or in its memory.
  bool is_plain() const { return is_plain_; }
  bool on_device(std::size_t item) const { return placement(item).on_device; }
  const Placement& placement(std::size_t item) const {
    return placements()[placement_of_.empty() ? 0 : placement_of_[item]];
  }
  // The distinct placements, and for each item the index of its placement; no indices if there is only one placement.
  std::span<const Placement> placements() const { return several_.empty() ? std::span(&one_, 1) : several_; }
  std::vector<std::uint32_t>& placement_of() { return placement_of_; }

 private:
  template <typename Item>
  Status place_each(std::span<const Item> items, std::uint64_t total_bytes);
  void move_to_host(Items items, const std::string& reason);

  Meter::State& meter_;
  const Request& request_;
  std::size_t size_ = 0;
  bool is_plain_ = false;
  Placement one_;                   // of all items, if `several_` is empty
  std::vector<Placement> several_;  // or a single one, if each item had to be placed
  std::vector<std::uint32_t> placement_of_;
};

}  // namespace tensorstat
