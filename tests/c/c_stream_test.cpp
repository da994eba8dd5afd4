// Through C: a stream may end within a byte if elements share bytes.
#include <gtest/gtest.h>
#include <tensorstat/tensorstat.h>

#include <cstdint>
#include <string>

namespace c_stream_test {

TEST(CStream, EndsWithinAByte) {
  tensorstat_meter* meter = nullptr;
  ASSERT_EQ(tensorstat_meter_open(nullptr, &meter), TENSORSTAT_OK);
  tensorstat_request request = TENSORSTAT_REQUEST;
  request.statistics = "count,max";
  const int32_t uint1 = tensorstat_dtype_named("uint1");
  EXPECT_EQ(tensorstat_dtype_elements_a_byte(uint1), 8u);
  EXPECT_EQ(tensorstat_dtype_elements_a_byte(tensorstat_dtype_named("complex64")), 1u);
  EXPECT_EQ(tensorstat_dtype_elements_a_byte(-1), 0u);
  tensorstat_stream* stream = nullptr;
  ASSERT_EQ(tensorstat_stream_open(meter, uint1, &request, &stream), TENSORSTAT_OK) << tensorstat_last_error();
  const uint8_t bytes[] = {0, 0x07};  // the 1s are beyond the last element
  EXPECT_EQ(tensorstat_stream_append_last(nullptr, bytes, 1, 0), TENSORSTAT_INVALID);
  EXPECT_EQ(tensorstat_stream_append_last(stream, bytes, 1, 8), TENSORSTAT_INVALID);
  ASSERT_EQ(tensorstat_stream_append(stream, bytes, 1), TENSORSTAT_OK) << tensorstat_last_error();
  ASSERT_EQ(tensorstat_stream_append_last(stream, bytes + 1, 1, 3), TENSORSTAT_OK) << tensorstat_last_error();
  EXPECT_EQ(tensorstat_stream_append(stream, bytes, 1), TENSORSTAT_INVALID);
  EXPECT_NE(std::string(tensorstat_last_error()).find("it was the last"), std::string::npos) << tensorstat_last_error();
  tensorstat_result* result = nullptr;
  ASSERT_EQ(tensorstat_stream_finish(stream, &result), TENSORSTAT_OK) << tensorstat_last_error();
  EXPECT_EQ(tensorstat_result_values(result, 0)[0].is.whole, 13u);
  EXPECT_EQ(tensorstat_result_values(result, 0)[1].is.whole, 0u);
  tensorstat_result_free(result);
  tensorstat_stream_close(stream);
  tensorstat_meter_close(meter);
}

}  // namespace c_stream_test
