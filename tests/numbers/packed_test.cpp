// Dtypes with several elements in a byte: every statistic is the exact value on every engine, for every count,
// whatever the unused bits of the last byte hold; over any cut at a byte; and what would take a byte apart is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tensorstat/dlpack.hpp>
#include <tensorstat/meter.hpp>
#include <utility>

#include "tests/support/dl_tensor.hpp"
#include "tests/support/held_to_oracle.hpp"

namespace tensorstat {
namespace packed_test {

using Bytes = std::vector<std::byte>;

class Packed : public testing::TestWithParam<Dtype> {
 protected:
  void SetUp() override { expect_forced_isa_runs(); }

  Bytes any(std::uint64_t count) {
    Bytes bytes(bytes_of(GetParam(), count));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random_());
    return bytes;
  }
  // Few of the codes, so that most values are not there.
  Bytes few(std::uint64_t count) {
    Bytes bytes(bytes_of(GetParam(), count));
    const std::byte some[] = {static_cast<std::byte>(random_()), static_cast<std::byte>(random_()), std::byte{}};
    for (std::byte& byte : bytes) byte = some[random_() % 3];
    return bytes;
  }

  std::vector<float> numbers(const Bytes& bytes, std::uint64_t count) const {
    std::vector<float> all;
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto byte = std::to_integer<unsigned>(bytes[i / elements_a_byte(GetParam())]);
      const unsigned code = GetParam() == Dtype::kUint1 ? byte >> (7 - i % 8) & 1 : byte >> (i % 2 * 4) & 15;
      constexpr float kFloat4[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
      const float number = static_cast<float>(code);
      all.push_back(GetParam() == Dtype::kFloat4E2m1fn ? (code < 8 ? 1 : -1) * kFloat4[code & 7]
                    : GetParam() == Dtype::kInt4       ? number - (code < 8 ? 0 : 16)
                                                       : number);
    }
    return all;
  }

