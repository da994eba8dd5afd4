// What the doubles of CUDA's driver do for a kernel's work-group: the fold of a slice by the definition, merged into
// its partial as kernels-cl/cl/gpu_merge.cl merges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels-cl/program/definition.hpp"
#include "precision/partial.h"
#include "stats/core/engine/accumulator_layout.hpp"

namespace tensorstat::test {

// `is_wrong`: one word is wrong by 1.
inline void fold_as_a_group(Dtype dtype, Needs needs, std::span<const std::byte> elements, std::uint64_t count,
                            bool is_wrong, std::span<std::int64_t> partial) {
  std::vector<std::int64_t> empty(partial.size());
  clear(dtype, empty);
  std::vector<std::int64_t> lifted = empty;
  cl_engine::lift_all(dtype, needs, elements, count, lifted);
  if (is_wrong) ++lifted[PARTIAL_FIELDS];
  carry(dtype, lifted);
  merge(dtype, lifted, partial, 0, Maxima::kBiased);
  for (std::size_t i = 0; i < partial.size(); ++i) partial[i] = lifted[i] ^ empty[i];  // biased
}

}  // namespace tensorstat::test
