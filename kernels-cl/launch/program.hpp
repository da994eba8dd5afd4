// Programs: the kernel specialised by dtype and needs, built once each and kept on disk.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include <tensorstat/partial.hpp>

#include "kernels-cl/driver/cl.hpp"
#include "kernels-cl/driver/device.hpp"
#include "precision/sizes.h"

namespace tensorstat::cl_engine {

// Beside what a kernel keeps, that it is one of `low`: its slices are whole tiles.
inline constexpr Needs kLowKernel = Needs{1} << 29;
inline constexpr std::uint64_t kTileElements = TILE;

// What the kernel is asked for that folds into this partial.
Needs kernel_needs(const Partial& partial);

// The whole text of a dtype's kernel, for one compiler run without include paths.
std::string source(const Device& device, Dtype dtype, bool low = false);

// What the compiler is told beside: every choice that specialises the text.
std::string build_options(const Device& device, Dtype dtype, Needs needs);

// A slice of Shape::kGroup where a launch folds so many bytes: enough slices to keep every unit busy to the
// end, and no more elements for a lane than its sums stay exact with.
std::uint64_t most_elements_a_group(const Device& device, Dtype dtype, std::uint64_t total_bytes);

// Not for several threads at once.
class Programs {
 public:
  // The kernel that was kept for these, or nullptr.
  const cl::Kernel* find(Dtype dtype, Needs needs) const;
  void keep(Dtype dtype, Needs needs, cl::Kernel kernel);

  // Everything that a kernel is made from.
  struct Recipe {
    std::string doing, source, options, key;
  };
  static Recipe recipe(const Device& device, Dtype dtype, Needs needs);

  // From the cache on disk, where that has it and the driver takes it; from the text.
  static std::optional<cl::Kernel> recall(const cl::Context& context, const Device& device, const Recipe& recipe);
  static Result<cl::Kernel> build(const cl::Context& context, const Device& device, const Recipe& recipe);

  // Keeps it on disk.
  static void remember(const cl::Kernel& kernel, const Recipe& recipe);

 private:
  std::map<std::pair<Dtype, Needs>, cl::Kernel> kernels_;
};

}  // namespace tensorstat::cl_engine