  void hold_counts(On on) {
    Meter meter({.threads = 3});
    Request request{.categories = usual_quantiles(), .on = on};
    const std::size_t quantiles = request.categories.size();
    const Category casts[] = {Category::kE4m3fnUnderflow, Category::kE4m3fnOverflow, Category::kFloat16Underflow,
                              Category::kFloat16Overflow};
    request.categories.insert(request.categories.end(), std::begin(casts), std::end(casts));
    constexpr std::pair<std::uint64_t, double> kCases[] = {
        {1, 100}, {7, 0x1.8p-10}, {300, 0x1p-24}, {4097, 0x1.8p-10}, {4098, 1e5}, {4099, 100}, {700'003, 0x1.8p-10}};
    for (const auto& [count, scale] : kCases) {
      request.cast_scale = scale;
      const Bytes bytes = few(count);
      const Tensor tensor{.dtype = GetParam(), .element_count = count, .address = bytes.data()};
      std::vector<float> all = numbers(bytes, count);
      const Tensor same{.dtype = Dtype::kFloat32, .element_count = count, .address = all.data()};
      const auto expected = meter.measure(
          {&same, 1}, {.categories = {std::begin(casts), std::end(casts)}, .on = On::kHost, .cast_scale = scale});
      const auto result = meter.measure({&tensor, 1}, request);
      ASSERT_TRUE(expected) << expected.error().message;
      ASSERT_TRUE(result) << result.error().message;
      const std::span values = result->front().statistics.values;
      const std::string what = std::to_string(count) + " elements, scale " + std::to_string(scale) + ", seed " +
                               std::to_string(samples::seed()) + ": ";
      for (std::size_t i = 0; i < std::size(casts); ++i) {
        EXPECT_EQ(expected->front().statistics.values[i], values[quantiles + i]) << what << name(casts[i]);
      }
      std::ranges::sort(all);
      for (std::size_t i = 0; i < quantiles; ++i) {
        const std::uint64_t rank = (count * thousandths(request.categories[i]) + 99'999) / 100'000;
        const double is = std::visit(
            [](auto number) -> double {
              if constexpr (std::is_arithmetic_v<decltype(number)>) return static_cast<double>(number);
              return -1000;
            },
            values[i]);
        EXPECT_EQ(all[std::max<std::uint64_t>(rank, 1) - 1], is) << what << name(request.categories[i]);
      }
      EXPECT_EQ(on == On::kHost, result->front().placement[0].engine == "host");
    }
  }

  samples::Random random_{samples::seed() + static_cast<std::uint64_t>(GetParam())};
};
INSTANTIATE_TEST_SUITE_P(Dtype, Packed, testing::ValuesIn(samples::packed_dtypes()),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST_P(Packed, IsExactAtEveryCount) {
  HeldToOracle cases(GetParam());
  std::vector<std::uint64_t> counts = {1023, 1025, 4097, 8191, 65'537};
  for (std::uint64_t count = 0; count < 300; ++count) counts.push_back(count);
  for (const std::uint64_t count : counts) {
    const HeldToOracle::Way ways[] = {{random_() % 16}, {0, any_needs(GetParam(), random_)}};
    cases.add_packed("any bits", any(count), count, ways);
    cases.add_packed("few codes", few(count), count, ways);
  }
  cases.hold();
  std::printf("%zu cases\n", cases.case_count());
}

TEST_P(Packed, IsExactOverManyPiecesOfWork) {
  HeldToOracle cases(GetParam());
  std::vector<std::uint64_t> counts = {3'000'003};
  if (samples::full()) counts.push_back(17'000'001);
  for (const std::uint64_t count : counts) {
    const HeldToOracle::Way way{3};
    Bytes bytes = few(count);
    if (!bytes.empty()) bytes.back() = static_cast<std::byte>(random_());
    cases.add_packed("few codes, and another at the end", bytes, count, {&way, 1});
    cases.hold();
  }
}

// A code stands for its elements wherever it stands: every byte by itself, and every number of its elements.
TEST_P(Packed, KnowsEveryCode) {
  HeldToOracle cases(GetParam());
  const HeldToOracle::Way way{};
  for (unsigned code = 0; code < 256; ++code) {
    const std::byte byte{static_cast<unsigned char>(code)};
    for (std::uint64_t count = 1; count <= elements_a_byte(GetParam()); ++count) {
      cases.add_packed("code " + std::to_string(code), {&byte, 1}, count, {&way, 1});
    }
  }
  cases.hold();
}

void expect_same(const Partial& expected, const Partial& partial, const std::string& what) {
  for (const Category category : every_category()) {
    EXPECT_TRUE(oracle::same(expected.finish(category), partial.finish(category))) << what << ": " << name(category);
  }
}

TEST_P(Packed, MergesOverAnyCutAtAByte) {
  Meter meter({.threads = 2});
  const Dtype dtype = GetParam();
  Request request{.categories = every_category()};
  std::erase_if(request.categories, is_digest);
  const std::uint64_t count = 5003;
  const Bytes bytes = any(count);
  const Tensor whole{.dtype = dtype, .element_count = count, .address = bytes.data()};
  const auto expected = meter.fold({&whole, 1}, request);
  ASSERT_TRUE(expected) << expected.error().message;
  for (int round = 0; round < 20; ++round) {
    const std::uint64_t cut = random_() % bytes.size(), before = elements_of(dtype, cut);
    const Tensor parts[] = {{.dtype = dtype, .element_count = before, .address = bytes.data()},
                            {.dtype = dtype, .element_count = count - before, .address = bytes.data() + cut}};
    auto partials = meter.fold(parts, request);
    ASSERT_TRUE(partials) << partials.error().message;
    ASSERT_TRUE((*partials)[1].move_to(before));
    ASSERT_TRUE((*partials)[0].merge((*partials)[1]));
    expect_same((*expected)[0], (*partials)[0], "cut at byte " + std::to_string(cut));
    // And written down, whole and in parts.
    const auto read = Partial::parse((*partials)[0].serialize());
    ASSERT_TRUE(read) << read.error().message;
    expect_same((*expected)[0], *read, "written down");

    auto stream = meter.stream(dtype, request);
    ASSERT_TRUE(stream);
    ASSERT_TRUE(stream->append(std::span(bytes).first(cut)));
    const std::uint64_t unused = elements_of(dtype, bytes.size()) - count;
    ASSERT_TRUE(stream->append(std::span(bytes).subspan(cut), unused));
    EXPECT_EQ(unused == 0, bool{stream->append(std::span(bytes).first(1))}) << "nothing follows half a byte";
    if (unused == 0) continue;
    const auto streamed = stream->finish_partial();
    ASSERT_TRUE(streamed) << streamed.error().message;
    expect_same((*expected)[0], *streamed, "streamed");
  }
  auto moved = *expected;
  const Status between = moved[0].move_to(1);
  ASSERT_FALSE(between);
  EXPECT_NE(between.error().message.find("no byte begins"), std::string::npos) << between.error().message;
}

// The unused bits of the last byte are not elements, and the digests are of the bytes.
TEST_P(Packed, MeasuresWithDigestsToo) {
  Meter meter({.threads = 1});
  const std::uint64_t count = 100'003;
  const Bytes bytes = any(count);
  const Tensor packed{.dtype = GetParam(), .element_count = count, .address = bytes.data()};
  const Tensor as_bytes{.dtype = Dtype::kUint8, .element_count = bytes.size(), .address = bytes.data()};
  const Request with{.categories = {Category::kMd5, Category::kMax, Category::kMin, Category::kAvg, Category::kCount}};
  const auto result = meter.measure({&packed, 1}, with), digest = meter.measure({&as_bytes, 1}, with);
  ASSERT_TRUE(result) << result.error().message;
  const auto truth = oracle::answers(oracle::facts_of_packed(GetParam(), bytes, count));
  EXPECT_TRUE(oracle::same(digest->front().statistics.values[0], result->front().statistics.values[0]));
  for (std::size_t i = 1; i < with.categories.size(); ++i) {
    EXPECT_TRUE(oracle::same(truth[static_cast<std::size_t>(with.categories[i])], result->front().statistics.values[i]))
        << i;
  }
}

// Quantiles are elements: those that stand there when all are put in order. Casts at a scale lose what those of the
// same numbers in float32 lose.
TEST_P(Packed, HasQuantilesAndCasts) { hold_counts(On::kHost); }
TEST_P(Packed, HasQuantilesAndCastsOnADevice) {
  if (!expects_device() || !samples::is_built_on_a_device(GetParam())) GTEST_SKIP() << "no device wanted";
  hold_counts(On::kDevice);
}

// Rows that begin and end with bytes: of blocks the last may be shorter, and its last byte is not whole.
TEST_P(Packed, IsMeasuredByRowsOfBytes) {
  const std::uint64_t count = 16 * 5 * 8 + 3;
  const Bytes bytes = any(count);
  Meter meter({.threads = 1});
  const Request request{.categories = {Category::kCount, Category::kMax, Category::kAvg, Category::kArgmin}};
  const std::pair<By, std::uint64_t> ways[] = {{{.shape = {count}, .block_elements = 16}, 16},
                                               {{.shape = {16, 5, 8}, .axes = {0}}, 40},
                                               {{.shape = {16, 5, 8}, .axes = {0, 1}}, 8},
                                               {{.shape = {count}, .axes = {}}, count}};
  for (const auto& [by, each] : ways) {
    Tensor tensor{.dtype = GetParam(), .element_count = by.shape.size() == 1 ? count : 640, .address = bytes.data()};
    const auto rows = meter.measure_by(tensor, by, request);
    ASSERT_TRUE(rows) << rows.error().message;
    ASSERT_EQ((tensor.element_count + each - 1) / each, rows->size());
    for (std::size_t i = 0; i < rows->size(); ++i) {
      const std::uint64_t here = std::min(each, tensor.element_count - i * each);
      const auto row = std::span(bytes).subspan(bytes_of(GetParam(), i * each), bytes_of(GetParam(), here));
      const auto truth = oracle::answers(oracle::facts_of_packed(GetParam(), {row.begin(), row.end()}, here));
      for (const Category category : request.categories) {
        EXPECT_TRUE(oracle::same(truth[static_cast<std::size_t>(category)], *(*rows)[i].statistics.find(category)))
            << name(category) << " of row " << i << " of " << each;
      }
    }
  }
}

TEST_P(Packed, IsRefusedWhereAByteWouldBeTakenApart) {
  Meter meter({.threads = 1});
  const Bytes bytes = any(16);
  const Request request{.categories = {Category::kMax}};
  const Strides strides{{8}, {1}};
  const Tensor strided{.dtype = GetParam(), .element_count = 8, .address = bytes.data(), .strides = &strides};
  const auto refused = meter.measure({&strided, 1}, request);
  ASSERT_FALSE(refused);
  EXPECT_EQ(Code::kUnsupported, refused.error().code);
  EXPECT_NE(refused.error().message.find("share a byte"), std::string::npos) << refused.error().message;
  const Tensor tensor{.dtype = GetParam(), .element_count = 8, .address = bytes.data()};
  const By some[] = {{.shape = {2, 4}, .axes = {1}}, {.shape = {8}, .axes = {0}}, {.shape = {8}, .block_elements = 3}};
  for (const By& by : some) {
    const auto rows = meter.measure_by(tensor, by, request);
    ASSERT_FALSE(rows);
    EXPECT_EQ(Code::kUnsupported, rows.error().code);
    EXPECT_NE(rows.error().message.find("do not begin and end with bytes"), std::string::npos) << rows.error().message;
  }
  const TensorPair pair{tensor, tensor};
  const auto compared = meter.compare({&pair, 1}, {});
  ASSERT_FALSE(compared);
  EXPECT_NE(compared.error().message.find("packed"), std::string::npos) << compared.error().message;
}

TEST(PackedDlpack, SaysHowManyElementsThereAre) {
  const std::byte bytes[8] = {};
  std::int64_t shape[] = {2, 3}, gaps[] = {4, 1};
  Strides strides;
  const auto made = [&](std::uint8_t code, std::uint8_t bits, std::uint16_t lanes, std::int64_t* apart = nullptr) {
    const test::DlTensor from{bytes, 1, 0, 2, code, bits, lanes, shape, apart, 0};
    return tensor_from_dlpack(&from, strides);
  };
  const auto int4 = made(0, 4, 1), uint4 = made(1, 4, 1), float4 = made(17, 4, 1), pairs = made(17, 4, 2),
             e8m0 = made(14, 8, 1);
  ASSERT_TRUE(int4 && uint4 && float4 && pairs && e8m0);
  EXPECT_EQ(Dtype::kInt4, int4->dtype);
  EXPECT_EQ(Dtype::kUint4, uint4->dtype);
  EXPECT_EQ(Dtype::kFloat4E2m1fn, float4->dtype);
  EXPECT_EQ(Dtype::kFloat8E8m0fnu, e8m0->dtype);
  EXPECT_EQ(6u, float4->element_count);
  EXPECT_EQ(3u, float4->bytes());
  EXPECT_EQ(12u, pairs->element_count) << "PyTorch's float4_e2m1fn_x2";
  EXPECT_FALSE(made(1, 1, 1)) << "the order of single bits is not said";
  EXPECT_FALSE(made(0, 4, 2));
  EXPECT_FALSE(made(17, 8, 1));
  EXPECT_FALSE(made(17, 4, 1, gaps));
}

}  // namespace packed_test
}  // namespace tensorstat
