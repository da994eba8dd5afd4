#include "stats/core/meter/placed_batch.hpp"

#include <algorithm>
#include <utility>

namespace tensorstat {
namespace {

template <typename Item>
bool is_shared(const Item& item) {
  return std::ranges::any_of(tensors_of(item), [](const Tensor* each) { return each->where == Where::kSharedMemory; });
}

}  // namespace

template <typename Item>
Status PlacedBatch::place(std::span<const Item> items) {
  size_ = items.size();
  std::uint64_t total_bytes = 0;
  bool any_in_device_memory = false;
  const bool has_queue = meter_.options.queue != nullptr;
  for (const Item& item : items) {
    for (const Tensor* tensor : tensors_of(item)) total_bytes += tensor->bytes();
    any_in_device_memory |= is_in_device_memory(item) || (has_queue && is_shared(item));
  }
  if (const char* why = any_in_device_memory ? nullptr : why_all_on_host(request_, total_bytes)) {
    one_.reason = why;
    is_plain_ = true;
    return {};
  }
  return place_each(items, total_bytes);
}
template Status PlacedBatch::place(std::span<const Tensor>);
template Status PlacedBatch::place(std::span<const TensorPair>);

// Apart from place(), so that a small request does not pay for its stack: it cost 2 % of a tensor of 1 KiB.
template <typename Item>
[[gnu::noinline]] Status PlacedBatch::place_each(std::span<const Item> items, std::uint64_t total_bytes) {
  Placements placements(request_, total_bytes, *meter_.host, meter_.sight());
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto placement = placements.place(items[i]);
    if (!placement) return placement.error();
    if (placements.all()[*placement].on_device && !placements.all()[*placement].on_gpu &&
        is_in_device_memory(items[i])) {
      KnownBuffer* known = placements.known_buffers().data();
      for (const Tensor* tensor : tensors_of(items[i])) {
        if (Status status = meter_.device->check(*tensor, *known++); !status) return status;
      }
    }
    if (*placement != 0) placement_of_.resize(items.size());  // all items before have placement 0
    if (!placement_of_.empty()) placement_of_[i] = *placement;
  }
  several_ = std::move(placements.all());
  return {};
}

bool PlacedBatch::any_on_device() const { return std::ranges::any_of(placements(), &Placement::on_device); }

Status PlacedBatch::fold_on_device(const std::function<std::size_t(Items)>& at_once,
                                   const std::function<Result<std::uint64_t>(Items)>& fold) {
  if (!any_on_device()) return {};
  std::vector<std::size_t> items;
  for (std::size_t i = 0; i < size_; ++i) {
    if (on_device(i)) items.push_back(i);
  }
  std::uint64_t held_bytes = 0;
  for (auto rest = Items(items); !rest.empty();) {
    const Items some = rest.first(at_once(rest));
    const bool only_there = std::ranges::any_of(rest, [&](std::size_t item) { return placement(item).only_there; });
    const On on = only_there ? On::kDevice : request_.on;
    const auto gave_up = meter_.ended_on_device(fold(some), on, held_bytes, placement(some[0]).on_gpu);
    if (!gave_up) return gave_up.error();
    if (!gave_up->empty()) {
      move_to_host(rest, *gave_up);
      break;
    }
    rest = rest.subspan(some.size());
  }
  for (Placement& placement : several_) placement.device_bytes = placement.on_device ? held_bytes : 0;
  return {};
}

std::size_t PlacedBatch::alike(Items items) const {
  const auto other = std::ranges::find_if(
      items, [&](std::size_t item) { return placement(item).on_gpu != placement(items[0]).on_gpu; });
  return static_cast<std::size_t>(other - items.begin());
}

void PlacedBatch::move_to_host(Items items, const std::string& reason) {
  placement_of_.resize(size_);
  for (const std::size_t i : items) placement_of_[i] = static_cast<std::uint32_t>(several_.size());
  several_.push_back({false, reason});
}

}  // namespace tensorstat
