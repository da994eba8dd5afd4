// Rule R11 of stats/doc/origin.md: a NaN in a buffer behind the step. A NaN in a parameter's update is not a fault.
#include <gtest/gtest.h>

#include "tests/support/origin_answers.hpp"

namespace tensorstat::test {
namespace origin_buffers_test {

TEST(OriginBuffers, R11TheForwardThatWroteNanIntoABuffer) {
  const auto rows = [](const std::string& norm, const std::string& buffer) {
    return R"(
    Parameter norm.weight i0 ok
    Net Net/forward i0 ok
    BatchNorm1d norm/forward i0 ok
    BatchNorm1d norm/forward o0 )" +
           norm + "\n Mask mask/forward i0 " + norm + R"(
    Mask mask/forward o0 ok
    Net Net/forward o0 ok
    Net Net/backward i0 ok
    Gradient norm.weight i0 ok
    Loss loss o0 ok
    ModuleBuffer norm.running_var o0 )" +
           buffer + "\n Parameter norm.weight o0 ok\n";
  };
  EXPECT_EQ(ask_who(rows("ok", "ok")), "none");
  EXPECT_EQ(ask_who(rows("ok", "-inf")), "none");  // as in a mask that is kept
  const Answer answer = ask(rows("ok", "ok") + "@1\n" + rows("ok", "nan"));
  EXPECT_EQ(told(answer.verdict), "produced, forward, norm/forward, 1, 0");
  EXPECT_TRUE(says(answer,
                   "NaN in norm (BatchNorm1d), forward, iteration 1 (0 was clean): written into its buffer "
                   "norm.running_var"));
  EXPECT_TRUE(says(answer, "one value in each channel, as in a batch of a single sample, has no variance"));
  // Values that a mask cut off are in the buffer, too.
  const Answer twice = ask(rows("nan", "nan"));
  EXPECT_EQ(told(twice.verdict), "produced, forward, norm/forward, 0, 0");
  EXPECT_TRUE(
      says(twice, "it ended at a call, and was written into the buffer norm.running_var, too: likely, and not sure"));
  EXPECT_EQ(ask_who("Net Net/forward i0 ok\n Net Net/forward o0 ok\n ModuleBuffer a.b.mean o0 nan"),
            "unknown, buffer, a.b.mean, 0, 0");
  EXPECT_EQ(ask_who("Net Net/forward i0 nan\n Net Net/forward o0 nan\n ModuleBuffer mean o0 nan"),
            "entered, input, Net/forward, 0, 0");
}

// after - before overflows where both are finite.
TEST(OriginBuffers, AnUpdateIsNotJudged) {
  EXPECT_EQ(
      ask_who("Net Net/forward i0 ok\n Loss loss o0 ok\n Parameter a.weight o0 ok\n ParameterUpdate a.weight o0 inf"),
      "none");
}

}  // namespace origin_buffers_test
}  // namespace tensorstat::test
