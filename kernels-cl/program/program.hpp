// A kernel for one dtype and one set of needs: its text, its program, which is kept on disk, and its handles.
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
#include "stats/core/engine/needs.hpp"

namespace tensorstat::cl_engine {

// Two further bits of a kernel's needs. kLowKernel: it computes in `low`, and its slices are whole tiles.
inline constexpr Needs kLowKernel = Needs{1} << 28;
// kScaledCasts: it counts casts at a scale other than 1. Each slice refers to the bounds.
inline constexpr Needs kScaledCasts = Needs{1} << 27;
inline constexpr std::uint64_t kTileElements = TILE;

// What a kernel folds. Without `beside`: a tensor into a partial that keeps `needs`. With `beside`: two tensors into
// the partial of a pair.
struct KernelKind {
  Dtype dtype;
  Needs needs = kNothing;
  std::optional<Dtype> beside{};

  std::size_t tensors() const { return beside ? 2 : 1; }
  Dtype dtype_of(std::size_t tensor) const { return tensor == 0 ? dtype : *beside; }
  // The bytes of one element of each tensor.
  std::uint64_t element_bytes() const { return size_bytes(dtype) + (beside ? size_bytes(*beside) : 0); }
  std::size_t words() const;       // the length of its partial
  std::size_t count_word() const;  // the word of the partial that counts the elements
  std::string name() const;        // "float32", "float32 and float16"
  friend auto operator<=>(const KernelKind&, const KernelKind&) = default;
};

// The needs of the kernel that folds into this partial.
Needs kernel_needs(const Partial& partial);

// The whole text of a dtype's kernel, for one compiler run without include paths.
std::string source(const Device& device, Dtype dtype, bool low = false);

// The same for the kernel of two tensors.
std::string pair_source(const Device& device, Dtype a, Dtype b);

// The options of the compiler: all choices that specialise the text.
std::string build_options(const Device& device, Dtype dtype, Needs needs);
std::string pair_build_options(const Device& device, Dtype a, Dtype b);

// The length of a slice of Shape::kGroup, if a launch folds `total_bytes`. There are enough slices to keep every unit
// busy to the end, and a lane gets no more elements than its sums stay exact for.
std::uint64_t most_elements_a_group(const Device& device, Dtype dtype, std::uint64_t total_bytes);
// The same for two tensors. `element_bytes`: the bytes of one element of each.
std::uint64_t most_pairs_a_group(const Device& device, std::uint64_t element_bytes, std::uint64_t total_bytes);

// Everything that a kernel is made from.
struct Recipe {
  std::string doing, source, options, key;
};
Recipe recipe_of(const Device& device, const KernelKind& kind);

// From the cache on disk; nullopt if it is not there or the driver refuses it. And from the text.
std::optional<cl::Program> recall_program(const cl::Context& context, const Device& device, const Recipe& recipe);
Result<cl::Program> build_program(const cl::Context& context, const Device& device, const Recipe& recipe);

// Writes the program's binary to the cache on disk.
void remember_program(const cl::Program& program, const Recipe& recipe);

// A program's kernel. Its arguments belong to one launch at a time.
struct Kernel {
  cl::Kernel of_memory;    // for tensors in a cl_mem
  cl::Kernel of_pointers;  // for tensors by their addresses: a kernel never forgets memory that was announced to it
  std::mutex arguments;
};
Result<std::shared_ptr<Kernel>> make_kernel(const Device& device, const cl::Program& program, const Recipe& recipe);

}  // namespace tensorstat::cl_engine
