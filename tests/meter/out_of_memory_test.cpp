// Any allocation may fail, once or from then on. The call then returns its correct values or an error. Nothing is
// thrown out of the library, and the next call works.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <tensorstat/meter.hpp>
#include <vector>

#include "stats/core/engine/needs.hpp"
#include "tests/support/held_without_memory.hpp"

namespace tensorstat {
namespace out_of_memory_test {

const std::vector<float> kSmall(1000, 1.5f), kLarge(3 << 20, 1.5f);

Tensor of(const std::vector<float>& data) {
  return {.dtype = Dtype::kFloat32, .element_count = data.size(), .address = data.data()};
}

// Whether the value of the first requested category, avg or p50, is correct; or the error.
Result<bool> right(const Result<Measurements>& result) {
  if (!result) return result.error();
  for (const Measurement& each : *result) {
    if (each.statistics.values[0] != Value(1.5)) return false;
  }
  return true;
}

const Categories kMedian{quantile(50'000)}, kAvg{Category::kAvg},
    kAll{Category::kAvg, Category::kL2norm, Category::kMax, Category::kMd5, Category::kHash};

Result<bool> measured(unsigned threads, const std::vector<Tensor>& tensors, const Request& request) {
  return right(Meter({.threads = threads}).measure(tensors, request));
}

Result<bool> streamed(const Request& request, bool partial) {
  Meter meter({.threads = 2});
  auto stream = meter.stream(Dtype::kFloat32, request);
  if (!stream) return stream.error();
  for (int i = 0; i < 2; ++i) {
    if (Status status = stream->append(std::as_bytes(std::span(kLarge))); !status) return status.error();
  }
  if (!partial) return right(stream->finish());
  const auto finished = stream->finish_partial();
  if (!finished) return finished.error();
  return finished->finish(Category::kAvg) == Value(1.5);
}

class OutOfMemory : public testing::Test {
 protected:
  // No driver: its behaviour without memory is not tested.
  static void SetUpTestSuite() { setenv("OCL_ICD_VENDORS", "/nonexistent", 1); }

  const std::vector<Tensor> small_ = std::vector<Tensor>(40, of(kSmall)), large_ = {of(kLarge), of(kSmall), of(kLarge)};
};

TEST_F(OutOfMemory, OfAMeasurement) {
  const Request avg{kAvg, Precision::kHigh, On::kHost}, auto_avg{kAvg}, all{kAll, Precision::kHigh, On::kHost};
  hold("one thread", [&] { return measured(1, small_, avg); });
  hold("threads", [&] { return measured(3, large_, avg); });
  hold("a search for a device", [&] { return measured(2, large_, auto_avg); });
  hold("digests", [&] { return measured(2, small_, all); });
  const Request median{kMedian, Precision::kHigh, On::kHost};
  hold("quantiles, one thread", [&] { return measured(1, small_, median); });
  hold("quantiles, threads", [&] { return measured(3, large_, median); });
}

TEST_F(OutOfMemory, OfAFold) {
  const Request request{kAvg, Precision::kHigh, On::kHost};
  hold("fold", [&]() -> Result<bool> {
    const auto partials = Meter({.threads = 2}).fold(large_, request);
    if (!partials) return partials.error();
    return partials->front().finish(Category::kAvg) == Value(1.5);
  });
  const Request median{kMedian, Precision::kHigh, On::kHost};
  hold("quantiles", [&]() -> Result<bool> {
    auto partials = Meter({.threads = 2}).fold(large_, median);
    if (!partials) return partials.error();
    const auto sent = partials->back().serialize();
    if (sent.empty()) return out_of_memory();
    const auto read = Partial::parse(sent);
    if (!read) return read.error();
    if (const Status merged = partials->front().merge(*read); !merged) return merged.error();
    return partials->front().finish(kMedian.front()) == Value(1.5);
  });
}

TEST_F(OutOfMemory, OfAStream) {
  const Request avg{kAvg, Precision::kHigh, On::kHost}, auto_avg{kAvg}, all{kAll, Precision::kHigh, On::kHost};
  hold("values", [&] { return streamed(avg, false); });
  hold("digests", [&] { return streamed(all, false); });
  hold("a partial", [&] { return streamed(auto_avg, true); });
}

TEST_F(OutOfMemory, OfWhatIsRefused) {
  Tensor bad = of(kSmall);
  bad.address = nullptr;
  std::vector<std::byte> room(8);
  const Request avg{kAvg}, none;
  const Shape huge{1ull << 62, 4};
  const std::function<Code()> refused[] = {
      [&] {
        return Meter().measure({&bad, 1}, avg).error().code;
      },
      [&] {
        return Meter().fold({&bad, 1}, avg).error().code;
      },
      [&] { return Meter().read(bad, 0, room).error().code; },
      [&] { return Meter().stream(Dtype::kFloat32, none).error().code; },
      [&] { return Partial::parse(room).error().code; },
      [&] { return categories_from("max,nonsense,min").error().code; },
      [&] { return element_count(huge).error().code; },
  };
  for (const auto& call : refused) {
    hold("a refusal", [&]() -> Result<bool> {
      const Code code = call();
      if (code == Code::kOutOfMemory) return out_of_memory();
      return code == Code::kInvalid;
    });
  }
}

TEST_F(OutOfMemory, OfPartialsFromElsewhere) {
  for (const Dtype dtype : {Dtype::kFloat32, Dtype::kFloat64}) {
    const Partial partial_of_none(dtype, Precision::kHigh, kSum);
    const auto sent = partial_of_none.serialize();
    hold("serialize", [&]() -> Result<bool> {
      const auto bytes = partial_of_none.serialize();
      if (bytes.empty()) return out_of_memory();
      return bytes == sent;
    });
    hold("parse", [&]() -> Result<bool> {
      const auto partial = Partial::parse(sent);
      if (!partial) return partial.error();
      return partial->count() == 0;
    });
  }
  Partial sums(Dtype::kFloat32, Precision::kHigh, kSum), extrema(Dtype::kFloat32, Precision::kHigh, kExtrema);
  hold("merge", [&]() -> Result<bool> {
    const Status status = sums.merge(extrema);
    if (status) return false;
    if (status.error().code == Code::kOutOfMemory) return status.error();
    return true;
  });
}

TEST(Error, OfMemoryNeedsNone) {
  armed = true;
  allocations = 0;
  fail_at = 1;
  const Error error = out_of_memory(), copy = error;
  armed = false;
  EXPECT_EQ(copy.message, "out of memory");
  EXPECT_EQ(copy.code, Code::kOutOfMemory);
}

}  // namespace out_of_memory_test
}  // namespace tensorstat
