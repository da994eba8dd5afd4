// One kernel launch on a Gpu that can be repeated.
#pragma once

#include <functional>
#include <vector>

#include "bench/device/gpu.hpp"
#include "kernels-cl/launch/batch.hpp"

namespace tensorstat::bench {

// A range of elements in one buffer.
struct Extent {
  std::uint64_t first_byte, count;
};

// The library's fold over tensors in one buffer, laid out as in kernels-cl/launch/batch.cpp.
class Fold {
 public:
  // `slices_a_unit` overrides the value in the device's row of the table; 0: no override.
  Fold(Gpu& gpu, const KernelSpec& spec, Gpu::Buffer source, const std::vector<Extent>& tensors,
       std::uint32_t slices_a_unit = 0);

  double run();                    // seconds by the device's clock
  std::vector<Partial> results();  // of the last run, a partial per tensor

 private:
  Gpu& gpu_;
  KernelSpec spec_;
  Gpu::Buffer source_, workspace_;
  std::vector<std::int64_t> image_;
  struct Target {
    std::size_t tensor;
    std::uint64_t first;  // index of its first element
  };
  std::vector<Target> targets_;  // the tensor of each partial in the image
  std::size_t slices_, tensors_;
};

// Reads every byte. Keeps an exclusive-or of 16 bytes.
class Read {
 public:
  Read(Gpu& gpu, const KernelSpec& spec, Gpu::Buffer source, std::uint64_t bytes, std::size_t groups_a_unit);

  double run();
  // Throws unless the last run read exactly `bytes`, with a size that is a multiple of 16.
  void prove(std::span<const std::byte> bytes);

 private:
  Gpu& gpu_;
  KernelSpec spec_;
  Gpu::Buffer source_, results_;
  std::uint64_t vectors_, run_;
  std::size_t groups_;
};

}  // namespace tensorstat::bench
