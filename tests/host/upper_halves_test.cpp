// After measuring, the upper halves of the vector registers are marked unused (vzeroupper). Otherwise the caller's SSE
// code would run several times slower.
#include <gtest/gtest.h>

#include <cstdint>
#include <tensorstat/meter.hpp>
#include <vector>

#if defined(__x86_64__)
#include <cpuid.h>

#include "host/simd/cpu.hpp"

namespace tensorstat {
namespace upper_halves_test {

constexpr unsigned kUpperOfYmm = 1U << 2;
constexpr unsigned kUpperOfZmm = 1U << 6;

bool can_tell() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(0xd, 1, &a, &b, &c, &d) != 0 && (a & 4U) != 0 && best_isa() != Isa::kBaseline;
}

unsigned in_use() {
  unsigned low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
  return low & (kUpperOfYmm | kUpperOfZmm);
}

TEST(UpperHalves, AreUnusedAfterAMeasurement) {
  if (!can_tell()) GTEST_SKIP() << "this processor does not tell, or has no such registers";
  Meter meter;
  for (const std::size_t count : {5U, 64U, 4096U, 1000000U}) {
    const std::vector<float> values(count, 1.5F);
    const Tensor tensor{.dtype = Dtype::kFloat32, .element_count = count, .address = values.data()};
    for (const auto& wanted :
         {Categories{Category::kMax, Category::kAvg, Category::kL2norm}, Categories{Category::kNanCount}}) {
      asm volatile("vzeroupper");
      const auto measured = meter.measure({&tensor, 1}, Request{.categories = wanted, .on = On::kHost});
      const unsigned used = in_use();
      ASSERT_TRUE(measured);
      EXPECT_EQ(used, 0U) << count << " elements";
    }
  }
}

}  // namespace upper_halves_test
}  // namespace tensorstat
#endif
