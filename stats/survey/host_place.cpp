#include "stats/survey/host_place.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "stats/base/abandon.hpp"

namespace tensorstat {
namespace {

// Large enough that placement considers a device.
constexpr std::size_t kTrialBytes = std::size_t{1} << 20;

}  // namespace

bool HostPlace::is_host() {
  if (std::exchange(is_known_, true) || request_.on == On::kDevice) return placed_.has_value();
  auto trial = std::make_unique<std::vector<std::byte>>(kTrialBytes);
  const Tensor tensor{.dtype = Dtype::kFloat32, .element_count = kTrialBytes / 4, .address = trial->data()};
  auto placed = meter_.measure({&tensor, 1}, request_);
  if (!placed && placed.error().code == Code::kInUse) abandon(std::move(trial));
  const auto is_host = [](const Decision& each) { return each.engine == "host"; };
  if (placed && std::ranges::all_of((*placed)[0].placement, is_host)) placed_ = *std::move(placed);
  return placed_.has_value();
}

}  // namespace tensorstat
