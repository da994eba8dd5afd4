// How results are laid down: the values of all tensors in one block, and the words of each distinct
// placement once.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <tensorstat/meter.hpp>

#include "stats/core/engine.hpp"
#include "stats/core/reason.hpp"

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
  // Different tensors' at once from any threads. Allocates only lists, and notes in `lacks_memory` where it could not.
  void put(std::size_t tensor, Dtype dtype, const Found& found, const Wanted& wanted);
  std::span<Value> values_of(std::size_t tensor) {
    return {values.get() + tensor * categories.size(), categories.size()};
  }
  // Call once, last; throws where a list had no memory. `of_tensor[i]` is the index of tensor i's placement; empty where there
  // is only one.
  void place(std::vector<Placed> all, std::vector<std::uint32_t> of_tensor);

  // Only lists own anything: a block of other values is neither built nor destroyed.
  struct Free {
    std::size_t built;  // the first so many values are, all where there are lists
    void operator()(Value* block) const {
      std::destroy_n(block, built);
      ::operator delete(block);
    }
  };

  const std::size_t size;
  const Categories categories;
  std::vector<std::size_t> digest_columns;
  const std::unique_ptr<Value[], Free> values;
  std::atomic<bool> lacks_memory = false;
  std::vector<Placed> placements;
  std::vector<std::uint32_t> placement_of;
  std::vector<Decision> decisions;  // one for each category, for each of `placements`
};

}  // namespace tensorstat
