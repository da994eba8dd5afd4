// How results are laid down: all in one block of memory, and the words of each distinct placement once. Of a small tensor
// alone, each allocation costs as much as a tenth of its elements.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <tensorstat/meter.hpp>

#include "stats/engine/engine.hpp"
#include "stats/engine/reason.hpp"

namespace tensorstat {

// Tensors that were placed alike.
struct Placed {
  std::string_view engine;  // a literal
  Reason reason;
  std::uint64_t device_bytes = 0;
};

struct Measurements::State {
  // Every value has yet to be written. `needs` are those of the categories.
  static std::unique_ptr<State> make(std::span<const Category> categories, Needs needs, std::size_t tensor_count);
  ~State() { std::destroy_n(values, built); }
  static void operator delete(void* at) { ::operator delete(at); }

  // Writes what `found` has of a tensor: statistics where a partial was wanted, digests where those were.
  // Different tensors' at once from any threads. Allocates only lists, and notes in `lacks_memory` where it could not.
  void put(std::size_t tensor, Dtype dtype, const Found& found, const Wanted& wanted);
  std::span<Value> values_of(std::size_t tensor) {
    return {values + tensor * categories.size(), categories.size()};
  }
  // Call either once, last; throws where a list had no memory. All tensors were placed alike; or tensor i as
  // `all[of_tensor[i]]`.
  void place(Placed all);
  void place(std::vector<Placed> all, std::vector<std::uint32_t> of_tensor);

  const Placed& placed(std::size_t tensor) const { return several.empty() ? one : several[placement_of[tensor]]; }
  std::span<const Decision> decisions_of(std::size_t tensor) const {
    return {several.empty() ? decisions : several_decisions.data() + placement_of[tensor] * categories.size(),
            categories.size()};
  }

  const std::size_t size;
  Value* const values;  // the first of three arrays that lie behind the State
  Decision* const decisions;  // those of `one`
  const std::span<Category> categories;
  const std::size_t built;  // so many values are; only lists own anything, and without them none is built or destroyed
  std::vector<std::size_t> digest_columns;
  std::atomic<bool> lacks_memory = false;
  Placed one{};
  std::vector<Placed> several;
  std::vector<std::uint32_t> placement_of;
  std::vector<Decision> several_decisions;  // one for each category, for each of `several`

 private:
  struct Arrays {
    std::size_t bytes;
  };
  State(std::span<const Category> categories, Needs needs, std::size_t tensor_count);
  static void* operator new(std::size_t size, Arrays behind) { return ::operator new(size + behind.bytes); }
  static void operator delete(void* at, Arrays) { ::operator delete(at); }
  void decide(const Placed& placed, Decision* decisions) const;
};

}  // namespace tensorstat
