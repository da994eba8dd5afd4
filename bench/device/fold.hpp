// One launch of a kernel on a Gpu, ready to be run again and again.
#pragma once

#include <functional>
#include <vector>

#include "bench/device/gpu.hpp"
#include "kernels-cl/launch/batch.hpp"

namespace tensorstat::bench {

// Elements of one buffer.
struct Extent {
  std::uint64_t first_byte, count;
};

// The library's fold of tensors that lie in one buffer, laid out as kernels-cl/launch/batch.cpp does.
class Fold {
 public:
  // Cut as the library would, were so many slices a unit in the device's row; 0: as it does.
  Fold(Gpu& gpu, const KernelSpec& spec, Gpu::Buffer source, const std::vector<Extent>& tensors,
       std::uint32_t slices_a_unit = 0);

  double run();                    // seconds by the device's clock
  std::vector<Partial> results();  // of the last run, a partial a tensor

 private:
  Gpu& gpu_;
  KernelSpec spec_;
  Gpu::Buffer source_, workspace_;
  std::vector<std::int64_t> image_;
  struct Target {
    std::size_t tensor;
    std::uint64_t first;  // of its elements
  };
  std::vector<Target> targets_;  // whose each partial of the image is
  std::size_t slices_, tensors_;
};

// Reads every byte and keeps an exclusive-or of 16.
class Read {
 public:
  Read(Gpu& gpu, const KernelSpec& spec, Gpu::Buffer source, std::uint64_t bytes, std::size_t groups_a_unit);

  double run();
  // Throws unless the last run read what is in `bytes`, of which there is a multiple of 16.
  void prove(std::span<const std::byte> bytes);

 private:
  Gpu& gpu_;
  KernelSpec spec_;
  Gpu::Buffer source_, results_;
  std::uint64_t vectors_, run_;
  std::size_t groups_;
};

}  // namespace tensorstat::bench
