// The memory of results: one block for all values, and each distinct placement once. For one small tensor, each
// allocation costs as much as a tenth of the fold.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <tensorstat/meter.hpp>
#include <vector>

#include "stats/core/engine/engine.hpp"
#include "stats/core/engine/reason.hpp"

namespace tensorstat {

// The placement that several tensors share.
struct Placed {
  std::string_view engine;  // a literal
  Reason reason;
  std::uint64_t device_bytes = 0;
};

struct Measurements::State {
  // Makes a State with unwritten values. `needs` are the needs of `categories`.
  static std::unique_ptr<State> make(std::span<const Category> categories, Needs needs, std::size_t tensor_count);
  ~State() { std::destroy_n(values, built); }
  static void operator delete(void* memory) { ::operator delete(memory); }

  // Writes the results of a tensor: statistics if a partial was wanted, digests if they were wanted. Different tensors
  // may be written at once by several threads. Only lists allocate; if that fails, `lacks_memory` is set.
  void put(std::size_t tensor, Dtype dtype, const TensorResult& outcome, const Wanted& wanted);
  std::span<Value> values_of(std::size_t tensor) { return {values + tensor * categories.size(), categories.size()}; }
  // Call one of them once, after all results. Throws if a list had no memory. The first: all tensors have the same
  // placement. The second: tensor i has all[of_tensor[i]].
  void set_placement(Placed all);
  void set_placement(std::vector<Placed> all, std::vector<std::uint32_t> of_tensor);

  const Placed& placed(std::size_t tensor) const { return several.empty() ? one : several[placement_of[tensor]]; }
  std::span<const Decision> decisions_of(std::size_t tensor) const {
    return {several.empty() ? decisions : several_decisions.data() + placement_of[tensor] * categories.size(),
            categories.size()};
  }

  const std::size_t size;
  Value* const values;        // the first of three arrays behind the State
  Decision* const decisions;  // the decisions of `one`
  const std::span<Category> categories;
  const std::size_t built;  // how many values are constructed: all if there are lists, which own memory; else 0, since
                            // none needs a destructor
  std::vector<std::size_t> digest_columns;
  std::atomic<bool> lacks_memory = false;
  Placed one{};
  std::vector<Placed> several;
  std::vector<std::uint32_t> placement_of;
  std::vector<Decision> several_decisions;  // for each of `several`: one for each category

 private:
  struct Arrays {
    std::size_t bytes;
  };
  State(std::span<const Category> categories, Needs needs, std::size_t tensor_count);
  static void* operator new(std::size_t size, Arrays behind) { return ::operator new(size + behind.bytes); }
  static void operator delete(void* memory, Arrays) { ::operator delete(memory); }
  void decide(const Placed& placed, Decision* decisions) const;
};

}  // namespace tensorstat
