// How results are laid down: the values of all tensors in one block, and the words of each distinct
// placement once.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include <tensorstat/meter.hpp>

#include "stats/core/engine.hpp"
#include "stats/core/placement.hpp"

namespace tensorstat {

// Tensors that were placed alike.
struct Placed {
  std::string_view engine;  // a literal
  Reason reason;
  std::uint64_t device_bytes = 0;
};

struct Measurements::State {
  // Every value has yet to be written.
  State(std::span<const Category> categories, std::size_t tensor_count);

  // Writes what `found` has of a tensor: statistics where a partial was wanted, digests where those were.
  // Different tensors' at once from any threads. Allocates nothing.
  void put(std::size_t tensor, Dtype dtype, const Found& found, const Wanted& wanted);
  std::span<Value> values_of(std::size_t tensor) {
    return {values.get() + tensor * categories.size(), categories.size()};
  }
  // Call once: `of_tensor[i]` is the index of tensor i's placement, and may be empty where there is only one.
  void place(std::vector<Placed> all, std::vector<std::uint32_t> of_tensor);

  struct Free {
    void operator()(Value* block) const { ::operator delete(block); }
  };
  static_assert(std::is_trivially_copyable_v<Value>, "a block of them is neither built nor destroyed");

  const std::size_t size;
  const Categories categories;
  std::vector<std::size_t> digest_columns;
  const std::unique_ptr<Value[], Free> values;
  std::vector<Placed> placements;
  std::vector<std::uint32_t> placement_of;
  std::vector<Decision> decisions;  // one for each category, for each of `placements`
};

}  // namespace tensorstat
