#include "stats/core/placement.hpp"

#include <algorithm>
#include <utility>

namespace tensorstat {
namespace {

constexpr const char* kAskedFor = "asked for";
constexpr const char* kIsSmall = "under 1 MiB in host memory: less than a launch is worth";
static_assert(kWorthALaunchBytes == 1 << 20);

}  // namespace

const char* why_all_on_host(const Request& request, std::uint64_t request_bytes) {
  if (request.on == On::kHost) return kAskedFor;
  return request.on == On::kAuto && request_bytes < kWorthALaunchBytes ? kIsSmall : nullptr;
}

bool Placements::considers_device(const Tensor& tensor) const {
  if (request_.on != On::kAuto) return request_.on == On::kDevice;
  return tensor.where == Where::kClBuffer || request_bytes_ >= kWorthALaunchBytes;
}

Result<std::uint32_t> Placements::place(const Tensor& tensor) {
  std::optional<std::string> refusal;
  if (considers_device(tensor)) {
    if (request_.on == On::kAuto && tensor.where == Where::kHost) {
      if (stays_) return *stays_;
      const std::string& why = device_.host_memory_stays();
      if (!why.empty()) return *(stays_ = index_of({false, why}));
    }
    if (!engine_) engine_ = device_.find();
    if (*engine_ == nullptr) {
      refusal = device_.trouble();
    } else {
      refusal = (*engine_)->refusal(tensor, request_.precision);
    }
  }
  std::optional<Known>& known = known_[static_cast<std::size_t>(tensor.where)];
  if (known && known->refusal == refusal) return known->placement;
  auto placement = decide(tensor, refusal);
  if (!placement) return std::move(placement).error();
  known = Known{std::move(refusal), index_of(*std::move(placement))};
  return known->placement;
}

std::uint32_t Placements::index_of(Placement placement) {
  const auto same = std::ranges::find(all_, placement);
  const auto index = static_cast<std::uint32_t>(same - all_.begin());
  if (same == all_.end()) all_.push_back(std::move(placement));
  return index;
}

Result<Placement> Placements::decide(const Tensor& tensor, const std::optional<std::string>& refusal) {
  if (request_.on == On::kHost) {
    const bool host_can = host_.refusal(tensor, request_.precision).empty();
    return Placement{false, host_can ? kAskedFor : "asked for; read back from the device"};
  }
  if (!refusal) return Placement{false, kIsSmall};
  if (request_.on == On::kDevice) {
    if (!refusal->empty()) return Error{Code::kDevice, "the device cannot do it: " + *refusal};
    return Placement{true, kAskedFor};
  }
  const bool in_device_memory = tensor.where == Where::kClBuffer;
  if (!refusal->empty()) {
    return Placement{false, in_device_memory ? "read back from the device: " + *refusal : *refusal};
  }
  if (in_device_memory) return Placement{true, "the tensor is in its memory"};
  if (tensor.where == Where::kHost && (*engine_)->is_slower_than_host()) {
    return Placement{false, "the OpenCL device is this CPU, and the host's own loops are faster on it"};
  }
  if (!(*engine_)->shares_host_memory()) {
    return Placement{false, "the tensor is in host memory: reading it here is faster than uploading it"};
  }
  return Placement{true, "it shares the tensor's memory: nothing is copied"};
}

}  // namespace tensorstat
