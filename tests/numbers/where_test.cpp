// The first NaN, the first Inf, the maximum and the minimum are found where they are: planted in one of many blocks,
// units and slices, among equals, in order, and where only the sign of zero differs.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <tensorstat/meter.hpp>
#include <tensorstat/partial.hpp>
#include <type_traits>
#include <vector>

#include "tests/support/engines.hpp"
#include "tests/support/samples.hpp"

namespace tensorstat {
namespace where_test {

const Categories kWhere = {Category::kFirstNanIndex, Category::kFirstInfIndex, Category::kFirstBadIndex,
                           Category::kArgmax, Category::kArgmin};

template <typename Element>
constexpr Dtype kDtypeOf = Dtype::kFloat32;
template <>
constexpr Dtype kDtypeOf<double> = Dtype::kFloat64;
template <>
constexpr Dtype kDtypeOf<std::int64_t> = Dtype::kInt64;
template <>
constexpr Dtype kDtypeOf<std::uint8_t> = Dtype::kUint8;

// -0 is below +0.
template <typename Element>
bool below(Element a, Element b) {
  if constexpr (std::is_floating_point_v<Element>) {
    if (a == 0 && b == 0) return std::signbit(a) && !std::signbit(b);
  }
  return a < b;
}

// The answers to kWhere, one after another as one looks for them by hand; "-" for none.
template <typename Element>
std::string truth(const std::vector<Element>& x) {
  const std::size_t none = x.size();
  std::size_t nan = none, infinity = none, most = none, least = none;
  for (std::size_t i = x.size(); i-- > 0;) {
    if constexpr (std::is_floating_point_v<Element>) {
      if (std::isnan(x[i])) nan = i;
      if (std::isinf(x[i])) infinity = i;
      if (std::isnan(x[i])) continue;
    }
    if (most == none || !below(x[i], x[most])) most = i;
    if (least == none || !below(x[least], x[i])) least = i;
  }
  std::string text;
  for (const std::size_t index :
       {nan, infinity, std::min(nan, infinity), nan != none ? nan : most, nan != none ? nan : least}) {
    text += (text.empty() ? "" : " ") + (index == none ? "-" : std::to_string(index));
  }
  return text;
}

// Holds every engine to it.
template <typename Element>
void hold(const std::vector<Element>& elements, const std::string& what) {
  const Tensor tensor{.dtype = kDtypeOf<Element>, .element_count = elements.size(), .address = elements.data()};
  for (const EngineUnderTest& under_test : every_engine()) {
    Partial partial(tensor.dtype, Precision::kHigh, needs(kWhere, Precision::kHigh));
    const Job job{tensor, &partial};
    ASSERT_TRUE(under_test.engine->fold({&job, 1}));
    std::string answers;
    for (const Category category : kWhere) {
      const std::string place = to_string(partial.finish(category));
      answers += (answers.empty() ? "" : " ") + (place.empty() ? "-" : place);
    }
    EXPECT_EQ(truth(elements), answers) << under_test.name << ", " << name(tensor.dtype) << ", " << elements.size()
                                        << " elements, " << what << ", seed " << samples::seed();
  }
}

class Where : public testing::Test {
 protected:
  void SetUp() override { expect_forced_isa_runs(); }

  std::size_t any(std::size_t below) { return random_() % below; }

