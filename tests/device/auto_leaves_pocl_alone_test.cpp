// If pocl is the only driver, `auto` computes host memory on the host, without a trial and without looking for devices.
// A request for the device looks for one.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <tensorstat/meter.hpp>
#include <vector>

#include "kernels-cl/driver/cl.hpp"
#include "tests/support/cl_layer/loaded.hpp"

namespace tensorstat {
namespace auto_leaves_pocl_alone_test {

TEST(Auto, LeavesPoclAlone) {
  ClLayer& layer = cl_layer();
  // From here on a trial fails with an error that contains this name.
  setenv("TENSORSTAT_PREFLIGHT", "/no-such-program", 1);
  std::vector<cl::Platform> platforms;
  ASSERT_EQ(cl::Platform::get(&platforms), CL_SUCCESS);
  for (const cl::Platform& each : platforms) {
    if (each.getInfo<CL_PLATFORM_NAME>().find("Portable Computing Language") == std::string::npos) {
      GTEST_SKIP() << "there is another driver beside pocl";
    }
  }
  layer.searches = 0;
  const std::vector<float> values(1 << 20, 1.0f);
  const Tensor tensor{.dtype = Dtype::kFloat32, .element_count = values.size(), .address = values.data()};
  std::string messages;
  Meter meter({.log = [&](Severity, std::string_view text) { messages += text; }});
  const auto result = meter.measure({&tensor, 1}, {.categories = {Category::kMax}});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->front().placement[0].engine, "host");
  EXPECT_NE(result->front().placement[0].reason.find("the only OpenCL driver is pocl"), std::string::npos)
      << result->front().placement[0].reason;
  EXPECT_EQ(messages, "");
  EXPECT_EQ(layer.searches, 0);

  const auto insisted = meter.measure({&tensor, 1}, {.categories = {Category::kMax}, .on = On::kDevice});
  ASSERT_FALSE(insisted);
  EXPECT_NE(insisted.error().message.find("/no-such-program"), std::string::npos) << insisted.error().message;
}

}  // namespace auto_leaves_pocl_alone_test
}  // namespace tensorstat
