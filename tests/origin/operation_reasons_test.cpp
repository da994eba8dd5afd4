// Why an operation gave NaN or Inf, by its name, the ranges of its operands and what it gave.
#include "stats/answer/origin/operation_reasons.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tensorstat::test {
namespace operation_reasons_test {

std::string reason(const std::string& operation, const std::string& given, const std::string& gave,
                   const std::string& dtype = "") {
  return reason_of_operation(operation, operands_of(given), gave_of(gave), dtype);
}

TEST(OperationReasons, SayWhatTheValuesShow) {
  EXPECT_EQ(reason("pow", "float32[10] -0.468588 to 4.45132, -0.5", "1 NaN, 1 Inf of 10"),
            "a negative number to the power of -0.5, and 0 to the power of -0.5");
  EXPECT_EQ(reason("pow", "float32[10] -0.468588 to -0.1, -0.5", "10 NaN of 10"),
            "a negative number to the power of -0.5");
  EXPECT_EQ(reason("pow", "float32[10] 0 to 4, -2", "1 Inf of 10"), "0 to the power of -2");
  EXPECT_EQ(reason("pow", "float32[10] -1 to 4, -2", "1 Inf of 10"), "0 to the power of -2, or an overflow");
  EXPECT_EQ(reason("pow", "float16[10] 1 to 400, 3", "1 Inf of 10"), "an overflow of float16");
  EXPECT_EQ(reason("mean", "float32[0]", "1 NaN of 1"), "the mean of no elements");
  EXPECT_EQ(reason("mean", "float32[3, 0, 2]", "1 NaN of 1"), "the mean of no elements");
  EXPECT_EQ(reason("mean", "float32[3, 10] 1 to 2", "1 NaN of 1"), "");
  EXPECT_EQ(reason("ReduceMean", "float16[3] 60000 to 65504", "1 Inf of 1"), "an overflow of float16");
  EXPECT_EQ(reason("log", "float32[3] 0 to 1", "1 Inf of 3"), "log of 0");
  EXPECT_EQ(reason("Log", "min -1.5", "1 NaN of 3"), "log of a negative number");
  EXPECT_EQ(reason("log", "", "1 NaN, 1 Inf of 3"), "log of a negative number, and log of 0");
  EXPECT_EQ(reason("rsqrt", "float32[3] 0 to 1", "1 Inf of 3"), "a division by the root of 0");
  EXPECT_EQ(reason("acos", "float32[3] -0.1 to 1.000001", "1 NaN of 3"), "acos of a number beyond 1");
  EXPECT_EQ(reason("div", "float32[2, 3] -1 to 1, float32[2, 1] 0 to 2", "1 Inf of 6"), "a division by 0");
  EXPECT_EQ(reason("div", "float32[2, 3] -1 to 1, float32[2, 1] 0 to 2", "1 NaN of 6"), "0 divided by 0");
  EXPECT_EQ(reason("RealDiv", "float32[2] -1 to 1, float32[2] -2 to 2", "1 Inf of 6"),
            "a division by 0, or an overflow");
  EXPECT_EQ(reason("div", "float16[2] 1 to 60000, 0.001", "1 Inf of 2"), "an overflow of float16");
  EXPECT_EQ(reason("exp", "float32[12, 4] -931.701 to 1934.22", "3 Inf of 48"),
            "exp of 1934.22 is beyond float32 (3.40282e+38)");
  EXPECT_EQ(reason("to_copy in to", "float32[3] -1 to 7e4", "1 Inf of 3"),
            "an overflow of the dtype that it was cast to");
  EXPECT_EQ(reason("to", "float32[3] -1 to 7e4", "1 Inf of 3", "float16"), "an overflow of float16");
  EXPECT_EQ(reason("add", "float16[3] -167 to -117, float16[3] -65504 to 0", "2 Inf of 3"), "an overflow of float16");
  EXPECT_EQ(reason("var", "float32[1, 16] -1 to 1", "16 NaN of 16"), "var of one value, or of none");
  EXPECT_NE(reason("ctc_loss", "float32[5, 3, 11] -3 to -1, int64[3, 4] 1 to 9", "1 Inf of 1"), "");
}

// Of Inf and NaN that it was given nothing follows, but for a row of -Inf.
TEST(OperationReasons, SayNothingOfWhatTheyCannotKnow) {
  EXPECT_EQ(reason("softmax", "float32[3, 3] -inf to 2", "3 NaN of 9"), "a row of -Inf alone");
  EXPECT_EQ(reason("softmax", "float32[3, 3] -1 to inf", "3 NaN of 9"), "");
  EXPECT_EQ(reason("mul", "float32[3] -inf to 2, 0", "1 NaN of 3"), "");
  EXPECT_EQ(reason("sqrt", "float32[3] -inf to 2", "1 NaN of 3"), "");
  EXPECT_EQ(reason("add", "float32[3] 0 to 2", "1 NaN of 3"), "");
  EXPECT_EQ(reason("relu", "float32[3] 0 to 2", "1 Inf of 3"), "");
  EXPECT_EQ(reason("log", "float32[3] 0 to 1", ""), "");
}

// A backward is given gradients: the reason lies in what its forward was given.
TEST(OperationReasons, OfABackwardIsTheSlope) {
  EXPECT_EQ(reason_of_backward("SqrtBackward0"), "the slope of sqrt is infinite at 0");
  EXPECT_EQ(reason_of_backward("sqrt"), "the slope of sqrt is infinite at 0");
  EXPECT_EQ(reason_of_backward("AcosBackward0"), "the slope of acos is infinite at 1 and -1");
  EXPECT_EQ(reason_of_backward("LinalgSvdBackward0"), reason_of_backward("linalg_svd"));
  EXPECT_NE(reason_of_backward("linalg_svd"), "");
  EXPECT_EQ(reason_of_backward("MulBackward0"), "");
  EXPECT_EQ(reason_of_backward("backward"), "");
}

}  // namespace operation_reasons_test
}  // namespace tensorstat::test
