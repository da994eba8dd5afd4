// `device_bytes` in a row counts only the device memory of the row's own request, not that of concurrent requests, nor
// memory kept for later.
#include <gtest/gtest.h>

#include <cstdlib>
#include <stdexcept>
#include <tensorstat/opencl.hpp>
#include <vector>

#include "kernels-cl/driver/cl.hpp"
#include "kernels-cl/driver/device.hpp"
#include "tests/support/cl_layer/loaded.hpp"

namespace tensorstat {
namespace device_bytes_test {

const Request kOnDevice{.categories = {Category::kMax}, .on = On::kDevice};

class DeviceBytes : public testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv("TENSORSTAT_NO_DEVICE") != nullptr) GTEST_SKIP() << "this machine has no OpenCL device";
    cl_layer().svm_capabilities = 0;  // else a device that follows pointers would need no upload
  }
  ~DeviceBytes() override {
    cl_layer().svm_capabilities = -1;
    unsetenv("TENSORSTAT_CL_ZERO_COPY");
    unsetenv("TENSORSTAT_CL_POINTERS");
  }

  static std::uint64_t of(const Result<Measurements>& result) {
    EXPECT_TRUE(result);
    return result ? result->front().device_bytes : 0;
  }

  const std::vector<float> values_ = std::vector<float>(30'000, 1.0f);
  const Tensor tensor_{.dtype = Dtype::kFloat32, .element_count = values_.size(), .address = values_.data()};
};

TEST_F(DeviceBytes, OfAMeasurementBesideAStream) {
  setenv("TENSORSTAT_CL_ZERO_COPY", "0", 1);  // an open stream holds windows of device memory
  const std::uint64_t alone = of(Meter().measure({&tensor_, 1}, kOnDevice));
  EXPECT_GE(alone, tensor_.bytes()) << "it was uploaded";
  Meter meter;
  auto stream = meter.stream(Dtype::kFloat32, kOnDevice);
  ASSERT_TRUE(stream);
  ASSERT_TRUE(stream->append(std::as_bytes(std::span(values_))));
  ASSERT_GT(meter.device_memory().current_bytes, 10 * alone);
  EXPECT_EQ(of(meter.measure({&tensor_, 1}, kOnDevice)), alone);
  EXPECT_EQ(of(meter.measure({&tensor_, 1}, {.categories = {Category::kMax}, .on = On::kHost})), 0u);
  EXPECT_GT(of(stream->finish()), 10 * alone);
}

TEST_F(DeviceBytes, OfEachTicketInFlight) {
  setenv("TENSORSTAT_CL_POINTERS", "0", 1);  // a device that follows pointers would take no memory for a batch
  setenv("TENSORSTAT_CL_ZERO_COPY", "1", 1);
  auto device = cl_engine::choose_device({});
  ASSERT_TRUE(device) << device.error().message;
  const cl::Context context(device->device);
  const cl::CommandQueue queue(context, device->device);
  auto meter = DeviceMeter::on(queue());
  ASSERT_TRUE(meter) << meter.error().message;
  const auto submitted = [&] {
    auto ticket = meter->submit({&tensor_, 1}, {.categories = {Category::kMax}});
    if (!ticket) throw std::runtime_error(ticket.error().message);
    return *std::move(ticket);
  };
  const std::uint64_t alone = of(submitted().collect());
  EXPECT_GT(alone, 0u);
  cl::UserEvent ready(context);
  void* const after = ready();
  std::vector<Ticket> tickets;
  for (int i = 0; i < 4; ++i) {
    auto ticket = meter->submit({&tensor_, 1}, {.categories = {Category::kMax}}, {&after, 1});
    ASSERT_TRUE(ticket) << ticket.error().message;
    tickets.push_back(*std::move(ticket));
  }
  EXPECT_GE(meter->device_memory().current_bytes, 4 * alone);
  ready.setStatus(CL_COMPLETE);
  for (Ticket& ticket : tickets) EXPECT_EQ(of(ticket.collect()), alone);
}

}  // namespace device_bytes_test
}  // namespace tensorstat
