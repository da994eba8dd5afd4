// The folds of a pair, one for each instruction set: from the bytes of two tensors to the words of a PairPartial.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tensorstat/pair.hpp>

namespace tensorstat::host {

// Elements [first_index, first_index + count) of both tensors, at any alignment; count is below 2^26.
struct PairElements {
  const std::uint8_t *a, *b;
  std::uint64_t count, first_index;
};

// Adds the elements to pair_words(a, b) words. The caller keeps MXCSR (or FPCR) at its default: round to nearest,
// subnormals kept.
using PairFold = void (*)(Dtype a, Dtype b, const PairTolerance& tolerance, const PairElements& elements,
                          std::int64_t* partial);

void fold_pair_baseline(Dtype, Dtype, const PairTolerance&, const PairElements&, std::int64_t*);
void fold_pair_avx2(Dtype, Dtype, const PairTolerance&, const PairElements&, std::int64_t*);
void fold_pair_avx512(Dtype, Dtype, const PairTolerance&, const PairElements&, std::int64_t*);

// The fold for best_isa() (host/simd/cpu.hpp).
PairFold pair_fold();

}  // namespace tensorstat::host
