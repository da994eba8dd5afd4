#include "stats/core/meter/placement.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "stats/core/engine/request_check.hpp"

namespace tensorstat {
namespace {

constexpr const char* kAskedFor = "asked for";
constexpr const char* kInItsMemory = "the tensor is in its memory";
constexpr const char* kIsSmall = "under 1 MiB in host memory: less than a launch is worth";
static_assert(kWorthALaunchBytes == 1 << 20);

bool has_statistics(const Categories& categories) {
  return !std::ranges::all_of(categories, [](Category category) { return (needs(category) & kDigests) != 0; });
}

}  // namespace

Wanted wanted_by(const Request& request) {
  return {request.precision, needs(request.categories, request.precision), has_statistics(request.categories),
          request.cast_scale};
}

const char* why_all_on_host(const Request& request, std::uint64_t request_bytes) {
  if (request.on == On::kHost) return kAskedFor;
  return request.on == On::kAuto && request_bytes < kWorthALaunchBytes ? kIsSmall : nullptr;
}

std::string why_gpu_memory_on_host(Where where) {
  return std::string("in ") + (where == Where::kCuda ? "CUDA" : "ROCm") + " memory, which the host reads in windows";
}

bool Placements::considers_device(Where where) const {
  if (request_.on != On::kAuto) return request_.on == On::kDevice;
  return where == Where::kClBuffer || request_bytes_ >= kWorthALaunchBytes;
}

// Whether a tensor in shared virtual memory, or a pair with one, must go to the device.
bool Placements::is_kept(bool is_shared) const {
  return is_shared && request_.on == On::kAuto && device_.keeps_shared_memory && device_.keeps_shared_memory();
}

Result<std::uint32_t> Placements::place(const Tensor& tensor) {
  if (is_in_gpu_memory(tensor.where)) {
    const bool asks = request_.on != On::kHost;
    return place_in_gpu_memory(tensor.where, asks ? device_.gpu_refusal(tensor, wanted_by(request_)) : kAskedFor);
  }
  return place_in(
      tensor.where, tensor.where == Where::kSharedMemory,
      [&] {
        return Errand{tensor.dtype, wanted_by(request_)};
      },
      [&]<typename T>(const T& engine) {
        if constexpr (std::is_same_v<T, DeviceEngine>) {
          return engine.refusal(tensor, request_.precision, known_buffers_[0]);
        } else {
          return engine.refusal(tensor, request_.precision);
        }
      });
}

Result<std::uint32_t> Placements::place(const TensorPair& pair) {
  const auto either = [&](Where where) { return pair.a.where == where || pair.b.where == where; };
  const Where where = either(Where::kCuda)       ? Where::kCuda
                      : either(Where::kRocm)     ? Where::kRocm
                      : either(Where::kClBuffer) ? Where::kClBuffer
                      : either(Where::kHost)     ? Where::kHost
                                                 : Where::kSharedMemory;
  if (is_in_gpu_memory(where)) {
    const bool asks = request_.on != On::kHost;
    return place_in_gpu_memory(where, asks ? device_.gpu_pair_refusal(pair) : kAskedFor);
  }
  const auto errand_of = [&] { return Errand{pair.a.dtype, {}, pair.b.dtype}; };
  return place_in(where, either(Where::kSharedMemory), errand_of, [&]<typename T>(const T& engine) {
    if constexpr (std::is_same_v<T, DeviceEngine>) {
      return engine.refusal(pair, known_buffers_);
    } else {
      std::string refusal = engine.refusal(pair.a, Precision::kHigh);
      return refusal.empty() ? engine.refusal(pair.b, Precision::kHigh) : refusal;
    }
  });
}

// The GPU folds the tensor unless there is a refusal.
Result<std::uint32_t> Placements::place_in_gpu_memory(Where where, const std::string& refusal) {
  if (refusal.empty()) {
    return index_of(
        {.on_device = true, .reason = request_.on == On::kDevice ? kAskedFor : kInItsMemory, .on_gpu = true});
  }
  if (request_.on == On::kDevice) return Error{Code::kDevice, "the device cannot do it: " + refusal};
  return index_of({false, why_gpu_memory_on_host(where) + ": " + refusal});
}

template <typename ErrandOf, typename RefusalOf>
Result<std::uint32_t> Placements::place_in(Where where, bool is_shared, const ErrandOf& errand_of,
                                           const RefusalOf& refusal_of) {
  std::optional<std::string> refusal;
  const bool kept = is_kept(is_shared);
  if (kept || considers_device(where)) {
    if (request_.on == On::kAuto && where == Where::kHost && !kept) {
      if (stays_) return *stays_;
      const std::string& why = device_.host_memory_stays();
      if (!why.empty()) return *(stays_ = index_of({false, why}));
    }
    if (!engine_) engine_ = device_.find(errand_of());
    if (*engine_ == nullptr) {
      refusal = device_.trouble();
    } else {
      refusal = refusal_of(**engine_);
    }
  }
  if (kept) {
    if (refusal->empty()) return index_of({.on_device = true, .reason = kInItsMemory, .only_there = true});
    return Error{Code::kDevice, "the device cannot do it: " + *refusal +
                                    "; the host may see old values of shared virtual memory: On::kHost uses it"};
  }
  std::optional<Known>& known = known_[static_cast<std::size_t>(where)];
  if (known && known->refusal == refusal) return known->placement;
  auto placement = decide(where, refusal, refusal_of(host_).empty());
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

Result<Placement> Placements::decide(Where where, const std::optional<std::string>& refusal, bool host_can) {
  if (request_.on == On::kHost) {
    return Placement{false, host_can ? kAskedFor : "asked for; read back from the device"};
  }
  if (!refusal) return Placement{false, kIsSmall};
  if (request_.on == On::kDevice) {
    if (!refusal->empty()) return Error{Code::kDevice, "the device cannot do it: " + *refusal};
    return Placement{true, kAskedFor};
  }
  const bool in_device_memory = where == Where::kClBuffer;
  if (!refusal->empty()) {
    return Placement{false, in_device_memory ? "read back from the device: " + *refusal : *refusal};
  }
  if (in_device_memory) return Placement{true, kInItsMemory};
  if (where == Where::kHost && (*engine_)->is_slower_than_host()) {
    return Placement{false, "the OpenCL device is this CPU, and the host's own loops are faster on it"};
  }
  if (!(*engine_)->shares_host_memory()) {
    return Placement{false, "the tensor is in host memory: reading it here is faster than uploading it"};
  }
  return Placement{true, "it shares the tensor's memory: nothing is copied"};
}

}  // namespace tensorstat
