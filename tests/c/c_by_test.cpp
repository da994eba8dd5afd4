// Through C: the rows of a tensor equal the results for tensors made of the rows.
#include <gtest/gtest.h>
#include <tensorstat/tensorstat.h>

#include <string>

namespace c_by_test {

TEST(CBy, MeasuresRows) {
  tensorstat_meter* meter = nullptr;
  ASSERT_EQ(tensorstat_meter_open(nullptr, &meter), TENSORSTAT_OK);
  const float x[] = {3, 0, 4, 7, -1, 9};
  tensorstat_tensor tensor = TENSORSTAT_TENSOR;
  tensor.dtype = tensorstat_dtype_named("float32");
  tensor.element_count = 6;
  tensor.address = x;
  tensorstat_request request = TENSORSTAT_REQUEST;
  request.statistics = "max,count";
  const uint64_t shape[] = {2, 3};
  const int64_t last[] = {-1};
  tensorstat_by by = TENSORSTAT_BY;
  by.dimension_count = 2;
  by.shape = shape;
  by.axis_count = 1;
  by.axes = last;
  tensorstat_result* result = nullptr;
  ASSERT_EQ(tensorstat_measure_by(meter, &tensor, &by, &request, &result), TENSORSTAT_OK) << tensorstat_last_error();
  ASSERT_EQ(tensorstat_result_tensor_count(result), 3u);
  const double columns[] = {7, 0, 9};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(tensorstat_result_values(result, i)[0].is.real, columns[i]);
    EXPECT_EQ(tensorstat_result_values(result, i)[1].is.whole, 2u);
  }
  tensorstat_result_free(result);

  by.axis_count = 0;
  by.block_elements = 4;
  ASSERT_EQ(tensorstat_measure_by(meter, &tensor, &by, &request, &result), TENSORSTAT_OK) << tensorstat_last_error();
  ASSERT_EQ(tensorstat_result_tensor_count(result), 2u);
  EXPECT_EQ(tensorstat_result_values(result, 1)[0].is.real, 9);
  tensorstat_result_free(result);

  by.axis_count = 1;
  EXPECT_EQ(tensorstat_measure_by(meter, &tensor, &by, &request, &result), TENSORSTAT_INVALID);
  EXPECT_NE(std::string(tensorstat_last_error()).find("not both"), std::string::npos);
  by.axes = nullptr;
  EXPECT_EQ(tensorstat_measure_by(meter, &tensor, &by, &request, &result), TENSORSTAT_INVALID);
  EXPECT_EQ(tensorstat_measure_by(meter, &tensor, nullptr, &request, &result), TENSORSTAT_INVALID);
  tensorstat_meter_close(meter);
}

}  // namespace c_by_test
