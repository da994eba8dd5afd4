// The log is called with no lock held: it may use the calling Meter, wait for another thread that uses it, and throw.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <tensorstat/meter.hpp>
#include <thread>
#include <vector>

namespace tensorstat {
namespace log_test {

// Large enough for the library to look for a device. There is none.
const std::vector<float> kData(1 << 20, 1.5f);

bool measures(Meter& meter) {
  const Tensor tensor{.dtype = Dtype::kFloat32, .element_count = kData.size(), .address = kData.data()};
  const auto result = meter.measure({&tensor, 1}, {{Category::kAvg}});
  return result && result->front().statistics.values[0] == Value(1.5);
}

MeterOptions without_device(Log log) { return {.platform = 99, .device = 99, .threads = 2, .log = std::move(log)}; }

TEST(Log, MayMeasureOnTheMeterThatCallsIt) {
  Meter* self = nullptr;
  int calls = 0;
  bool here = false, elsewhere = false;
  Meter meter(without_device([&](Severity, std::string_view) {
    ++calls;
    here = measures(*self);
    std::thread([&] { elsewhere = measures(*self); }).join();
  }));
  self = &meter;
  EXPECT_TRUE(measures(meter));
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(here);
  EXPECT_TRUE(elsewhere);
}

TEST(Log, MayThrow) {
  Meter meter(without_device([](Severity, std::string_view) { throw std::runtime_error("a full disk"); }));
  EXPECT_TRUE(measures(meter));
  EXPECT_TRUE(measures(meter));
}

}  // namespace log_test
}  // namespace tensorstat
