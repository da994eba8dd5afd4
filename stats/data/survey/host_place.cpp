#include "stats/data/survey/host_place.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "stats/core/base/abandon.hpp"

namespace tensorstat {
namespace {

// Large enough that placement considers a device.
constexpr std::size_t kTrialBytes = std::size_t{1} << 20;

}  // namespace

bool HostPlace::is_host(Dtype dtype) {
  if (request_.on == On::kDevice) return false;
  const auto [entry, is_new] = placed_.try_emplace(dtype);
  if (!is_new) return entry->second.has_value();
  auto trial = std::make_unique<std::vector<std::byte>>(kTrialBytes);
  const Tensor tensor{.dtype = dtype, .element_count = kTrialBytes / size_bytes(dtype), .address = trial->data()};
  auto placed = meter_.measure({&tensor, 1}, request_);
  if (!placed && placed.error().code == Code::kInUse) abandon(std::move(trial));
  const auto is_host = [](const Decision& each) { return each.engine == "host"; };
  if (placed && std::ranges::all_of((*placed)[0].placement, is_host)) entry->second = *std::move(placed);
  return entry->second.has_value();
}

}  // namespace tensorstat
