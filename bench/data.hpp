// The tensors to measure. They are made once per process, with the same bits in every run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <tensorstat/tensor.hpp>

namespace tensorstat::bench {

// ROW(id, name)
#define TENSORSTAT_KINDS(ROW)                                                                              \
  ROW(kNormal, "normal")          /* N(0, 1); integers and bools take every value alike                 */ \
  ROW(kLogUniform, "log-uniform") /* every exponent alike, subnormals too: the widest range of a float  */ \
  ROW(kSubnormal, "subnormal")    /* nothing but subnormals                                             */ \
  ROW(kNanLaden, "nan-laden")     /* N(0, 1), every tenth element a NaN                                 */ \
  ROW(kMaxima, "maxima")          /* the largest finite value, its sign in turns                        */ \
  ROW(kAscending, "ascending")    /* from -1 to 1 in order, over the whole of it                        */

// Tensors as in a training step, computed by a small seeded program: 1,024 rows of 1,024.
#define TENSORSTAT_REAL_KINDS(ROW)                                                                         \
  ROW(kAttention, "attention")        /* softmax(Q K^T / sqrt(64))                                      */ \
  ROW(kSecondMoment, "second-moment") /* Adam's, after 20 steps; rows differ by orders of ten           */ \
  ROW(kEmbedding, "embedding")        /* gradient of a table of which an eighth of the rows was used    */ \
  ROW(kRelu, "relu")                  /* gradient behind a ReLU: half of it is 0                        */ \
  ROW(kLogits, "logits")              /* products of normalised rows and a vocabulary                   */ \
  ROW(kLayerNorm, "layer-norm")       /* normalised rows, some channels of which are 30 times as large  */ \
  ROW(kScaled, "scaled")              /* gradient times 2^13, which in float16 is subnormal in part     */

#define TENSORSTAT_KIND(id, name) id,
enum class Kind : std::uint8_t { TENSORSTAT_KINDS(TENSORSTAT_KIND) TENSORSTAT_REAL_KINDS(TENSORSTAT_KIND) };
#undef TENSORSTAT_KIND
std::string_view name(Kind kind);

// `bytes` of host memory, page-aligned, never freed. All kinds but kNormal need a float dtype. The first 2^20 elements
// are repeated: a pass over more distinct data costs the same.
Tensor make(Dtype dtype, std::uint64_t bytes, Kind kind = Kind::kNormal);

std::span<const std::byte> bytes_of(const Tensor& tensor);

}  // namespace tensorstat::bench
