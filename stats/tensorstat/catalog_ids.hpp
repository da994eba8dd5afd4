// SPDX-License-Identifier: Apache-2.0
// The ids of statistics and dtypes. Almost every source includes this header, and few include catalog.inc: so an edit
// of a statistic's text compiles few sources again.
#pragma once

#include <cstdint>
#include <tensorstat/dtypes.inc>

namespace tensorstat {

// In the order of the rows of catalog.inc; values/catalog.cpp does not compile otherwise. The quantiles are categories,
// too (catalog.hpp).
enum class Category : std::uint32_t {
  kMax,
  kMin,
  kAvg,
  kCount,
  kNegativeZeroCount,
  kPositiveZeroCount,
  kNanCount,
  kNegativeInfCount,
  kPositiveInfCount,
  kZeroCount,
  kMd5,
  kL2norm,
  kHash,
  kVar,
  kStd,
  kRms,
  kAbsmax,
  kSparsity,
  kFiniteCount,
  kL1norm,
  kAbsmin,
  kSubnormalCount,
  kMinusZeroCount,
  kFirstNanIndex,
  kFirstInfIndex,
  kFirstBadIndex,
  kArgmax,
  kArgmin,
  kFiniteMax,
  kFiniteMin,
  kFiniteAvg,
  kFiniteL2norm,
  kDynamicRange,
  kE4m3fnUnderflow,
  kE4m3fnOverflow,
  kE5m2Underflow,
  kE5m2Overflow,
  kFloat16Underflow,
  kFloat16Overflow,
  kBfloat16Underflow,
  kBfloat16Overflow,
  kExponents,
  kCrc32,
  kXor64,
  kSumOfPositives,
  kSumOfNegatives,
};
inline constexpr int kCategoryCount = static_cast<int>(Category::kSumOfNegatives) + 1;

#define TENSORSTAT_ID(id, ...) id,
enum class Dtype : std::uint8_t { TENSORSTAT_DTYPES(TENSORSTAT_ID) };
#undef TENSORSTAT_ID
#define TENSORSTAT_ONE(...) +1
inline constexpr int kDtypeCount = 0 TENSORSTAT_DTYPES(TENSORSTAT_ONE);
#undef TENSORSTAT_ONE

}  // namespace tensorstat