  samples::Random random_{samples::seed()};
};

template <typename Element>
class WhereOf : public Where {};
using Floats = testing::Types<float, double>;
TYPED_TEST_SUITE(WhereOf, Floats);

TYPED_TEST(WhereOf, PlantedInNoise) {
  constexpr TypeParam kInfinity = std::numeric_limits<TypeParam>::infinity();
  constexpr TypeParam kNan = std::numeric_limits<TypeParam>::quiet_NaN();
  for (const std::size_t count : {1u, 2u, 127u, 128u, 2047u, 2049u, 70'001u, 1'000'003u}) {
    std::vector<TypeParam> noise(count);
    for (TypeParam& x : noise) x = static_cast<TypeParam>(this->any(1000)) / 8;
    for (const TypeParam planted : {TypeParam(1000), TypeParam(-1000), kInfinity, -kInfinity, kNan, -kNan}) {
      std::vector<TypeParam> elements = noise;
      elements[this->any(count)] = elements[this->any(count)] = planted;  // of equals the first
      hold(elements, "planted " + std::to_string(planted));
      elements[this->any(count)] = this->any(2) != 0 ? kNan : -kInfinity;
      hold(elements, "beside " + std::to_string(planted));
      hold(std::vector<TypeParam>(count, planted), "nothing but " + std::to_string(planted));
    }
  }
}

TYPED_TEST(WhereOf, InOrderEachBlockBeatsTheOneBefore) {
  std::vector<TypeParam> ascending(300'000), descending(ascending.size());
  for (std::size_t i = 0; i < ascending.size(); ++i) {
    ascending[i] = static_cast<TypeParam>(i / 3);
    descending[i] = -ascending[i];
  }
  hold(ascending, "ascending");
  hold(descending, "descending");
}

TYPED_TEST(WhereOf, ZerosAreOrderedByTheirSigns) {
  std::vector<TypeParam> zeros(5000, TypeParam(0));
  zeros[17] = zeros[4000] = -TypeParam(0);
  hold(zeros, "mostly +0");
  for (TypeParam& x : zeros) x = -x;
  hold(zeros, "mostly -0");
}

TEST_F(Where, TheLeastAndTheGreatestOfIntegersAreFoundToo) {
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min(), kMost = std::numeric_limits<std::int64_t>::max();
  for (const std::size_t count : {1u, 200u, 9000u}) {
    hold(std::vector<std::int64_t>(count, kLeast), "all least");
    hold(std::vector<std::int64_t>(count, kMost), "all most");
  }
  std::vector<std::uint8_t> bytes(10'000, 3);
  bytes[9'998] = 200;
  bytes[9'999] = 2;
  hold(bytes, "bytes");
}

TEST_F(Where, NothingHasNoPlace) { hold(std::vector<float>(), "none"); }

// A part says where it begins, and a place beyond all indices is refused.
TEST_F(Where, APartMovesToItsPlace) {
  const float part[] = {1, 5, 2};
  const Tensor tensor{.dtype = Dtype::kFloat32, .element_count = 3, .address = part};
  auto partials = Meter().fold({&tensor, 1}, {{Category::kArgmax, Category::kMax}, Precision::kHigh, On::kHost});
  ASSERT_TRUE(partials) << partials.error().message;
  Partial& moved = partials->front();
  ASSERT_TRUE(moved.move_to(1'000'000'000'000));
  EXPECT_EQ(Value(std::uint64_t{1'000'000'000'001}), moved.finish(Category::kArgmax));
  EXPECT_EQ(Value(5.0), moved.finish(Category::kMax));
  // The largest index, of a tensor of 2^63 - 1 elements, is 2^63 - 2.
  constexpr std::uint64_t kFirstBeyond = (std::uint64_t{1} << 63) - 1 - 1'000'000'000'001;
  for (const std::uint64_t first : {std::uint64_t{1} << 63, kFirstBeyond}) {
    const Status refused = moved.move_to(first);
    ASSERT_FALSE(refused) << first;
    EXPECT_EQ(Code::kInvalid, refused.error().code);
    EXPECT_EQ(Value(std::uint64_t{1'000'000'000'001}), moved.finish(Category::kArgmax));
  }
  ASSERT_TRUE(moved.move_to(kFirstBeyond - 1));
  EXPECT_EQ(Value((std::uint64_t{1} << 63) - 2), moved.finish(Category::kArgmax));
}

}  // namespace where_test
}  // namespace tensorstat
