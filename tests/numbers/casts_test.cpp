// What a cast would lose or bring out of range is counted to the element: at every tie, beside it, and of every dtype.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <tensorstat/meter.hpp>
#include <vector>

#include "tests/support/held_to_oracle.hpp"

namespace tensorstat {
namespace casts_test {

// The ties of e4m3fn, e5m2, float16 and bfloat16, and their greatest and least values.
constexpr double kNumbers[] = {0x1p-10, 0x1p-17, 0x1p-25, 0x1p-134, 0x1p-9,  0x1p-16,  0x1p-24,    0x1p-133,
                               464,     448,     61440,   57344,    65520,   65504,    0x1.ffp127, 0x1.fep127,
                               0,       1,       1e300,   5e-324,   0x1p127, 0x1p-149, INFINITY,   NAN};

template <typename Element, typename Bits>
std::vector<std::byte> around_all() {
  std::vector<Element> elements;
  for (const double number : kNumbers) {
    if (!std::is_floating_point_v<Element> && !(number < 0x1p62)) continue;
    const auto nearest = static_cast<Element>(number);
    for (int step = -2; step <= 2; ++step) {
      const auto bits = static_cast<Bits>(std::bit_cast<Bits>(nearest) + static_cast<Bits>(step));
      elements.push_back(std::bit_cast<Element>(bits));
      elements.push_back(static_cast<Element>(Element(0) - elements.back()));
    }
  }
  elements.push_back(std::numeric_limits<Element>::max());
  elements.push_back(std::numeric_limits<Element>::lowest());
  const auto bytes = std::as_bytes(std::span(elements));
  return {bytes.begin(), bytes.end()};
}

// Every code of a dtype of one byte or two.
std::vector<std::byte> every_code(std::size_t element_bytes) {
  std::vector<std::byte> bytes;
  for (unsigned code = 0; code < 1u << 8 * element_bytes; ++code) {
    bytes.push_back(static_cast<std::byte>(code));
    if (element_bytes == 2) bytes.push_back(static_cast<std::byte>(code >> 8));
  }
  return bytes;
}

std::vector<std::byte> awkward(Dtype dtype) {
  switch (dtype) {
    case Dtype::kInt32:
      return around_all<std::int32_t, std::uint32_t>();
    case Dtype::kUint32:
      return around_all<std::uint32_t, std::uint32_t>();
    case Dtype::kInt64:
      return around_all<std::int64_t, std::uint64_t>();
    case Dtype::kUint64:
      return around_all<std::uint64_t, std::uint64_t>();
    case Dtype::kFloat32:
      return around_all<float, std::uint32_t>();
    case Dtype::kFloat64:
      return around_all<double, std::uint64_t>();
    default:
      return every_code(size_bytes(dtype));
  }
}

class Casts : public testing::TestWithParam<Dtype> {
 protected:
  void SetUp() override { expect_forced_isa_runs(); }

