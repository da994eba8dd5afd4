// A forked child may use and destroy any object of the library from its parent, and may exit. It never hangs.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <tensorstat/opencl.hpp>
#include <vector>

#include "kernels-cl/driver/cl.hpp"
#include "kernels-cl/driver/device.hpp"
#include "tests/support/engines.hpp"

namespace tensorstat {
namespace forked_child_test {

const std::vector<float>& data() {
  static const std::vector<float> data(2'000'000, 1.5f);
  return data;
}

bool measures(Meter& meter, On on) {
  const Tensor tensor{.dtype = Dtype::kFloat32, .element_count = data().size(), .address = data().data()};
  const auto result = meter.measure({&tensor, 1}, {{Category::kAvg, Category::kMd5}, Precision::kHigh, on});
  return result && result->front().statistics.values[0] == Value(1.5);
}

// The child calls exit(), as most do, which destroys static objects.
void expect_child_ends(const std::function<bool()>& work) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "TSan does not follow a process with threads that forks";
#endif
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(30);  // ends a hang with a signal
    const bool done = work();
    std::exit(done ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status) << " (14: it hung)";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(ForkedChild, DestroysAMeterWhoseThreadsHaveRun) {
  auto meter = std::make_unique<Meter>(MeterOptions{.threads = 4});
  ASSERT_TRUE(measures(*meter, On::kHost));
  expect_child_ends([&] {
    const bool same = measures(*meter, On::kHost);
    meter.reset();
    return same;
  });
  EXPECT_TRUE(measures(*meter, On::kHost)) << "the parent's threads are as they were";
}

TEST(ForkedChild, ExitsWithAStaticMeterWhoseThreadsHaveRun) {
  static Meter meter({.threads = 4});
  ASSERT_TRUE(measures(meter, On::kHost));
  expect_child_ends([] { return true; });
  expect_child_ends([] { return measures(meter, On::kHost); });
}

TEST(ForkedChild, StartsThreadsOfItsOwnWhereTheParentHadNone) {
  Meter meter({.threads = 4});
  expect_child_ends([&] { return measures(meter, On::kHost) && measures(meter, On::kHost); });
}

TEST(ForkedChild, LeavesAStreamOfTheParentsAlone) {
  Meter meter({.threads = 4});
  std::optional<Meter::Stream> stream = *meter.stream(Dtype::kFloat32, {{Category::kAvg, Category::kHash}});
  ASSERT_TRUE(stream->append(std::as_bytes(std::span(data()))));
  expect_child_ends([&] {
    stream.reset();
    return true;
  });
  EXPECT_TRUE(stream->finish());
}

TEST(ForkedChild, DestroysAMeterThatUsedTheDevice) {
  if (!expects_device()) GTEST_SKIP() << "this run is told that there is no device";
  auto meter = std::make_unique<Meter>();
  ASSERT_TRUE(measures(*meter, On::kDevice));
  expect_child_ends([&] {
    const bool refused = !measures(*meter, On::kDevice), same = measures(*meter, On::kAuto);
    meter.reset();
    return refused && same;
  });
  EXPECT_TRUE(measures(*meter, On::kDevice));
}

TEST(ForkedChild, DestroysATicketAndItsMeter) {
  if (!expects_device()) GTEST_SKIP() << "this run is told that there is no device";
  auto device = cl_engine::choose_device({});
  ASSERT_TRUE(device) << device.error().message;
  const cl::Context context(device->device);
  const cl::CommandQueue queue(context, device->device);
  const Tensor tensor{.dtype = Dtype::kFloat32, .element_count = data().size(), .address = data().data()};
  std::optional<DeviceMeter> meter = *DeviceMeter::on(queue());
  auto submitted = meter->submit({&tensor, 1}, {{Category::kAvg}});
  ASSERT_TRUE(submitted) << submitted.error().message;
  std::optional<Ticket> ticket = *std::move(submitted);
  expect_child_ends([&] {
    const bool refused = !ticket->collect();
    ticket.reset();
    meter.reset();
    return refused;
  });
  EXPECT_TRUE(ticket->collect());
}

}  // namespace forked_child_test
}  // namespace tensorstat
