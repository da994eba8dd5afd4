// Complex dtypes: each statistic that they have is the exact value, rounded once, for every count, kind of data, thread
// count and instruction set, over any cut, in strides and read back from a device; and what they do not have is said.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <tensorstat/dlpack.hpp>
#include <tensorstat/meter.hpp>
#include <utility>

#include "kernels-cl/driver/cl.hpp"
#include "kernels-cl/driver/device.hpp"
#include "stats/core/engine/needs.hpp"
#include "tests/support/dl_tensor.hpp"
#include "tests/support/engines.hpp"
#include "tests/support/oracle.hpp"
#include "tests/support/samples.hpp"

namespace tensorstat {
namespace complex_test {

using Bytes = std::vector<std::byte>;

const Categories kHas = *categories_from(
    "count,nan-count,zero-count,l2norm,rms,sparsity,finite-count,first-nan-index,"
    "first-inf-index,first-bad-index,finite-l2norm,crc32,xor64");

class Complex : public testing::TestWithParam<Dtype> {
 protected:
  void SetUp() override { expect_forced_isa_runs(); }

  Dtype part() const { return GetParam() == Dtype::kComplex64 ? Dtype::kFloat32 : Dtype::kFloat64; }

  // Both parts of each element.
  std::vector<double> parts(std::span<const std::byte> bytes) const {
    const std::size_t each = size_bytes(part());
    std::vector<double> numbers;
    for (std::size_t offset = 0; offset < bytes.size(); offset += each) {
      if (each == 4) {
        float number;
        std::memcpy(&number, &bytes[offset], each);
        numbers.push_back(number);
      } else {
        std::memcpy(&numbers.emplace_back(), &bytes[offset], each);
      }
    }
    return numbers;
  }

  // By the definition of each statistic; sums are the rational oracle's, of the parts of finite elements.
  std::map<Category, Value> truth(const Bytes& bytes, oracle::Ieee format = oracle::kBinary64) const {
    const std::vector<double> all = parts(bytes);
    const std::uint64_t count = all.size() / 2;
    std::uint64_t nans = 0, infs = 0, zeros = 0;
    Value first_nan, first_inf, first_bad;
    const auto note = [](Value& first, std::uint64_t i) {
      if (std::holds_alternative<std::monostate>(first)) first = i;
    };
    Bytes finite = bytes;
    const std::size_t element = size_bytes(GetParam());
    for (std::uint64_t i = 0; i < count; ++i) {
      const double real = all[2 * i], imaginary = all[2 * i + 1];
      const bool is_nan = std::isnan(real) || std::isnan(imaginary);
      const bool is_inf = !is_nan && (std::isinf(real) || std::isinf(imaginary));
      nans += is_nan;
      infs += is_inf;
      zeros += real == 0 && imaginary == 0;
      if (is_nan) note(first_nan, i);
      if (is_inf) note(first_inf, i);
      if (!is_nan && !is_inf) continue;
      note(first_bad, i);
      std::fill_n(finite.begin() + static_cast<std::ptrdiff_t>(i * element), element, std::byte{});
    }
    const mpq_class squares = oracle::facts(part(), finite).squares;
    const double root = oracle::nearest_root(squares, format);
    const auto unless_bad = [&](double number) { return nans != 0 ? NAN : infs != 0 ? INFINITY : number; };
    const auto of_bytes = oracle::answers(oracle::facts(part(), bytes));
    const auto of_count = [&](const auto& make) { return count == 0 ? Value() : Value(make()); };
    return {{Category::kCount, count},
            {Category::kNanCount, nans},
            {Category::kZeroCount, zeros},
            {Category::kFiniteCount, count - nans - infs},
            {Category::kFirstNanIndex, first_nan},
            {Category::kFirstInfIndex, first_inf},
            {Category::kFirstBadIndex, first_bad},
            {Category::kL2norm, unless_bad(root)},
            {Category::kFiniteL2norm, root},
            {Category::kRms,
             of_count([&] { return unless_bad(oracle::nearest_root(squares / mpz_class(count), format)); })},
            {Category::kSparsity,
             of_count([&] { return oracle::nearest(mpq_class(mpz_class(zeros), mpz_class(count)), format); })},
            {Category::kCrc32, of_bytes[static_cast<std::size_t>(Category::kCrc32)]},
            {Category::kXor64, of_bytes[static_cast<std::size_t>(Category::kXor64)]}};
  }

