// The settings of a plan are read back from their lines as they were written, and a line that none of them writes is
// refused.
#include "stats/answer/parts/plan_request.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <tensorstat/by.hpp>
#include <vector>

namespace tensorstat {
namespace plan_request_test {

// Writes a request as lines, and parses them.
PlanRequest read_back(const PlanRequest& request) {
  PlanRequest read;
  std::string text = text_of(request);
  for (std::size_t end = 0; (end = text.find('\n')) != text.npos; text.erase(0, end + 1)) {
    EXPECT_TRUE(parse_line(text.substr(0, end), read)) << text.substr(0, end);
  }
  EXPECT_EQ(text, "");
  return read;
}

PlanRequest request_of(Categories asked) {
  PlanRequest request;
  request.asked = request.measured = asked;
  return request;
}

TEST(PlanRequest, IsReadBack) {
  PlanRequest request = request_of({Category::kMax, Category::kAvg});
  request.measured.push_back(Category::kMin);
  request.is_default = true;
  request.precision = Precision::kLow;
  request.cast_scale = 0.1;
  request.void_is_bfloat16 = true;
  const PlanRequest read = read_back(request);
  EXPECT_EQ(read.asked, request.asked);
  EXPECT_EQ(read.measured, request.measured);
  EXPECT_TRUE(read.is_default);
  EXPECT_EQ(read.precision, Precision::kLow);
  EXPECT_EQ(read.cast_scale, 0.1);
  EXPECT_TRUE(read.void_is_bfloat16);
  EXPECT_FALSE(read.by);
  EXPECT_FALSE(read.raw);
  EXPECT_EQ(text_of(read), text_of(request));
}

TEST(PlanRequest, ByAndRawAreReadBack) {
  By axes, block;
  axes.axes = {0, -2, 1};
  block.block_elements = 4096;
  for (const By& by : {axes, block}) {
    PlanRequest request = request_of({Category::kMax});
    request.by = by;
    const PlanRequest read = read_back(request);
    ASSERT_TRUE(read.by);
    EXPECT_EQ(read.by->axes, by.axes);
    EXPECT_EQ(read.by->block_elements, by.block_elements);
  }
  for (const std::optional<Shape>& shape :
       {std::optional<Shape>(), std::optional(Shape()), std::optional(Shape{3, 0, 7})}) {
    PlanRequest request = request_of({Category::kMax});
    request.raw = RawTensor{Dtype::kBfloat16, shape};
    const PlanRequest read = read_back(request);
    ASSERT_TRUE(read.raw);
    EXPECT_EQ(read.raw->dtype, Dtype::kBfloat16);
    EXPECT_EQ(read.raw->shape, shape);
  }
}

TEST(PlanRequest, RefusesOtherLines) {
  for (const std::string_view line : {"",
                                      "by",
                                      "by rows",
                                      "by axis 1",
                                      "by axes x",
                                      "by axes 1x",
                                      "by axes 1,2",
                                      "by block",
                                      "by block 0",
                                      "by block -1",
                                      "by block 8x",
                                      "raw",
                                      "raw float31",
                                      "raw float32 x",
                                      "raw float32 2x3",
                                      "scale",
                                      "scale 0",
                                      "scale -1",
                                      "scale inf",
                                      "scale nan",
                                      "scale 2x",
                                      "bfloat16 no",
                                      "precision",
                                      "precision middle",
                                      "stats maximal",
                                      "measured",
                                      "threads 2"}) {
    PlanRequest request;
    EXPECT_FALSE(parse_line(line, request)) << line;
  }
}

}  // namespace plan_request_test
}  // namespace tensorstat
