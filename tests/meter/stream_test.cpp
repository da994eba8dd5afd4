// A stream ends once, never returns values for a part of its data, and may outlive its Meter.
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <tensorstat/meter.hpp>
#include <vector>

#include "tests/support/samples.hpp"

namespace tensorstat {
namespace stream_test {

const Categories kCategories = {Category::kCount, Category::kAvg, Category::kL2norm, Category::kMd5};

Status status_of(Status status) { return status; }
template <typename T>
Status status_of(const Result<T>& result) {
  return result ? Status() : Status(result.error());
}

std::span<const std::byte> bytes_of(const std::vector<float>& values) { return std::as_bytes(std::span(values)); }

TEST(Stream, FinishesOnce) {
  Meter meter;
  const std::vector<float> values{1, 2, 6};
  for (const bool partial_first : {false, true}) {
    auto stream = meter.stream(Dtype::kFloat32, {.categories = {Category::kAvg}});
    ASSERT_TRUE(stream);
    ASSERT_TRUE(stream->append(bytes_of(values)));
    ASSERT_TRUE(partial_first ? bool(stream->finish_partial()) : bool(stream->finish()));
    for (const Status& late : {status_of(stream->finish()), status_of(stream->finish_partial()),
                               status_of(stream->append(bytes_of(values)))}) {
      ASSERT_FALSE(late);
      EXPECT_EQ(late.error().code, Code::kInvalid);
      EXPECT_EQ(late.error().message, "the stream has been finished");
    }
  }
}

// Only some of the piece may have been folded, so its values would not be the tensor's.
TEST(Stream, EndsWithAPieceThatFailed) {
  const std::vector<float> values(1 << 20, 1.5f);
  int calls = 0;
  Meter meter({.executor = [&](std::size_t count, const std::function<void(std::size_t)>& work) {
    if (++calls == 2) throw std::runtime_error("no threads to lend");
    for (std::size_t i = 0; i < count; ++i) work(i);
  }});
  auto stream = meter.stream(Dtype::kFloat32, {.categories = {Category::kAvg}, .on = On::kHost});
  ASSERT_TRUE(stream);
  ASSERT_TRUE(stream->append(bytes_of(values)));
  const Status failed = stream->append(bytes_of(values));
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().message.find("no threads to lend"), std::string::npos) << failed.error().message;
  for (const Status& late : {status_of(stream->append(bytes_of(values))), status_of(stream->finish()),
                             status_of(stream->finish_partial())}) {
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().message, failed.error().message);
  }
}

TEST(Stream, OfLowIsCutBetweenTiles) {
  samples::Random random(samples::seed());
  for (const Dtype dtype : {Dtype::kFloat16, Dtype::kFloat32, Dtype::kInt16}) {
    const auto bytes = samples::of(dtype)[0].make(dtype, 4096, random);
    const Request low{.categories = {Category::kAvg, Category::kL2norm}, .precision = Precision::kLow, .on = On::kHost};
    auto stream = Meter().stream(dtype, low);
    ASSERT_TRUE(stream);
    const auto piece = [&](std::size_t first, std::size_t count) {
      return stream->append(std::span(bytes).subspan(first * size_bytes(dtype), count * size_bytes(dtype)));
    };
    ASSERT_TRUE(piece(0, 2048));
    ASSERT_TRUE(piece(2048, 1000));
    ASSERT_TRUE(piece(3048, 0)) << "nothing may come at any time";
    const Status uneven = piece(3048, 1048);
    if (!is_float(dtype)) {
      EXPECT_TRUE(uneven) << "integers have no tiles";
      continue;
    }
    ASSERT_FALSE(uneven);
    EXPECT_EQ(uneven.error().code, Code::kInvalid);
    EXPECT_NE(uneven.error().message.find("multiple of 1024"), std::string::npos) << uneven.error().message;
    const auto finished = stream->finish();
    ASSERT_TRUE(finished) << "a refused piece changes nothing";
    const Tensor taken{.dtype = dtype, .element_count = 3048, .address = bytes.data()};
    const auto whole = Meter().measure({&taken, 1}, low);
    ASSERT_TRUE(whole);
    EXPECT_EQ(Statistics(whole->front().statistics).values, Statistics(finished->front().statistics).values);
  }
}

TEST(Stream, OutlivesItsMeter) {
  const std::vector<float> values(1 << 20, 1.5f);
  auto meter = std::make_unique<Meter>(MeterOptions{.threads = 2});
  auto stream = meter->stream(Dtype::kFloat32, {.categories = kCategories});
  ASSERT_TRUE(stream);
  ASSERT_TRUE(stream->append(bytes_of(values)));
  meter.reset();
  ASSERT_TRUE(stream->append(bytes_of(values)));
  const auto finished = stream->finish();
  ASSERT_TRUE(finished);
  EXPECT_EQ(finished->front().statistics.values[0], Value(std::uint64_t{2 << 20}));
  EXPECT_EQ(finished->front().statistics.values[1], Value(1.5));
}

}  // namespace stream_test
}  // namespace tensorstat
