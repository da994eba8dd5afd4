// pN is the element of rank ceil(N / 100 * n) of the n that are not NaN, or within its bound of that: of every dtype,
// however the tensor is stored, cut, merged and written down. Held to a sort of the elements.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <map>
#include <string>
#include <tensorstat/meter.hpp>
#include <tensorstat/opencl.hpp>
#include <utility>
#include <vector>

#include "precision/partial.h"
#include "stats/core/engine/needs.hpp"
#include "tests/support/samples.hpp"

namespace tensorstat {
namespace quantiles_test {

using Bytes = std::vector<std::byte>;
using Real = long double;
static_assert(std::numeric_limits<Real>::digits >= 64, "it holds every element");

// Bits of the exponent and of the fraction, and what kind of NaN there are.
struct Layout {
  int exponent, fraction;
  bool has_infinity = true, is_fnuz = false;
};
const std::map<Dtype, Layout> kLayouts = {{Dtype::kFloat16, {5, 10}},
                                          {Dtype::kBfloat16, {8, 7}},
                                          {Dtype::kFloat32, {8, 23}},
                                          {Dtype::kFloat64, {11, 52}},
                                          {Dtype::kFloat8E5m2, {5, 2}},
                                          {Dtype::kFloat8E4m3fn, {4, 3, false}},
                                          {Dtype::kFloat8E4m3fnuz, {4, 3, false, true}},
                                          {Dtype::kFloat8E5m2fnuz, {5, 2, false, true}}};

// An element by its definition; NaN keeps its sign no more.
Real value_of(Dtype dtype, std::uint64_t bits) {
  if (dtype == Dtype::kFloat8E8m0fnu) {
    return bits == 255 ? std::numeric_limits<Real>::quiet_NaN() : std::ldexp(Real{1}, static_cast<int>(bits) - 127);
  }
  const int width = 8 * static_cast<int>(size_bytes(dtype));
  const bool negative = (bits >> (width - 1)) != 0;
  if (!kLayouts.contains(dtype)) {
    if (dtype == Dtype::kBool) return bits != 0;
    const bool is_signed =
        dtype == Dtype::kInt8 || dtype == Dtype::kInt16 || dtype == Dtype::kInt32 || dtype == Dtype::kInt64;
    return static_cast<Real>(bits) - (is_signed && negative ? std::ldexp(Real{1}, width) : Real{0});
  }
  const Layout& layout = kLayouts.at(dtype);
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << layout.fraction) - 1);
  const int most = (1 << layout.exponent) - 1, exponent = static_cast<int>(bits >> layout.fraction) & most;
  const int bias = most / 2 + layout.is_fnuz;
  const Real nan = std::numeric_limits<Real>::quiet_NaN();
  if (layout.is_fnuz && negative && fraction == 0 && exponent == 0) return nan;
  if (layout.has_infinity && exponent == most) {
    if (fraction != 0) return nan;
    return negative ? -std::numeric_limits<Real>::infinity() : std::numeric_limits<Real>::infinity();
  }
  if (!layout.has_infinity && !layout.is_fnuz && exponent == most && fraction == 7) return nan;  // e4m3fn
  const Real size = exponent == 0 ? std::ldexp(static_cast<Real>(fraction), 1 - bias - layout.fraction)
                                  : std::ldexp(static_cast<Real>(fraction + (std::uint64_t{1} << layout.fraction)),
                                               exponent - bias - layout.fraction);
  return negative ? -size : size;
}

// The elements but NaN, in ascending order, -0 below +0. Equal bits are sorted once.
std::vector<Real> sorted(Dtype dtype, const Bytes& bytes) {
  std::vector<std::uint64_t> all(bytes.size() / size_bytes(dtype));
  for (std::size_t i = 0; i < all.size(); ++i) std::memcpy(&all[i], &bytes[i * size_bytes(dtype)], size_bytes(dtype));
  std::vector<std::pair<Real, std::size_t>> counted;
  const auto count = [&](std::uint64_t bits, std::size_t times) {
    if (times == 0) return;
    if (const Real value = value_of(dtype, bits); !std::isnan(value)) counted.emplace_back(value, times);
  };
  if (size_bytes(dtype) <= 2) {
    std::vector<std::size_t> times(std::size_t{1} << 8 * size_bytes(dtype));
    for (const std::uint64_t bits : all) ++times[bits];
    for (std::size_t bits = 0; bits < times.size(); ++bits) count(bits, times[bits]);
  } else {
    for (const std::uint64_t bits : all) count(bits, 1);
  }
  std::ranges::sort(counted, [](const auto& a, const auto& b) {
    return a.first < b.first || (a.first == b.first && std::signbit(a.first) && !std::signbit(b.first));
  });
  std::vector<Real> values;
  values.reserve(all.size());
  for (const auto& [value, times] : counted) values.insert(values.end(), times, value);
  return values;
}

