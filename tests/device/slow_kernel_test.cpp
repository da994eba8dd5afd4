// While the kernel of one dtype is tried in another process, built or checked, other threads measure with existing
// kernels. A layer and a program of this test make each of these steps wait until the other threads have their results.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <tensorstat/opencl.hpp>
#include <thread>
#include <vector>

#include "kernels-cl/driver/cl.hpp"
#include "kernels-cl/driver/device.hpp"
#include "kernels-cl/trial/driver_trial.hpp"
#include "tests/support/cl_layer/watch.hpp"
#include "tests/support/npy_files.hpp"

namespace tensorstat {
namespace slow_kernel_test {

constexpr std::size_t kBytes = 1 << 16;

// Replaces the program that makes trials. Each trial passes at once, except for the dtype in the file `slow`. That one
// waits for the file `go`, at most half a minute.
constexpr const char* kTrials = R"(
echo "$*" >>tried
case "$*" in
  *" $(cat slow) "*)
    : >begun
    for i in $(seq 300); do [ -e go ] && break; sleep 0.1; done
    [ -e go ] || exit 1
    ;;
esac
printf 'tensorstat-preflight: passed\n'
)";

class SlowKernel : public testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv("TENSORSTAT_NO_DEVICE") != nullptr) GTEST_SKIP() << "this machine has no OpenCL device";
    test::write_file(folder_ / "slow", "none");
    const std::string program =
        test::write_file(folder_ / "program", "#!/bin/sh\ncd '" + folder_.path() + "'" + kTrials);
    ASSERT_EQ(chmod(program.c_str(), 0700), 0);
    setenv("TENSORSTAT_PREFLIGHT", program.c_str(), 1);
    static_cast<void>(cl_layer());
    auto device = cl_engine::choose_device({});
    ASSERT_TRUE(device) << device.error().message;
    device_ = *std::move(device);
    const cl::Context context(device_.device);
    queue_ = cl::CommandQueue(context, device_.device);
    std::vector<std::uint8_t> ones(kBytes, 1);
    buffer_ = cl::Buffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, kBytes, ones.data());
    auto meter = DeviceMeter::on(queue_());
    ASSERT_TRUE(meter) << meter.error().message;
    meter_ = *std::move(meter);
    ASSERT_EQ(measured(Dtype::kUint8), 1.0);  // from now on this kernel exists
  }

  bool exists(const char* file) const { return std::filesystem::exists(folder_ / file); }

  // The least element of a buffer with all bytes 1.
  double measured(Dtype dtype) {
    const Tensor tensor{
        .dtype = dtype, .element_count = kBytes / size_bytes(dtype), .address = buffer_(), .where = Where::kClBuffer};
    auto ticket = meter_->submit({&tensor, 1}, {.categories = {Category::kMin}});
    if (!ticket) throw std::runtime_error(ticket.error().message);
    const auto result = ticket->collect();
    if (!result) throw std::runtime_error(result.error().message);
    return std::stod(to_string(result->front().statistics.values[0]));
  }

  // `begun` returns whether the new dtype's kernel is held back; `let_go` releases it.
  void hold(Dtype dtype, double expected, const std::function<bool()>& begun, const std::function<void()>& let_go) {
    std::atomic<bool> ended{false};
    double minimum = 0;
    std::thread slow([&] {
      minimum = measured(dtype);
      ended = true;
    });
    {
      const Watch watch;
      while (!begun() && !ended) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      cl_layer().hold_kernels = false;  // a kernel that is already held stays held
      for (int i = 0; i < 3; ++i) EXPECT_EQ(measured(Dtype::kUint8), 1.0);
      EXPECT_FALSE(ended) << "nothing was held back";
      EXPECT_FALSE(watch.barked()) << "who needs nothing of it waited";
      let_go();
    }
    slow.join();
    EXPECT_EQ(minimum, expected);
  }

  const ScratchFolder folder_{folder_of_this_program()};
  cl_engine::Device device_;
  cl::CommandQueue queue_;
  cl::Buffer buffer_;
  std::optional<DeviceMeter> meter_;
};

TEST_F(SlowKernel, ThatIsBuilt) {
  const std::int64_t builds = cl_layer().builds;
  cl_layer().hold_builds = true;
  hold(
      Dtype::kInt16, 0x0101, [&] { return cl_layer().builds > builds; }, cl_layer().let_go);
}

TEST_F(SlowKernel, ThatIsChecked) {
  const std::int64_t kernels = cl_layer().kernels;
  cl_layer().hold_kernels = true;
  hold(
      Dtype::kInt16, 0x0101, [&] { return cl_layer().kernels > kernels; }, cl_layer().let_go);
}

TEST_F(SlowKernel, ThatIsTriedOut) {
  if (!cl_engine::may_kill(device_.info.platform_name)) GTEST_SKIP() << "this driver is not tried out";
  test::write_file(folder_ / "slow", "int32");
  hold(
      Dtype::kInt32, 0x01010101, [&] { return exists("begun"); }, [&] { test::write_file(folder_ / "go", ""); });
}

// With two new kernels, one is tried while the other's trial still runs. A second request for a kernel in a trial waits
// for that trial and starts no other.
TEST_F(SlowKernel, IsTriedOutOnceBesideOthers) {
  cl_engine::Device device;
  device.info.platform_name = "Portable Computing Language";
  ASSERT_TRUE(cl_engine::may_kill(device.info.platform_name));
  test::write_file(folder_ / "slow", "float64");
  const auto tried = [&](Dtype dtype) { return bool(cl_engine::try_kernel(device, "a key", {dtype, Needs{1}})); };
  std::atomic<int> passed{0};
  std::vector<std::thread> slow;
  for (int i = 0; i < 2; ++i) slow.emplace_back([&] { passed += tried(Dtype::kFloat64); });
  for (int i = 0; i < 20'000 && !exists("begun"); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(tried(Dtype::kFloat32));
  EXPECT_EQ(passed, 0) << "nothing was held back";
  test::write_file(folder_ / "go", "");
  for (std::thread& each : slow) each.join();
  EXPECT_EQ(passed, 2);
  EXPECT_TRUE(tried(Dtype::kFloat64)) << "known by now";
  const std::string log = content_of(folder_ / "tried");
  EXPECT_NE(log.find("float64"), log.npos);
  EXPECT_EQ(log.find("float64"), log.rfind("float64")) << log;
}

}  // namespace slow_kernel_test
}  // namespace tensorstat