  // On a device each dtype is a kernel to build: in the quick tests these are built.
  static bool stands_for_others() {
    return GetParam() == Dtype::kFloat32 || GetParam() == Dtype::kFloat64 || GetParam() == Dtype::kInt8 ||
           GetParam() == Dtype::kFloat8E8m0fnu;
  }
  // Whether this is a quick run that forces a shape on the device, of a dtype that is none of those.
  static bool is_tried_elsewhere() {
    return !samples::full() && std::getenv("TENSORSTAT_CL_SHAPE") != nullptr && !stands_for_others();
  }
  static constexpr const char* kElsewhere = "the run that forces no shape has it on the host";
};
INSTANTIATE_TEST_SUITE_P(Dtype, Casts, testing::ValuesIn(samples::all_dtypes()),
                         [](const auto& info) { return std::string(name(info.param)); });

// Alone, among elements that no cast changes, and cut off in the middle of a vector.
TEST_P(Casts, CountWhatEachElementBecomes) {
  if (is_tried_elsewhere()) GTEST_SKIP() << kElsewhere;
  const std::size_t element = size_bytes(GetParam());
  const std::vector<std::byte> few = awkward(GetParam());
  HeldToOracle cases(GetParam());
  cases.add("all", few, HeldToOracle::Way{0, kCasts});
  cases.add("all but some", std::span(few).first(few.size() / 3 / element * element),
            HeldToOracle::Way{element, kCasts});
  std::vector<std::byte> among(5 * 2048 * element);
  for (std::size_t offset = 0; offset < among.size(); offset += element) {
    std::memcpy(&among[offset],
                &few[offset % 3 == 0 ? offset % few.size() / element * element : few.size() / 2 / element * element],
                element);
  }
  cases.add("among others", among, HeldToOracle::Way{0, kCasts});
  cases.hold();
}

// |x| of an element by the definition of its dtype; nothing of NaN and Inf.
std::optional<mpq_class> size_of(Dtype dtype, std::uint64_t bits) {
  const int width = 8 * static_cast<int>(size_bytes(dtype));
  const bool negative = (bits >> (width - 1)) != 0;
  const auto whole = [](std::uint64_t number) { return mpq_class(mpz_class(std::to_string(number))); };
  if (dtype == Dtype::kBool) return mpq_class(bits != 0);
  if (!is_float(dtype)) {
    const bool is_signed = name(dtype).front() == 'i';
    const std::uint64_t mask = width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
    return whole(is_signed && negative ? (0 - bits) & mask : bits);
  }
  if (dtype == Dtype::kFloat8E8m0fnu) {
    return bits == 255 ? std::nullopt : std::optional(oracle::scaled(mpz_class(1), static_cast<int>(bits) - 127));
  }
  struct Layout {
    int exponent, fraction;
    bool has_infinity = true, is_fnuz = false;
  };
  const Layout layout = dtype == Dtype::kFloat16          ? Layout{5, 10}
                        : dtype == Dtype::kBfloat16       ? Layout{8, 7}
                        : dtype == Dtype::kFloat32        ? Layout{8, 23}
                        : dtype == Dtype::kFloat64        ? Layout{11, 52}
                        : dtype == Dtype::kFloat8E5m2     ? Layout{5, 2}
                        : dtype == Dtype::kFloat8E4m3fn   ? Layout{4, 3, false}
                        : dtype == Dtype::kFloat8E4m3fnuz ? Layout{4, 3, false, true}
                                                          : Layout{5, 2, false, true};
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << layout.fraction) - 1);
  const int most = (1 << layout.exponent) - 1, exponent = static_cast<int>(bits >> layout.fraction) & most;
  if (layout.has_infinity && exponent == most) return std::nullopt;
  if (layout.is_fnuz && negative && exponent == 0 && fraction == 0) return std::nullopt;
  if (dtype == Dtype::kFloat8E4m3fn && exponent == most && fraction == 7) return std::nullopt;
  const int power = std::max(exponent, 1) - most / 2 - layout.is_fnuz - layout.fraction;
  return oracle::scaled(mpz_class(std::to_string(fraction + (exponent == 0 ? 0 : std::uint64_t{1} << layout.fraction))),
                        power);
}

struct Lost {
  std::array<std::uint64_t, 4> under{}, over{};
};

// Rounded to a whole number of units in the last place of each format, to the even one of two; by GMP's rational
// numbers.
void cast(const mpq_class& size, Lost& lost) {
  struct Target {
    int fraction, least_exponent;
    double greatest;
  };
  static constexpr Target kTargets[] = {{3, -9, 448}, {2, -16, 57344}, {10, -24, 65504}, {7, -133, 0x1.fep127}};
  if (size == 0) return;
  const long guess = static_cast<long>(mpz_sizeinbase(size.get_num_mpz_t(), 2)) -
                     static_cast<long>(mpz_sizeinbase(size.get_den_mpz_t(), 2));
  const long power = size >= oracle::scaled(1, guess) ? guess : guess - 1;
  for (std::size_t i = 0; i < std::size(kTargets); ++i) {
    const long unit = std::max<long>(power - kTargets[i].fraction, kTargets[i].least_exponent);
    const mpq_class units = size * oracle::scaled(1, -unit);
    mpz_class below = units.get_num() / units.get_den();
    const mpq_class rest = units - below;
    const int half = cmp(rest, mpq_class(1, 2));
    if (half > 0 || (half == 0 && mpz_odd_p(below.get_mpz_t()))) ++below;
    lost.under[i] += below == 0;
    lost.over[i] += oracle::scaled(below, unit) > mpq_class(kTargets[i].greatest);
  }
}