// How far a value may be from the element x.
Real bound(Dtype dtype, Real x) {
  if (size_bytes(dtype) <= 2) return 0;
  if (dtype == Dtype::kFloat32) return std::max(std::ldexp(std::fabs(x), -8), std::ldexp(Real{1}, -133));
  if (dtype == Dtype::kFloat64) return std::max(std::ldexp(std::fabs(x), -8), std::ldexp(Real{1}, -1029));
  return std::ldexp(std::fabs(x), -10);
}

Categories asked() {
  Categories categories = usual_quantiles();
  for (const std::uint32_t more : {0u, 1u, 99'999u, 100'000u, 33'333u, 50'000u}) categories.push_back(quantile(more));
  std::ranges::sort(categories);
  return categories;
}

Real real_of(const Value& value) {
  return std::visit(
      [](const auto& number) -> Real {
        if constexpr (std::is_arithmetic_v<std::decay_t<decltype(number)>>) return static_cast<Real>(number);
        return std::numeric_limits<Real>::quiet_NaN();
      },
      value);
}

void hold(Dtype dtype, const std::vector<Real>& truth, const StatisticsView& statistics, const std::string& what) {
  const std::string prefix =
      what + ", " + std::string(name(dtype)) + ", seed " + std::to_string(samples::seed()) + ": ";
  Real before = -std::numeric_limits<Real>::infinity();
  for (std::size_t i = 0; i < statistics.categories.size(); ++i) {
    if (!is_quantile(statistics.categories[i])) continue;
    const std::string which = prefix + std::string(name(statistics.categories[i]));
    if (truth.empty()) {
      ASSERT_EQ(0u, statistics.values[i].index()) << which;
      continue;
    }
    const Value& value = statistics.values[i];
    ASSERT_EQ(is_float(dtype), std::holds_alternative<double>(value)) << which;
    // ceil(N / 100 * n), in whole numbers, as a rank from 0.
    const std::size_t n = truth.size(), parts = n * thousandths(statistics.categories[i]);
    const std::size_t rank = std::max<std::size_t>((parts + 99'999) / 100'000, 1) - 1;
    const Real is = real_of(value), must_be = truth[rank];
    const bool is_end = rank == 0 || rank == n - 1 || std::isinf(must_be);
    const Real most = is_end ? 0 : bound(dtype, must_be);
    const bool is_near = is == must_be || std::fabs(is - must_be) <= most;
    ASSERT_TRUE(is_near) << which << " must be " << must_be << " and is " << is;
    if (most == 0) {
      ASSERT_EQ(std::signbit(must_be), std::signbit(is)) << which;
    }
    ASSERT_GE(is, before) << which;
    before = is;
  }
}

Tensor tensor_of(Dtype dtype, const Bytes& bytes) {
  return {.dtype = dtype, .element_count = bytes.size() / size_bytes(dtype), .address = bytes.data()};
}

void append(Bytes& bytes, Dtype dtype, std::uint64_t bits) {
  const auto* from = reinterpret_cast<const std::byte*>(&bits);
  bytes.insert(bytes.end(), from, from + size_bytes(dtype));
}

// Elements of any bits, of few different ones, all equal, ascending, with most 0, around 0.
std::vector<Bytes> tensors(Dtype dtype, std::size_t count, samples::Random& random) {
  std::vector<Bytes> all(5);
  const std::uint64_t one = random();
  const std::uint64_t some[] = {
      random(), random(), random(), 0, std::uint64_t{1} << (8 * size_bytes(dtype) - 1), ~std::uint64_t{0}};
  for (std::size_t i = 0; i < count; ++i) {
    append(all[0], dtype, random());
    append(all[1], dtype, some[random() % std::size(some)]);
    append(all[2], dtype, one);
    append(all[3], dtype, i);
    append(all[4], dtype, random() % 3 == 0 ? random() : 0);
  }
  for (const samples::Distribution& each : samples::of(dtype)) all.push_back(each.make(dtype, count, random));
  return all;
}

class Quantiles : public testing::TestWithParam<Dtype> {
 protected:
  samples::Random random_{samples::seed() + static_cast<std::uint64_t>(GetParam())};
};
INSTANTIATE_TEST_SUITE_P(Dtype, Quantiles, testing::ValuesIn(samples::all_dtypes()),
                         [](const auto& info) { return std::string(name(info.param)); });

// In one batch, so that a counter goes from one tensor to the next; alone and by several threads; beside digests.
TEST_P(Quantiles, AreThoseOfASort) {
  std::vector<Bytes> all;
  for (const std::size_t count : {0, 1, 2, 3, 99, 100, 101, 1000, 4097, 66'000}) {
    for (Bytes& each : tensors(GetParam(), count, random_)) all.push_back(std::move(each));
  }
  std::vector<Tensor> batch;
  std::vector<std::vector<Real>> truths;
  for (const Bytes& bytes : all) {
    batch.push_back(tensor_of(GetParam(), bytes));
    truths.push_back(sorted(GetParam(), bytes));
  }
  Categories with_digest = asked();
  with_digest.push_back(Category::kMd5);
  for (const Categories& categories : {asked(), with_digest}) {
    for (const unsigned threads : {1u, 3u}) {
      Meter meter({.threads = threads});
      const auto rows = meter.measure(batch, {.categories = categories, .on = On::kHost});
      ASSERT_TRUE(rows) << rows.error().message;
      for (std::size_t i = 0; i < all.size(); ++i) {
        hold(GetParam(), truths[i], (*rows)[i].statistics, "tensor " + std::to_string(i));
      }
    }
  }
}

// One that several threads share, and others beside it.
TEST_P(Quantiles, OfALargeTensorAmongSmallOnes) {
  const std::size_t count = (3 << 20) / size_bytes(GetParam()) + 17;
  Bytes large = samples::of(GetParam()).front().make(GetParam(), count, random_),
        small = tensors(GetParam(), 200, random_)[0];
  for (std::size_t i = 0; i < count; i += 1 + random_() % 9)
    std::memset(&large[i * size_bytes(GetParam())], 0, size_bytes(GetParam()));
  const Tensor batch[] = {tensor_of(GetParam(), small), tensor_of(GetParam(), large), tensor_of(GetParam(), large),
                          tensor_of(GetParam(), small)};
  const std::vector<Real> of_large = sorted(GetParam(), large), of_small = sorted(GetParam(), small);
  Meter meter({.threads = 3});
  for (int round = 0; round < 2; ++round) {
    const auto rows = meter.measure(batch, {.categories = asked(), .on = On::kHost});
    ASSERT_TRUE(rows) << rows.error().message;
    for (const int i : {1, 2}) hold(GetParam(), of_large, (*rows)[i].statistics, "large");
    for (const int i : {0, 3}) hold(GetParam(), of_small, (*rows)[i].statistics, "small");
  }
}

// Cut anywhere, folded, sent and merged in any order: the bytes and the values of the whole.
TEST_P(Quantiles, OfPartsAreThoseOfTheWhole) {
  Meter meter({.threads = 1});
  Categories more = asked();
  for (const Category each : {Category::kAvg, Category::kZeroCount, Category::kExponents, Category::kCrc32})
    more.push_back(each);
  const Request request{.categories = more, .on = On::kHost};
  for (const Bytes& bytes : tensors(GetParam(), 3000, random_)) {
    const auto whole = meter.fold(std::vector{tensor_of(GetParam(), bytes)}, request);
    ASSERT_TRUE(whole) << whole.error().message;
    std::vector<Bytes> sent;
    auto stream = meter.stream(GetParam(), request);
    ASSERT_TRUE(stream);
    const std::uint64_t elements = bytes.size() / size_bytes(GetParam());
    for (std::uint64_t first = 0; first < elements;) {
      const std::uint64_t size = std::min<std::uint64_t>(1 + random_() % 700, elements - first);
      Tensor part = tensor_of(GetParam(), bytes);
      part.offset_bytes = first * size_bytes(GetParam());
      part.element_count = size;
      auto folded = meter.fold({&part, 1}, request);
      ASSERT_TRUE(folded);
      ASSERT_TRUE(folded->front().move_to(first));
      sent.push_back(folded->front().serialize());
      ASSERT_TRUE(stream->append(std::span(bytes).subspan(part.offset_bytes, size * size_bytes(GetParam()))));
      first += size;
    }
    std::ranges::shuffle(sent, random_);
    Partial merged(GetParam(), request.precision, needs(more, request.precision));
    for (const Bytes& each : sent) {
      const auto part = Partial::parse(each);
      ASSERT_TRUE(part) << part.error().message;
      ASSERT_TRUE(merged.merge(*part));
    }
    EXPECT_EQ(whole->front().serialize(), merged.serialize());
    EXPECT_EQ(whole->front().bins(), merged.bins());
    const auto streamed = stream->finish_partial();
    ASSERT_TRUE(streamed) << streamed.error().message;
    EXPECT_EQ(whole->front().serialize(), streamed->serialize());
    std::vector<Value> values;
    for (const Category each : more) values.push_back(merged.finish(each));
    hold(GetParam(), sorted(GetParam(), bytes), {more, values}, "merged");
  }
}

TEST_P(Quantiles, OfStridedElementsAndOfRows) {
  const std::uint64_t element = size_bytes(GetParam());
  const Bytes bytes = tensors(GetParam(), 30 * 40 * 5, random_)[0];
  Meter meter;
  const auto step = static_cast<std::int64_t>(element);
  const Strides fortran{{30, 40, 5}, {step, 30 * step, 1200 * step}}, every_other{{3000}, {2 * step}};
  Tensor tensor = tensor_of(GetParam(), bytes);
  tensor.strides = &fortran;
  auto rows = meter.measure({&tensor, 1}, {.categories = asked()});
  ASSERT_TRUE(rows) << rows.error().message;
  hold(GetParam(), sorted(GetParam(), bytes), rows->front().statistics, "Fortran order");
  tensor.strides = &every_other;
  tensor.element_count = 3000;
  rows = meter.measure({&tensor, 1}, {.categories = asked()});
  ASSERT_TRUE(rows);
  Bytes others;
  for (std::size_t i = 0; i < 6000; i += 2)
    others.insert(others.end(), &bytes[i * element], &bytes[i * element] + element);
  hold(GetParam(), sorted(GetParam(), others), rows->front().statistics, "every other");

  tensor = tensor_of(GetParam(), bytes);
  for (const std::vector<std::int64_t>& axes : {std::vector<std::int64_t>{0}, {1}, {2}, {0, 2}}) {
    const By by{.shape = {30, 40, 5}, .axes = axes};
    const auto measured = meter.measure_by(tensor, by, {.categories = asked()});
    ASSERT_TRUE(measured) << measured.error().message;
    const auto folded = meter.fold_by(tensor, by, {.categories = asked()});
    ASSERT_TRUE(folded) << folded.error().message;
    std::map<std::vector<std::size_t>, Bytes> groups;
    for (std::size_t i = 0; i < 6000; ++i) {
      const std::size_t position[] = {i / 200, i / 5 % 40, i % 5};
      std::vector<std::size_t> kept;
      for (const std::int64_t axis : axes) kept.push_back(position[axis]);
      groups[kept].insert(groups[kept].end(), &bytes[i * element], &bytes[i * element] + element);
    }
    ASSERT_EQ(groups.size(), measured->size());
    std::size_t row = 0;
    for (const auto& [kept, group] : groups) {
      hold(GetParam(), sorted(GetParam(), group), (*measured)[row].statistics, "row " + std::to_string(row));
      std::vector<Value> values;
      for (const Category each : asked()) values.push_back((*folded)[row].finish(each));
      hold(GetParam(), sorted(GetParam(), group), {asked(), values}, "folded row " + std::to_string(row));
      ++row;
    }
  }
}

TEST_P(Quantiles, AreTheSameInLow) {
  const Bytes bytes = tensors(GetParam(), 5000, random_)[0];
  const Tensor tensor = tensor_of(GetParam(), bytes);
  const auto rows = Meter().measure({&tensor, 1}, {asked(), Precision::kLow, On::kHost});
  ASSERT_TRUE(rows) << rows.error().message;
  hold(GetParam(), sorted(GetParam(), bytes), rows->front().statistics, "low");
}

// How a device is held to the host: by its shape and by how it sees a tensor.
struct Way {
  const char* name;
  std::vector<std::pair<const char*, const char*>> environment;
};
const Way kWays[] = {
    {"slices", {{"TENSORSTAT_CL_SHAPE", "slice"}}},
    {"groups", {{"TENSORSTAT_CL_SHAPE", "group"}}},
    {"slices, through buffers",
     {{"TENSORSTAT_CL_SHAPE", "slice"}, {"TENSORSTAT_CL_POINTERS", "0"}, {"TENSORSTAT_CL_ZERO_COPY", "1"}}},
    {"groups, uploaded",
     {{"TENSORSTAT_CL_SHAPE", "group"}, {"TENSORSTAT_CL_POINTERS", "0"}, {"TENSORSTAT_CL_ZERO_COPY", "0"}}},
    {"groups without fp64", {{"TENSORSTAT_CL_SHAPE", "group"}, {"TENSORSTAT_CL_FP64", "0"}}}};

// Quantiles of many tensors at once, so that codes are written down of some and counted of others; and of a stream.
TEST_P(Quantiles, OnADeviceAreTheHosts) {
  if (std::getenv("TENSORSTAT_NO_DEVICE") != nullptr) GTEST_SKIP() << "no device";
  std::vector<Bytes> all;
  // Without optimisation the kernels take most of the time: in the quick test fewer elements, of several slices still.
  for (const std::size_t count : {0, 1, 3, 100, 1025, 17'000, 140'000}) {
    if (!samples::full() && count > 100'000) continue;
    for (Bytes& each : tensors(GetParam(), count, random_)) all.push_back(std::move(each));
  }
  all.push_back(samples::of(GetParam()).front().make(GetParam(), samples::full() ? 1'500'000 : 400'000, random_));
  std::vector<Tensor> batch;
  for (const Bytes& bytes : all) batch.push_back(tensor_of(GetParam(), bytes));
  const Categories median{quantile(50'000)};
  Categories more = asked();
  for (const Category each : {Category::kAvg, Category::kArgmax, Category::kCrc32, Category::kExponents})
    more.push_back(each);
  Meter host({.threads = 2});
  for (const Way& way : kWays) {
    const bool without_fp64 = way.environment.back().first == std::string("TENSORSTAT_CL_FP64");
    if (without_fp64 && (!is_float(GetParam()) || size_bytes(GetParam()) == 1)) continue;  // the same kernel
    // Each is some kernels to build: in the quick test float32 has all ways, and `low` in the two shapes; a dtype
    // that lists codes, a wide one and one that is unpacked have one request in the two shapes. Oclgrind runs every
    // dtype.
    const auto is = [&](std::initializer_list<Dtype> some) { return std::ranges::count(some, GetParam()) != 0; };
    const bool has_all = samples::full() || is({Dtype::kFloat32}), is_shape = &way < kWays + 2;
    if (!has_all && !(is_shape && is({Dtype::kInt8, Dtype::kFloat64, Dtype::kFloat8E8m0fnu}))) continue;
    for (const auto& [name, value] : way.environment) setenv(name, value, 1);
    Meter device({.budget_bytes = std::uint64_t{64} << 20});
    for (const Request& asked : {Request{more}, Request{median, Precision::kLow}}) {
      Request here = asked, there = asked;
      here.on = On::kHost;
      there.on = On::kDevice;
      const std::string what = std::string(way.name) + ", seed " + std::to_string(samples::seed());
      if (without_fp64 && asked.precision == Precision::kLow && GetParam() == Dtype::kFloat64) continue;
      if (asked.precision == Precision::kLow && !(samples::full() || (has_all && is_shape))) continue;
      const auto expected = host.fold(batch, here), partials = device.fold(batch, there);
      ASSERT_TRUE(expected) << expected.error().message;
      ASSERT_TRUE(partials) << what << ": " << partials.error().message;
      for (std::size_t i = 0; i < batch.size(); ++i) {
        ASSERT_EQ((*expected)[i].serialize(), (*partials)[i].serialize()) << what << ", tensor " << i;
      }
      const auto rows = device.measure(batch, there);
      ASSERT_TRUE(rows) << rows.error().message;
      for (const std::size_t i : {std::size_t{3}, batch.size() - 1}) {
        ASSERT_EQ("opencl", (*rows)[i].placement[0].engine);
        hold(GetParam(), sorted(GetParam(), all[i]), (*rows)[i].statistics, what);
      }
      auto stream = device.stream(GetParam(), there);
      ASSERT_TRUE(stream) << stream.error().message;
      const std::span<const std::byte> last = all.back();
      for (std::size_t offset = 0; offset < last.size();) {
        const std::size_t piece =
            std::min<std::size_t>(last.size() - offset, (1 + random_() % 300) * 1024 * size_bytes(GetParam()));
        ASSERT_TRUE(stream->append(last.subspan(offset, piece)));
        offset += piece;
      }
      const auto streamed = stream->finish_partial();
      ASSERT_TRUE(streamed) << what << ": " << streamed.error().message;
      ASSERT_EQ(expected->back().serialize(), streamed->serialize()) << what << ", a stream";
    }
    EXPECT_LE(device.device_memory().peak_bytes, std::uint64_t{64} << 20);
    for (const auto& [name, value] : way.environment) unsetenv(name);
  }
}

std::string words_of(const Bytes& bytes) {
  const auto parsed = Partial::parse(bytes);
  return parsed ? "" : parsed.error().message;
}

TEST(QuantilesOfPartials, ThatNoTensorLeftAreRefused) {
  const float elements[] = {1, -2, 0, 4, 4, std::numeric_limits<float>::quiet_NaN()};
  const Tensor tensor{.dtype = Dtype::kFloat32, .element_count = 6, .address = elements};
  const auto sound = Meter().fold({&tensor, 1}, {.categories = {quantile(50'000)}});
  ASSERT_TRUE(sound) << sound.error().message;
  ASSERT_EQ("", words_of(sound->front().serialize()));
  const auto with = [&](std::vector<BinCount> bins) {
    Partial partial = sound->front();
    partial.bins() = std::move(bins);
    return words_of(partial.serialize());
  };
  const std::vector<BinCount> bins = sound->front().bins();
  ASSERT_EQ(4u, bins.size());
  const auto changed = [&](std::size_t index, BinCount bin) {
    std::vector<BinCount> other = bins;
    other[index] = bin;
    return with(other);
  };
  const std::string counts = "not a partial: its counts contradict each other",
                    order = "not a partial: its bins are out of order";
  const std::string extrema = "not a partial: its bins and its extrema contradict each other";
  EXPECT_EQ(counts, with({}));
  EXPECT_EQ(counts, changed(0, {bins[0].place, 0}));
  EXPECT_EQ(counts, changed(0, {bins[0].place, 2}));
  EXPECT_EQ(counts, changed(0, {bins[0].place, ~std::uint64_t{0}}));
  EXPECT_EQ(order, changed(1, bins[0]));
  EXPECT_EQ(order, changed(1, {bins[3].place, 1}));
  EXPECT_EQ(extrema, changed(0, {bins[0].place - 1, 1}));
  EXPECT_EQ(extrema, changed(3, {bins[3].place + 1, 2}));
  EXPECT_EQ("not a partial: a bin is of no element of its dtype", changed(3, {~std::uint32_t{0}, 2}));
  Bytes bytes = sound->front().serialize();
  bytes.pop_back();
  EXPECT_EQ("not a partial: its length is not what its header says", words_of(bytes));
  // A maximum of int8 that is 2^32 too high has the place of one that is not, and would lose it once merged.
  Partial narrow(Dtype::kInt8, Precision::kHigh, kExtrema | kQuantiles);
  narrow.words()[PARTIAL_COUNT] = 1;
  narrow.words()[PARTIAL_HIGHEST] = (std::int64_t{1} << 32) + 5;
  narrow.words()[PARTIAL_LOWEST] = ~std::int64_t{5};
  narrow.bins() = {{128 + 5, 1}};
  EXPECT_EQ(extrema, words_of(narrow.serialize()));
  narrow.words()[PARTIAL_HIGHEST] = 5;
  EXPECT_EQ("", words_of(narrow.serialize()));
  narrow.bins() = {};
  narrow.words()[PARTIAL_COUNT] = 0;
  EXPECT_EQ(extrema, words_of(narrow.serialize()));
  Partial without_extrema(Dtype::kFloat32, Precision::kHigh, kQuantiles);
  without_extrema.words()[PARTIAL_COUNT] = 1;
  without_extrema.bins() = {{0xff81, 1}};
  EXPECT_EQ("not a partial: a bin is of no element of its dtype", words_of(without_extrema.serialize()));
  without_extrema.bins() = {{0xff80, 1}};
  EXPECT_EQ("", words_of(without_extrema.serialize()));
  EXPECT_EQ(Value(), without_extrema.finish(quantile(50'000)));
}

// More of one value than 32 bits count, in one thread: every element is the same byte.
TEST(QuantilesOfMoreThan32Bits, AreCounted) {
  const std::uint8_t element = 200;
  constexpr std::uint64_t kCount = (std::uint64_t{1} << 32) + 9;
  const Strides strides{{kCount}, {0}};
  const Tensor tensor{.dtype = Dtype::kUint8, .element_count = kCount, .address = &element, .strides = &strides};
  const auto folded = Meter({.threads = 1}).fold({&tensor, 1}, {.categories = {quantile(50'000)}, .on = On::kHost});
  ASSERT_TRUE(folded) << folded.error().message;
  EXPECT_EQ((std::vector<BinCount>{{200, kCount}}), folded->front().bins());
  EXPECT_EQ(Value(std::uint64_t{200}), folded->front().finish(quantile(50'000)));
}

TEST(QuantilesOfManyRows, AreMeasuredAndNotKept) {
  const Bytes bytes((std::size_t{1} << 20) * 80);
  const By by{.shape = {std::uint64_t{1} << 20, 80}, .axes = {0}};
  const Tensor tensor{.dtype = Dtype::kUint8, .element_count = bytes.size(), .address = bytes.data()};
  const Request request{.categories = {quantile(50'000)}};
  const auto folded = Meter().fold_by(tensor, by, request);
  ASSERT_FALSE(folded);
  EXPECT_EQ(Code::kInvalid, folded.error().code);
  EXPECT_EQ(
      "partials of 1048576 rows may keep 1280 bytes each for quantiles, and more than 1073741824 together: measure "
      "them, "
      "which keeps none, or fold fewer rows",
      folded.error().message);
  const auto measured = Meter().measure_by(tensor, by, request);
  ASSERT_TRUE(measured) << measured.error().message;
  EXPECT_EQ(Value(std::uint64_t{0}), (*measured)[77].statistics.values[0]);
}

TEST(QuantilesByName, AreAnyNumberFrom0To100) {
  const auto name_of = [](const char* typed) {
    const auto category = category_from(typed);
    return category ? std::string(name(*category)) + " " + std::string(column(*category)) : "none";
  };
  EXPECT_EQ("p50 P50", name_of("p50"));
  EXPECT_EQ("p0 P0", name_of("p0"));
  EXPECT_EQ("p100 P100", name_of("p100.000"));
  EXPECT_EQ("p99.9 P99.9", name_of("p99.90"));
  EXPECT_EQ("p99.999 P99.999", name_of("p99.999"));
  EXPECT_EQ("p0.001 P0.001", name_of("p0.001"));
  EXPECT_EQ("p12.05 P12.05", name_of("p12.05"));
  for (const char* typed : {"p", "p.5", "p5.", "p-1", "p+1", "p050", "p00", "p100.001", "p101", "p1000", "p99.9999",
                            "P50", "p50 ", "p5e1", "p 50", "p4294967346", "p1.-1"}) {
    EXPECT_EQ("none", name_of(typed)) << typed;
  }
  const auto both = categories_from("p50,max,p50.0,p99.9");
  ASSERT_TRUE(both);
  EXPECT_EQ((Categories{quantile(50'000), Category::kMax, quantile(99'900)}), *both);
  EXPECT_EQ(quantile(99'900), category_of_column("P99.9"));
  EXPECT_EQ(std::nullopt, category_of_column("P99.90"));
  EXPECT_EQ(Category::kMax, category_of_column("Max Value"));
  for (std::uint32_t all = 0; all <= kMostThousandths; all += 37)
    EXPECT_EQ(quantile(all), category_from(name(quantile(all))));
}

}  // namespace quantiles_test
}  // namespace tensorstat
