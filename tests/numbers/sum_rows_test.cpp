// A row of precision/partial.h is all there is to a linear sum: with two more rows, each fold and each lift has them.
//
// CMake writes a partial.h that also has SUM_ABOVE, the sum of the elements above 0, and SUM_BELOW, of those below 0.
// The texts of the folds and lifts are compiled with it. GMP adds the elements up.
#include <gmpxx.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>
#include <random>
#include <tensorstat/dtypes.inc>
#include <vector>

#include "host/simd/folds.hpp"
#include "host/simd/lane_folds.hpp"
#include "host/simd/vectors.h"
#include "precision/generated/families.h"
#include "precision/partial.h"
#include "precision/sizes.h"

namespace {
#include "precision/exact.h"
#include "precision/keyed.h"
#include "precision/lift/lift.h"
#include "precision/low/low.h"

constexpr u64 kWorthPadding = 16;
using tensorstat::host::Ahead, tensorstat::host::kLaneLines, tensorstat::host::LaneFold;
INLINE void ask(Ahead*, u64) {}

#define ADD_DTYPE "tests/numbers/sum_rows_dtype.inc"
#include "precision/generated/bool.h"
namespace dtype_bool {
#include ADD_DTYPE
}
#include "precision/generated/int8.h"
namespace dtype_int8 {
#include ADD_DTYPE
}
#include "precision/generated/int16.h"
namespace dtype_int16 {
#include ADD_DTYPE
}
#include "precision/generated/uint16.h"
namespace dtype_uint16 {
#include ADD_DTYPE
}
#include "precision/generated/int32.h"
namespace dtype_int32 {
#include ADD_DTYPE
}
#include "precision/generated/int64.h"
namespace dtype_int64 {
#include ADD_DTYPE
}
#include "precision/generated/uint64.h"
namespace dtype_uint64 {
#include ADD_DTYPE
}
#include "precision/generated/bfloat16.h"
namespace dtype_bfloat16 {
#include ADD_DTYPE
}
#include "precision/generated/float32.h"
namespace dtype_float32 {
#include ADD_DTYPE
}
#include "precision/generated/float64.h"
namespace dtype_float64 {
#include ADD_DTYPE
}
#include "precision/generated/float8_e4m3fn.h"
namespace dtype_float8_e4m3fn {
#include ADD_DTYPE
}

template <typename T>
class SumRows : public testing::Test {};
using Dtypes = testing::Types<dtype_bool::Dtype, dtype_int8::Dtype, dtype_int16::Dtype, dtype_uint16::Dtype,
                              dtype_int32::Dtype, dtype_int64::Dtype, dtype_uint64::Dtype, dtype_bfloat16::Dtype,
                              dtype_float32::Dtype, dtype_float64::Dtype, dtype_float8_e4m3fn::Dtype>;
TYPED_TEST_SUITE(SumRows, Dtypes);

template <typename T>
void expect_sums(const std::vector<i64>& partial, const std::vector<typename T::Bits>& elements, const char* what) {
  mpq_class all = 0, above = 0, below = 0;
  for (const typename T::Bits bits : elements) {
    if (!T::is_finite(bits)) continue;
    const mpq_class x = T::value(bits);
    all += x;
    (x > 0 ? above : below) += x;
  }
  EXPECT_EQ(T::sum(partial, LINEAR_SUM), all) << what << " of " << elements.size();
  EXPECT_EQ(T::sum(partial, LINEAR_ABSOLUTE), above - below) << what << " of " << elements.size();
  EXPECT_EQ(T::sum(partial, LINEAR_SUM_ABOVE), above) << what << " of " << elements.size();
  EXPECT_EQ(T::sum(partial, LINEAR_SUM_BELOW), below) << what << " of " << elements.size();
}

TYPED_TEST(SumRows, GiveTheSumsOfBothSigns) {
  using Bits = typename TypeParam::Bits;
  const std::uint64_t seed = std::random_device()();
  std::cout << "seed " << seed << '\n';
  std::mt19937_64 random(seed);
  for (const std::size_t count :
       {std::size_t{0}, std::size_t{1}, std::size_t{13}, std::size_t{130}, std::size_t{5000}, std::size_t{40000}}) {
    // Any bits: every exponent, NaN and Inf. Then bits near one another, which one window holds.
    for (const bool near : {false, true}) {
      std::vector<Bits> elements(count);
      const std::uint64_t base = random();
      for (Bits& bits : elements) {
        bits = static_cast<Bits>(random());
        if (near) bits = static_cast<Bits>(base ^ (random() & ((std::uint64_t{1} << 4 * sizeof bits) - 1)));
        if (near && random() % 2 == 0) bits ^= static_cast<Bits>(Bits{1} << (8 * sizeof bits - 1));
      }
      constexpr int kNeeds = NEED_ALL & ~NEED_BESIDE;
      expect_sums<TypeParam>(TypeParam::fold(elements, kNeeds), elements, "the fold");
      if (count > 5000) continue;
      expect_sums<TypeParam>(TypeParam::lift_each(elements, kNeeds), elements, "the lift");
      if (!TypeParam::has_low || count == 0 || count > 130) continue;
      // A tile of one element adds x / 1024 * 1024, rounded to the dtype, which is x if that is not subnormal.
      std::vector<Bits> normal;
      for (const Bits bits : elements) {
        if (TypeParam::value(bits) * TypeParam::value(bits) > mpq_class(1, mpz_class(1) << 200)) normal.push_back(bits);
      }
      expect_sums<TypeParam>(TypeParam::low_each(normal, kNeeds), normal, "low");
    }
  }
}

}  // namespace
