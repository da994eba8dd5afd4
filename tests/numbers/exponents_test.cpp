// Every element is counted in its binade, whatever lies beside it: in one binade and in many, in blocks that move up
// and down, with zeros, subnormals, Inf and NaN among them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <tensorstat/statistics.hpp>
#include <vector>

#include "tests/support/held_to_oracle.hpp"

namespace tensorstat {
namespace exponents_test {

const Needs kAsked = needs(Category::kExponents);

class InBinades : public testing::TestWithParam<Dtype> {
 protected:
  void SetUp() override { expect_forced_isa_runs(); }

  std::uint64_t any(std::uint64_t below) { return random_() % below; }

  // The stored exponents that a float has, or the bits that an integer has.
  int exponents() const {
    switch (GetParam()) {
      case Dtype::kFloat16:
        return 32;
      case Dtype::kBfloat16:
      case Dtype::kFloat32:
        return 256;
      case Dtype::kFloat64:
        return 2048;
      default:
        return 8 * static_cast<int>(element_);
    }
  }

  // An element of any sign with this exponent, or of so many bits.
  std::uint64_t with(int exponent) {
    const std::uint64_t raw = random_();
    if (!is_float(GetParam()) || element_ == 1) {
      return exponent == 0 ? 0
                           : (std::uint64_t{1} << (exponent - 1)) | (raw & ((std::uint64_t{1} << (exponent - 1)) - 1));
    }
    const int bits = 8 * static_cast<int>(element_),
              shift = bits - 1 - std::bit_width(static_cast<unsigned>(exponents() - 1));
    const std::uint64_t fraction = any(3) == 0 ? 0 : raw & ((std::uint64_t{1} << shift) - 1);
    return (raw >> 63) << (bits - 1) | static_cast<std::uint64_t>(exponent) << shift | fraction;
  }

  void put(std::vector<std::byte>& bytes, std::uint64_t bits) {
    const auto* from = reinterpret_cast<const std::byte*>(&bits);
    bytes.insert(bytes.end(), from, from + element_);
  }

  const std::size_t element_ = size_bytes(GetParam());
  samples::Random random_{samples::seed() + static_cast<std::uint64_t>(GetParam())};
};
INSTANTIATE_TEST_SUITE_P(Dtype, InBinades, testing::ValuesIn(samples::all_dtypes()),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST_P(InBinades, FromOneToAllOfThem) {
  HeldToOracle cases(GetParam());
  for (const int span : {1, 2, 15, 16, 17, 63, 64, 65, 200, 2048}) {
    std::vector<std::byte> drifting;
    for (int block = 0; block < 12; ++block) {
      const int width = std::min(span, exponents()), first = static_cast<int>(any(exponents() - width + 1));
      for (int i = 0; i < 2048; ++i) put(drifting, with(first + static_cast<int>(any(width))));
    }
    put(drifting, with(0));
    cases.add("spans of " + std::to_string(span), drifting, HeldToOracle::Way{any(2) * element_, kAsked});
  }
  cases.hold();
}

TEST_P(InBinades, OfOneBlockAfterAnotherMoreThanAByteCounts) {
  HeldToOracle cases(GetParam());
  const int middle = exponents() / 2;
  std::vector<std::byte> many;
  const std::size_t count = std::max<std::size_t>(100'000, 300'000 / element_);  // the tree of bytes is flushed, too
  for (std::size_t i = 0; i < count; ++i) put(many, with(middle));
  cases.add("one binade", many, HeldToOracle::Way{0, kAsked});
  for (std::size_t offset = 0; offset < many.size(); offset += (1 + any(5)) * element_)
    std::memset(&many[offset], 0, element_);
  cases.add("and zeros", many, HeldToOracle::Way{0, kAsked});
  std::memset(many.data(), 0, many.size());
  cases.add("nothing but zeros", many, HeldToOracle::Way{0, kAsked});
  cases.hold();
}

TEST_P(InBinades, SpecialsAndSubnormalsAreInNone) {
  HeldToOracle cases(GetParam());
  for (const int exponent : {0, exponents() - 1}) {
    for (const std::size_t count : {1u, 127u, 128u, 129u, 5000u}) {
      std::vector<std::byte> bytes;
      for (std::size_t i = 0; i < count; ++i) put(bytes, with(any(3) == 0 ? exponent : exponents() / 2));
      cases.add("with " + std::to_string(exponent), bytes, HeldToOracle::Way{0, kAsked});
    }
  }
  cases.add("nothing", {}, HeldToOracle::Way{0, kAsked});
  cases.hold();
}

TEST(Exponents, AreReadAsTheyAreWritten) {
  const Exponents none{ExponentCounts{}};
  EXPECT_EQ("zero:0 subnormal:0 inf:0 nan:0", to_string(none));
  EXPECT_EQ(none, Exponents::from(to_string(none)));
  const Exponents some({1, 2, 3, 18446744073709551615u, {{-149, 4}, {0, 5}, {127, 6}}});
  EXPECT_EQ("zero:1 subnormal:2 -149:4 0:5 127:6 inf:3 nan:18446744073709551615", to_string(some));
  EXPECT_EQ(some, Exponents::from(to_string(some)));
  EXPECT_NE(some, none);
  for (const char* text :
       {"", "zero:1", "zero:1 subnormal:0 inf:0 nan:0 ", " zero:1 subnormal:0 inf:0 nan:0",
        "zero:1 subnormal:0 1:1 1:1 inf:0 nan:0", "zero:1 subnormal:0 2:1 1:1 inf:0 nan:0",
        "zero:-1 subnormal:0 inf:0 nan:0", "zero:1 subnormal:0 x:1 inf:0 nan:0", "zero:1 subnormal:0 1: inf:0 nan:0",
        "zero:1 subnormal:0 1:1 inf:0 nan:18446744073709551616"}) {
    EXPECT_FALSE(Exponents::from(text)) << text;
  }
}

}  // namespace exponents_test
}  // namespace tensorstat
