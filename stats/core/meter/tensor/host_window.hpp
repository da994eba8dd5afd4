// Parts of a tensor that the host reads, in order: in place, or copied from device memory or from strides. The meter's
// state must outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "stats/core/meter/meter_state.hpp"

namespace tensorstat {

class HostWindow {
 public:
  explicit HostWindow(Meter::State& meter) : meter_(meter) {}

  // A window of this size suffices for each part.
  static constexpr std::uint64_t kBytes = gpu::Lane::kWindowBytes;

  // The elements [first, first + count) as a contiguous tensor in host memory. It is valid until the next call. Every
  // call is for the same tensor.
  Result<Tensor> part(const Tensor& tensor, std::uint64_t first, std::uint64_t count);

 private:
  Meter::State& meter_;
  gpu::Lanes::Lent lane_;  // for a tensor in a GPU's memory
  std::unique_ptr<std::vector<std::byte>> bytes_ = std::make_unique<std::vector<std::byte>>();
};

}  // namespace tensorstat
