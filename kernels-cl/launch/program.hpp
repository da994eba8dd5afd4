// The kernel specialised by dtype and needs: its text, its program, which is built and kept on disk, and its handles.
#pragma once

#include <compare>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "kernels-cl/driver/cl.hpp"
#include "kernels-cl/driver/device.hpp"
#include "precision/sizes.h"
#include "stats/engine/needs.hpp"

namespace tensorstat::cl_engine {

// Beside what a kernel keeps, that it is one of `low`: its slices are whole tiles.
inline constexpr Needs kLowKernel = Needs{1} << 28;
// And that it counts casts at a scale that it is told with each slice.
inline constexpr Needs kScaledCasts = Needs{1} << 27;
inline constexpr std::uint64_t kTileElements = TILE;

// What a kernel folds: a tensor into a partial that keeps `needs`; or, where `beside` is a dtype, two tensors into the
// partial of a pair.
struct KernelKind {
  Dtype dtype;
  Needs needs = kNothing;
  std::optional<Dtype> beside{};

  std::size_t tensors() const { return beside ? 2 : 1; }
  Dtype dtype_of(std::size_t tensor) const { return tensor == 0 ? dtype : *beside; }
  std::uint64_t element_bytes() const { return size_bytes(dtype) + (beside ? size_bytes(*beside) : 0); }  // of all
  std::size_t words() const;       // of such a partial
  std::size_t count_word() const;  // which of them counts the elements
  std::string name() const;        // "float32", "float32 and float16"
  friend auto operator<=>(const KernelKind&, const KernelKind&) = default;
};

// What the kernel is asked for that folds into this partial.
Needs kernel_needs(const Partial& partial);

// The whole text of a dtype's kernel, for one compiler run without include paths.
std::string source(const Device& device, Dtype dtype, bool low = false);

// The same of the kernel for two tensors.
std::string pair_source(const Device& device, Dtype a, Dtype b);

// What the compiler is told beside: every choice that specialises the text.
std::string build_options(const Device& device, Dtype dtype, Needs needs);
std::string pair_build_options(const Device& device, Dtype a, Dtype b);

// A slice of Shape::kGroup where a launch folds so many bytes: enough slices to keep every unit busy to the
// end, and no more elements for a lane than its sums stay exact with.
std::uint64_t most_elements_a_group(const Device& device, Dtype dtype, std::uint64_t total_bytes);
// The same of two tensors, for slices of `element_bytes` for an element of each.
std::uint64_t most_pairs_a_group(const Device& device, std::uint64_t element_bytes, std::uint64_t total_bytes);

// Everything that a kernel is made from.
struct Recipe {
  std::string doing, source, options, key;
};
Recipe recipe_of(const Device& device, const KernelKind& kind);

// From the cache on disk, where that has it and the driver takes it; from the text.
std::optional<cl::Program> recall_program(const cl::Context& context, const Device& device, const Recipe& recipe);
Result<cl::Program> build_program(const cl::Context& context, const Device& device, const Recipe& recipe);

// Keeps it on disk.
void remember_program(const cl::Program& program, const Recipe& recipe);

// A program's kernel. Its arguments belong to one launch at a time.
struct Kernel {
  cl::Kernel of_memory;    // for tensors in a cl_mem
  cl::Kernel of_pointers;  // for tensors by their addresses: memory that was announced to a kernel stays with it
  std::mutex arguments;
};
Result<std::shared_ptr<Kernel>> make_kernel(const Device& device, const cl::Program& program, const Recipe& recipe);

}  // namespace tensorstat::cl_engine