constexpr Category kCounts[][2] = {{Category::kE4m3fnUnderflow, Category::kE4m3fnOverflow},
                                   {Category::kE5m2Underflow, Category::kE5m2Overflow},
                                   {Category::kFloat16Underflow, Category::kFloat16Overflow},
                                   {Category::kBfloat16Underflow, Category::kBfloat16Overflow}};
constexpr double kScales[] = {
    0.5, 3, 0.1, 0x1p-30, 0x1p40, 1e-300, 1e300, 5e-324, 0x1.fffffffffffffp1023, 0x1.0000000000001p0};

// The exact product, rounded once: at each tie of each scale and beside it, on each engine, in parts that are sent.
TEST_P(Casts, AreOfTheExactProductAtAnyScale) {
  if (is_tried_elsewhere()) GTEST_SKIP() << kElsewhere;
  const std::size_t element = size_bytes(GetParam());
  const std::vector<std::byte> all = awkward(GetParam());
  std::vector<std::byte> bytes;
  // GMP takes most of the time. So the quick test has one in seven of the codes of two bytes.
  const std::size_t step = (samples::full() || all.size() < 65'536 ? 1 : 7) * element;
  for (std::size_t offset = 0; offset < all.size(); offset += step) {
    bytes.insert(bytes.end(), all.begin() + static_cast<std::ptrdiff_t>(offset),
                 all.begin() + static_cast<std::ptrdiff_t>(offset + element));
  }
  samples::Random random(samples::seed());
  for (std::size_t i = 0; i < 3000; ++i) {
    const std::uint64_t any = random() >> random() % 64;
    const auto* from = reinterpret_cast<const std::byte*>(&any);
    bytes.insert(bytes.end(), from, from + element);
  }
  std::vector<mpq_class> sizes;
  for (std::size_t offset = 0; offset < bytes.size(); offset += element) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &bytes[offset], element);
    if (const auto size = size_of(GetParam(), bits)) sizes.push_back(*size);
  }
  std::vector<double> scales(std::begin(kScales), std::end(kScales));
  if (!samples::full()) {  // every third one, others for the next dtype
    std::erase_if(scales, [i = static_cast<unsigned>(GetParam())](double) mutable { return ++i % 3 != 0; });
  }
  // Where an element times the scale is nearest to a tie.
  for (int i = 0; i < (samples::full() ? 6 : 3); ++i) {
    const double size = sizes[random() % sizes.size()].get_d(), tie = kNumbers[random() % 4 * 2 % 8];
    const double scale = tie / size;
    if (std::isfinite(scale) && scale > 0) scales.push_back(scale);
  }
  for (const double scale : scales) {
    Lost lost;
    for (const mpq_class& size : sizes) cast(mpq_class(size * mpq_class(scale)), lost);
    for (const EngineUnderTest& each : every_engine()) {
      if (!samples::full() && each.engine->name() != "host" && !stands_for_others()) continue;
      for (const Needs needs : {Needs{kCasts | kSum | kIndices | kQuantiles}}) {
        Partial whole(GetParam(), Precision::kHigh, needs, scale), merged = whole;
        const samples::Misaligned placed(bytes, element);
        const Tensor tensor{.dtype = GetParam(), .element_count = bytes.size() / element, .address = placed.data()};
        const Job job{tensor, &whole};
        const Status folded = each.engine->fold({&job, 1});
        ASSERT_TRUE(folded) << each.name << ": " << folded.error().message;
        for (std::size_t i = 0; i < std::size(kCounts); ++i) {
          const std::string what =
              each.name + ", at " + std::to_string(scale) + ", seed " + std::to_string(samples::seed());
          ASSERT_EQ(Value(lost.under[i]), whole.finish(kCounts[i][0])) << what << ", " << name(kCounts[i][0]);
          ASSERT_EQ(Value(lost.over[i]), whole.finish(kCounts[i][1])) << what << ", " << name(kCounts[i][1]);
        }
        const auto sent = Partial::parse(whole.serialize());
        ASSERT_TRUE(sent) << sent.error().message;
        ASSERT_TRUE(merged.merge(*sent));
        EXPECT_EQ(whole.serialize(), merged.serialize());
      }
    }
  }
}

