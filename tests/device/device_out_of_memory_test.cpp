// Any allocation of the library may fail while a device measures, once or from then on. Then the values are right, or
// there is an error, and the next call works.
#include <cstdlib>
#include <tensorstat/meter.hpp>
#include <vector>

#include "tests/support/held_without_memory.hpp"

namespace tensorstat {
namespace device_out_of_memory_test {

TEST(DeviceOutOfMemory, OfAMeasurement) {
  if (std::getenv("TENSORSTAT_NO_DEVICE") != nullptr) GTEST_SKIP() << "this machine has no OpenCL device";
  const std::vector<float> values(3000, 1.5f);
  const std::vector<std::int32_t> whole(500, 7);
  const std::vector<Tensor> tensors{
      {.dtype = Dtype::kFloat32, .element_count = values.size(), .address = values.data()},
      {.dtype = Dtype::kInt32, .element_count = whole.size(), .address = whole.data()},
      {.dtype = Dtype::kFloat32, .element_count = 10, .address = values.data()}};
  const Request request{.categories = {Category::kAvg, Category::kMax}, .on = On::kDevice};
  Meter meter;
  only_ours = true;
  hold(
      "measure",
      [&]() -> Result<bool> {
        const auto result = meter.measure(tensors, request);
        if (!result) return result.error();
        return (*result)[0].statistics.values[0] == Value(1.5) &&
               (*result)[1].statistics.values[1] == Value(std::int64_t{7}) &&
               (*result)[2].placement[0].engine == "opencl";
      },
      Code::kDevice);
}

// Reads in place, and through a window.
TEST(DeviceOutOfMemory, OfAComparison) {
  if (std::getenv("TENSORSTAT_NO_DEVICE") != nullptr) GTEST_SKIP() << "this machine has no OpenCL device";
  const std::vector<float> values(3000, 1.5f), others(3000, 1.25f);
  const Tensor a{.dtype = Dtype::kFloat32, .element_count = values.size(), .address = values.data()};
  const Tensor b{.dtype = Dtype::kFloat32, .element_count = others.size(), .address = others.data()};
  const std::vector<TensorPair> pairs{{a, b}, {b, a}};
  for (const char* zero_copy : {"1", "0"}) {
    setenv("TENSORSTAT_CL_ZERO_COPY", zero_copy, 1);
    Meter meter;
    ASSERT_TRUE(meter.compare(pairs, {.on = On::kDevice}));
    only_ours = true;
    hold(
        "compare",
        [&]() -> Result<bool> {
          std::vector<PairPlacement> placements;
          const auto result = meter.compare(pairs, {.on = On::kDevice}, &placements);
          if (!result) return result.error();
          return (*result)[0].finish(PairStatistic::kMaxAbsDiff) == Value(0.25) && placements[1].engine == "opencl";
        },
        Code::kDevice);
    only_ours = false;
  }
  unsetenv("TENSORSTAT_CL_ZERO_COPY");
}

}  // namespace device_out_of_memory_test
}  // namespace tensorstat