  // Parts of any bits, of usual sizes, among zeros, and all finite but one.
  enum class Kind { kAnyBits, kUsual, kZeros, kOneBad };
  static constexpr Kind kKinds[] = {Kind::kAnyBits, Kind::kUsual, Kind::kZeros, Kind::kOneBad};
  Bytes make(Kind kind, std::uint64_t count) {
    std::vector<float> singles;
    std::vector<double> doubles;
    std::normal_distribution<double> normal;
    for (std::uint64_t i = 0; i < 2 * count; ++i) {
      const std::uint64_t bits = random_();
      double number = normal(random_);
      if (kind == Kind::kZeros && bits % 4 != 0) number = bits % 8 == 1 ? -0.0 : 0.0;
      singles.push_back(kind == Kind::kAnyBits ? std::bit_cast<float>(static_cast<std::uint32_t>(bits))
                                               : static_cast<float>(number));
      doubles.push_back(kind == Kind::kAnyBits ? std::bit_cast<double>(bits) : number);
    }
    if (kind == Kind::kOneBad && count != 0) {
      const double bad[] = {NAN, INFINITY, -INFINITY};
      const std::uint64_t index = random_() % (2 * count);
      doubles[index] = bad[random_() % 3];
      singles[index] = static_cast<float>(doubles[index]);
    }
    const auto bytes =
        part() == Dtype::kFloat32 ? std::as_bytes(std::span(singles)) : std::as_bytes(std::span(doubles));
    return {bytes.begin(), bytes.end()};
  }

  Tensor tensor_of(const void* address, std::uint64_t bytes) const {
    return {.dtype = GetParam(), .element_count = bytes / size_bytes(GetParam()), .address = address};
  }

  static void expect_same(const std::map<Category, Value>& truth, const auto& value_of, const std::string& what) {
    for (const auto& [category, expected] : truth) {
      const Value value = value_of(category);
      EXPECT_TRUE(oracle::same(expected, value))
          << what << ", seed " << samples::seed() << ": " << name(category) << " is " << oracle::shown(value)
          << ", and should be " << oracle::shown(expected);
    }
  }

