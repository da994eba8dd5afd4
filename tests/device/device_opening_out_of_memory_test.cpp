// Any allocation of the library may fail while a process opens its first device, once or from then on. Then the values
// are right (from the device or the host), or there is an error. The process survives, and the next call works. Each
// failure runs in a process of its own, because found devices are kept. TENSORSTAT_FULL=1 tries every allocation, but
// during the trial of pocl only every fourth.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <tensorstat/meter.hpp>
#include <vector>

#include "tests/support/failing_allocations.hpp"
#include "tests/support/samples.hpp"

namespace tensorstat {
namespace device_opening_out_of_memory_test {

enum Outcome { kOnDevice, kOnHost, kNoMemory, kNoDevice, kWrong, kOtherError, kThrown, kNotAfterwards, kSignal };

class DeviceOpening : public testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv("TENSORSTAT_NO_DEVICE") != nullptr) GTEST_SKIP() << "this machine has no OpenCL device";
    setenv("TENSORSTAT_CL_AUTO", "1", 1);
  }
  ~DeviceOpening() override {
    unsetenv("TENSORSTAT_CL_AUTO");
    unsetenv("TENSORSTAT_PREFLIGHT");
  }

  Outcome measured(On on) const {
    Meter meter;
    const auto result = meter.measure({&tensor_, 1}, requests_[on == On::kDevice]);
    if (!result) {
      const Error& error = result.error();
      if (error.code == Code::kOutOfMemory) return kNoMemory;
      return error.code == Code::kDevice && on == On::kDevice ? kNoDevice : kOtherError;
    }
    if (result->front().statistics.values[0] != Value(1.5)) return kWrong;
    return result->front().placement[0].engine == "opencl" ? kOnDevice : kOnHost;
  }

  // In a child process, at its first use of OpenCL, allocation number `nth` fails; 0: none. Writes the number of
  // allocations to `calls`.
  Outcome in_child(On on, std::int64_t nth, bool from_then_on, std::int64_t* calls = nullptr) const {
    int ends[2];
    if (pipe(ends) != 0) return kSignal;
    const pid_t child = fork();
    if (child == 0) {
      only_ours = true;
      allocations = 0;
      fail_at = nth;
      for_ever = from_then_on;
      Outcome outcome = kThrown;
      armed = true;
      try {
        outcome = measured(on);
      } catch (...) {
      }
      armed = false;
      const std::int64_t counted = allocations;
      if (outcome < kWrong && measured(On::kAuto) > kOnHost) outcome = kNotAfterwards;
      _exit(write(ends[1], &counted, sizeof counted) == sizeof counted ? outcome : kSignal);
    }
    close(ends[1]);
    std::int64_t counted = 0;
    const bool told = read(ends[0], &counted, sizeof counted) == sizeof counted;
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (calls != nullptr) *calls = counted;
    return told && WIFEXITED(status) ? static_cast<Outcome>(WEXITSTATUS(status)) : kSignal;
  }

  void hold(On on, std::int64_t stride) const {
    std::int64_t calls = 0;
    ASSERT_EQ(in_child(on, 0, false), kOnDevice);  // fills the caches on disk
    ASSERT_EQ(in_child(on, 0, false, &calls), kOnDevice);
    ASSERT_GT(calls, 100);
    std::map<Outcome, int> outcomes;
    for (const bool from_then_on : {false, true}) {
      for (std::int64_t nth = 1 + from_then_on * stride / 2; nth <= calls; nth += stride) {
        const Outcome outcome = in_child(on, nth, from_then_on);
        ++outcomes[outcome];
        ASSERT_LT(outcome, kWrong) << "allocation " << nth << " of " << calls << (from_then_on ? " and all later" : "");
      }
    }
    std::printf("%d allocations: %d rows by the device, %d by the host, %d times out of memory, %d times no device\n",
                static_cast<int>(calls), outcomes[kOnDevice], outcomes[kOnHost], outcomes[kNoMemory],
                outcomes[kNoDevice]);
    EXPECT_GT(outcomes[kNoMemory], 0);
  }

  const std::vector<float> values_ = std::vector<float>(300'000, 1.5f);
  const Request requests_[2] = {{.categories = {Category::kAvg}}, {.categories = {Category::kAvg}, .on = On::kDevice}};
  const Tensor tensor_{.dtype = Dtype::kFloat32, .element_count = values_.size(), .address = values_.data()};
};

TEST_F(DeviceOpening, ByAuto) {
  setenv("TENSORSTAT_PREFLIGHT", "0", 1);
  hold(On::kAuto, samples::full() ? 1 : 5);
}

TEST_F(DeviceOpening, ByOneWhoInsists) {
  setenv("TENSORSTAT_PREFLIGHT", "0", 1);
  hold(On::kDevice, samples::full() ? 1 : 15);
}

TEST_F(DeviceOpening, WithItsTrials) { hold(On::kAuto, samples::full() ? 4 : 20); }

}  // namespace device_opening_out_of_memory_test
}  // namespace tensorstat