TEST(CastsAtAScale, MergeWithThoseAtTheSameScaleAlone) {
  Partial one(Dtype::kFloat32, Precision::kHigh, kCasts), half(Dtype::kFloat32, Precision::kHigh, kCasts, 0.5);
  const Status merged = one.merge(half);
  ASSERT_FALSE(merged);
  EXPECT_EQ("cannot merge partials with different cast scales: 0.5 into 1", merged.error().message);
  EXPECT_EQ(0.5, Partial::parse(half.serialize())->cast_scale());
  EXPECT_EQ(1, Partial(Dtype::kFloat32, Precision::kHigh, kSum, 0.5).cast_scale());
  for (const double scale : {0.0, -1.0, double{INFINITY}, double{NAN}}) {
    const auto parsed = Partial::parse(Partial(Dtype::kFloat32, Precision::kHigh, kCasts, scale).serialize());
    ASSERT_FALSE(parsed) << scale;
    EXPECT_EQ("not a partial: the scale of its casts is no finite number above 0", parsed.error().message);
    const float x = 1;
    const Tensor tensor{.dtype = Dtype::kFloat32, .element_count = 1, .address = &x};
    EXPECT_EQ(
        Code::kInvalid,
        Meter().measure({&tensor, 1}, {.categories = {Category::kE5m2Overflow}, .cast_scale = scale}).error().code);
  }
}

// However a tensor is asked for.
TEST(CastsAtAScale, AreThoseOfEveryWayToAsk) {
  std::vector<float> elements(70'000);
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = std::ldexp(1.0f, static_cast<int>(i % 40) - 20);
  const Tensor tensor{.dtype = Dtype::kFloat32, .element_count = elements.size(), .address = elements.data()};
  std::uint64_t under = 0, over = 0;
  for (const float x : elements) under += x * 4 <= 0x1p-10f, over += x * 4 > 464;
  const Categories categories{Category::kMax, Category::kE4m3fnUnderflow, Category::kE4m3fnOverflow};
  Meter meter;
  const auto hold = [&](const auto& rows) {
    ASSERT_TRUE(rows) << rows.error().message;
    EXPECT_EQ(Value(under), rows->front().statistics.values[1]);
    EXPECT_EQ(Value(over), rows->front().statistics.values[2]);
  };
  for (const On on : {On::kHost, On::kDevice}) {
    if (on == On::kDevice && !expects_device()) continue;
    for (const Precision precision : {Precision::kHigh, Precision::kLow}) {
      const Request request{categories, precision, on, 4};
      hold(meter.measure({&tensor, 1}, request));
      auto stream = meter.stream(Dtype::kFloat32, request);
      ASSERT_TRUE(stream);
      ASSERT_TRUE(stream->append(std::as_bytes(std::span(elements).first(32 * 1024))));
      ASSERT_TRUE(stream->append(std::as_bytes(std::span(elements).subspan(32 * 1024))));
      hold(stream->finish());
    }
  }
  Categories with_digest = categories;
  with_digest.push_back(Category::kMd5);
  hold(meter.measure({&tensor, 1}, {with_digest, Precision::kHigh, On::kHost, 4}));
  const auto columns =
      meter.measure_by(tensor, {.shape = {1750, 40}, .axes = {1}}, {categories, Precision::kHigh, On::kAuto, 4});
  ASSERT_TRUE(columns) << columns.error().message;
  std::uint64_t of_columns = 0;
  for (std::size_t i = 0; i < columns->size(); ++i)
    of_columns += std::get<std::uint64_t>((*columns)[i].statistics.values[1]);
  EXPECT_EQ(under, of_columns);
}

}  // namespace casts_test
}  // namespace tensorstat