  samples::Random random_{samples::seed() + static_cast<std::uint64_t>(GetParam())};
};
INSTANTIATE_TEST_SUITE_P(Dtype, Complex, testing::Values(Dtype::kComplex64, Dtype::kComplex128),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST_P(Complex, IsExactAtEveryCount) {
  std::vector<std::uint64_t> counts = {1023, 1025, 4097, 65'537, 300'001};
  for (std::uint64_t count = 0; count < 140; ++count) counts.push_back(count);
  std::size_t cases = 0;
  for (const unsigned threads : {1u, 3u}) {
    Meter meter({.threads = threads});
    for (const std::uint64_t count : counts) {
      for (const Kind kind : kKinds) {
        const Bytes bytes = make(kind, count);
        const samples::Misaligned placed(bytes, random_() % 16);
        const Tensor tensor = tensor_of(placed.data(), bytes.size());
        const std::string what =
            "kind " + std::to_string(static_cast<int>(kind)) + ", " + std::to_string(count) + " elements";
        const auto result = meter.measure({&tensor, 1}, {.categories = kHas, .on = On::kHost});
        ASSERT_TRUE(result) << result.error().message;
        expect_same(
            truth(bytes), [&](Category category) { return *result->front().statistics.find(category); }, what);
        const auto folded = meter.fold({&tensor, 1}, {.categories = kHas, .on = On::kHost});
        ASSERT_TRUE(folded) << folded.error().message;
        const Category reals[] = {Category::kL2norm, Category::kRms, Category::kFiniteL2norm};
        const auto to_binary32 = truth(bytes, oracle::kBinary32);
        for (const Category category : reals) {
          EXPECT_TRUE(oracle::same(to_binary32.at(category), folded->front().finish_binary32(category))) << what;
        }
        ++cases;
      }
    }
  }
  std::printf("%zu cases\n", cases);
}

TEST_P(Complex, MergesOverAnyCut) {
  Meter meter({.threads = 2});
  const Request request{.categories = kHas, .on = On::kHost};
  for (int round = 0; round < 40; ++round) {
    const Bytes bytes = make(kKinds[round % 4], 3001);
    const auto expected = truth(bytes);
    const std::size_t cut = random_() % 3002 * size_bytes(GetParam());
    const Tensor parts[] = {tensor_of(bytes.data(), cut), tensor_of(bytes.data() + cut, bytes.size() - cut)};
    auto partials = meter.fold(parts, request);
    ASSERT_TRUE(partials) << partials.error().message;
    ASSERT_TRUE((*partials)[1].move_to(parts[0].element_count));
    ASSERT_TRUE((*partials)[0].merge((*partials)[1]));
    const auto read = Partial::parse((*partials)[0].serialize());
    ASSERT_TRUE(read) << read.error().message;
    for (const Partial* each : {&std::as_const((*partials)[0]), &*read}) {
      expect_same(
          expected, [&](Category category) { return each->finish(category); }, "cut at " + std::to_string(cut));
    }
    auto stream = meter.stream(GetParam(), request);
    ASSERT_TRUE(stream) << stream.error().message;
    ASSERT_TRUE(stream->append(std::span(bytes).first(cut)));
    ASSERT_TRUE(stream->append(std::span(bytes).subspan(cut)));
    const auto streamed = stream->finish();
    ASSERT_TRUE(streamed) << streamed.error().message;
    expect_same(
        expected, [&](Category category) { return *streamed->front().statistics.find(category); }, "streamed");
  }
}

TEST_P(Complex, MayLieInStrides) {
  Meter meter({.threads = 1});
  const std::uint64_t rows = 37, columns = 53;
  const auto element = static_cast<std::int64_t>(size_bytes(GetParam()));
  for (const Kind kind : kKinds) {
    const Bytes bytes = make(kind, rows * columns);
    Bytes turned(bytes.size());
    for (std::uint64_t i = 0; i < rows; ++i) {
      for (std::uint64_t k = 0; k < columns; ++k) {
        std::memcpy(&turned[(k * rows + i) * size_bytes(GetParam())],
                    &bytes[(i * columns + k) * size_bytes(GetParam())], size_bytes(GetParam()));
      }
    }
    const Strides strides{{columns, rows}, {element, element * static_cast<std::int64_t>(columns)}};
    Tensor tensor = tensor_of(bytes.data(), bytes.size());
    tensor.strides = &strides;
    const auto result = meter.measure({&tensor, 1}, {.categories = kHas});
    ASSERT_TRUE(result) << result.error().message;
    expect_same(
        truth(turned), [&](Category category) { return *result->front().statistics.find(category); }, "turned");
  }
}

TEST_P(Complex, HasDigestsOfItsBytes) {
  Meter meter({.threads = 2});
  const Bytes bytes = make(Kind::kUsual, 30'001);
  const Tensor tensors[] = {tensor_of(bytes.data(), bytes.size()),
                            {.dtype = Dtype::kUint8, .element_count = bytes.size(), .address = bytes.data()}};
  Request request{.categories = {Category::kMd5, Category::kL2norm}};
  const auto result = meter.measure(tensors, request);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ((*result)[0].statistics.values[0], (*result)[1].statistics.values[0]);
  EXPECT_TRUE(oracle::same(truth(bytes).at(Category::kL2norm), (*result)[0].statistics.values[1]));
}

// Quantiles, casts at a scale and exponents among them, beside a tensor that has all.
TEST_P(Complex, HasNoneOfTheOthers) {
  Meter meter({.threads = 1});
  Bytes bytes;  // whose statistics all are something
  for (const Kind kind : {Kind::kUsual, Kind::kZeros, Kind::kAnyBits}) {
    const Bytes some = make(kind, 1000);
    bytes.insert(bytes.end(), some.begin(), some.end());
  }
  const float single[] = {INFINITY, 1, NAN, 1};
  const double twice[] = {INFINITY, 1, NAN, 1};
  std::memcpy(bytes.data(), part() == Dtype::kFloat32 ? static_cast<const void*>(single) : twice,
              2 * size_bytes(GetParam()));
  const Tensor tensors[] = {tensor_of(bytes.data(), bytes.size()),
                            {.dtype = part(), .element_count = 6000, .address = bytes.data()}};
  Request request{.categories = every_category(), .on = On::kHost, .cast_scale = 3};
  const Categories quantiles = usual_quantiles();
  request.categories.insert(request.categories.end(), quantiles.begin(), quantiles.end());
  for (const Precision precision : {Precision::kHigh, Precision::kLow}) {  // it has no `low` of its own
    request.precision = precision;
    const auto result = meter.measure(tensors, request);
    ASSERT_TRUE(result) << result.error().message;
    const auto expected = truth(bytes);
    expect_same(
        expected, [&](Category category) { return *(*result)[0].statistics.find(category); }, "all");
    for (const Category category : request.categories) {
      const bool is_there = expected.contains(category) || is_digest(category);
      EXPECT_EQ(is_there, has(GetParam(), category)) << name(category);
      const Value& value = *(*result)[0].statistics.find(category);
      EXPECT_EQ(is_there, !std::holds_alternative<std::monostate>(value)) << name(category);
      EXPECT_FALSE(std::holds_alternative<std::monostate>(*(*result)[1].statistics.find(category))) << name(category);
    }
    std::erase_if(request.categories, is_digest);
    auto folded = meter.fold(tensors, request);
    ASSERT_TRUE(folded) << folded.error().message;
    for (const Category category : request.categories) {
      const bool is_there = !std::holds_alternative<std::monostate>((*folded)[0].finish(category));
      EXPECT_EQ(expected.contains(category), is_there) << name(category);
    }
    EXPECT_TRUE((*folded)[0].bins().empty());
  }
}

void expect_refused(const auto& result, const std::string& part) {
  ASSERT_FALSE(result);
  EXPECT_EQ(Code::kUnsupported, result.error().code);
  EXPECT_NE(result.error().message.find(part), std::string::npos) << result.error().message;
}

TEST_P(Complex, SaysWhatItDoesNotHave) {
  Meter meter({.threads = 1});
  const Bytes bytes = make(Kind::kUsual, 8);
  const Tensor tensor = tensor_of(bytes.data(), bytes.size());
  const std::string dtype(name(GetParam()));
  const Request order{.categories = {Category::kMax, Category::kArgmin, quantile(50'000)}};
  expect_refused(meter.measure({&tensor, 1}, order),
                 "tensor 0: a " + dtype + " tensor has no max, argmin, p50; it has count, ");
  expect_refused(meter.stream(GetParam(), order), "a " + dtype + " tensor has no max");
  for (const std::int64_t axis : {0, 1}) {
    const By by{.shape = {2, 4}, .axes = {axis}};
    expect_refused(meter.measure_by(tensor, by, order), "a " + dtype + " tensor has no max");
  }
  const TensorPair pair{tensor, tensor};
  expect_refused(meter.compare({&pair, 1}, {}),
                 dtype +
                     " cannot be compared with another tensor: name its parts as another "
                     "dimension of 2, of " +
                     std::string(name(part())));
  auto partial = meter.fold({&tensor, 1}, {.categories = kHas});
  ASSERT_TRUE(partial);
  // A float32's extrema, said to be a complex tensor's.
  Bytes written = Partial(Dtype::kFloat32, Precision::kHigh, kExtrema).serialize();
  written[8] = static_cast<std::byte>(GetParam());
  const auto read = Partial::parse(written);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("it keeps what its dtype does not have"), std::string::npos)
      << read.error().message;
}

// In place or uploaded, in the shape and with the fp64 that TENSORSTAT_CL_* say: every count of a few elements, several
// vectors, several slices.
TEST_P(Complex, IsExactOnADevice) {
  if (!expects_device() || !samples::is_built_on_a_device(GetParam())) GTEST_SKIP() << "no device wanted";
  std::vector<std::uint64_t> counts = {255, 256, 257, 1023, 4097, 65'537, 700'001};
  for (std::uint64_t count = 0; count < 70; ++count) counts.push_back(count);
  const std::size_t element = size_bytes(GetParam());
  std::vector<Bytes> all;
  std::vector<std::unique_ptr<samples::Misaligned>> placed;
  std::vector<Tensor> tensors;
  for (const std::uint64_t count : counts) {
    for (const Kind kind : kKinds) {
      all.push_back(make(kind, count));
      placed.push_back(std::make_unique<samples::Misaligned>(all.back(), random_() % 4 * element));
      tensors.push_back(tensor_of(placed.back()->data(), all.back().size()));
    }
  }
  Meter meter({.threads = 1});
  const Request request{.categories = kHas, .on = On::kDevice};
  const auto result = meter.measure(tensors, request);
  ASSERT_TRUE(result) << result.error().message;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::string what =
        "kind " + std::to_string(i % 4) + ", " + std::to_string(tensors[i].element_count) + " elements";
    expect_same(
        truth(all[i]), [&](Category category) { return *(*result)[i].statistics.find(category); }, what);
    EXPECT_NE("host", (*result)[i].placement[0].engine) << what;
  }
  std::printf("%zu cases\n", tensors.size());
  auto stream = meter.stream(GetParam(), request);
  ASSERT_TRUE(stream) << stream.error().message;
  const Bytes bytes = make(Kind::kAnyBits, 5003);
  ASSERT_TRUE(stream->append(std::span(bytes).first(1001 * element)));
  ASSERT_TRUE(stream->append(std::span(bytes).subspan(1001 * element)));
  const auto streamed = stream->finish();
  ASSERT_TRUE(streamed) << streamed.error().message;
  expect_same(
      truth(bytes), [&](Category category) { return *streamed->front().statistics.find(category); }, "streamed");
}

// What begins inside an element's alignment is read back.
TEST_P(Complex, IsExactInADevicesMemory) {
  if (!expects_device() || !samples::is_built_on_a_device(GetParam())) GTEST_SKIP() << "no device wanted";
  auto device = cl_engine::choose_device({});
  ASSERT_TRUE(device) << device.error().message;
  const cl::Context context(device->device);
  const cl::CommandQueue queue(context, device->device);
  const std::size_t element = size_bytes(GetParam());
  Bytes bytes = make(Kind::kOneBad, 150'001);
  Meter meter({.queue = queue()});
  for (const std::size_t offset : {std::size_t{0}, element, element / 2}) {
    Bytes in_memory(offset + bytes.size());
    std::ranges::copy(bytes, in_memory.begin() + static_cast<std::ptrdiff_t>(offset));
    const cl::Buffer buffer(context, CL_MEM_COPY_HOST_PTR, in_memory.size(), in_memory.data());
    Tensor tensor = tensor_of(buffer(), bytes.size());
    tensor.where = Where::kClBuffer;
    tensor.offset_bytes = offset;
    const auto result = meter.measure({&tensor, 1}, {.categories = kHas});
    ASSERT_TRUE(result) << result.error().message;
    const std::string what = "at byte " + std::to_string(offset);
    expect_same(
        truth(bytes), [&](Category category) { return *result->front().statistics.find(category); }, what);
    EXPECT_EQ(offset == element / 2, result->front().placement[0].engine == "host") << what;
  }
}

TEST_P(Complex, ComesThroughDlpack) {
  const std::byte bytes[64] = {};
  std::int64_t shape[] = {2};
  const test::DlTensor from{bytes, 1,     0,       1, 5, static_cast<std::uint8_t>(size_bytes(GetParam()) * 8),
                            1,     shape, nullptr, 0};
  Strides strides;
  const auto tensor = tensor_from_dlpack(&from, strides);
  ASSERT_TRUE(tensor) << tensor.error().message;
  EXPECT_EQ(GetParam(), tensor->dtype);
  EXPECT_EQ(2u, tensor->element_count);
}

}  // namespace complex_test
}  // namespace tensorstat
