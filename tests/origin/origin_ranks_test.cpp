// Rule R10 of stats/doc/origin.md: of several ranks with a fault in one iteration, the one that made it.
#include <gtest/gtest.h>

#include "tests/support/origin_answers.hpp"

namespace tensorstat::test {
namespace origin_ranks_test {

TEST(OriginRanks, R10OneRankHadItAndTheOthersReceivedIt) {
  const auto rank = [](int number, const std::string& local) {
    return "#" + std::to_string(number) +
           "\n Parameter a.weight i0 ok\n Net Net/forward i0 ok\n Net Net/forward o0 ok\n Net Net/backward i0 ok\n "
           "Bad a/backward i0 ok\n Gradient a.weight i0 " +
           local + "\n Gradient a.weight o0 nan\n Parameter a.weight o0 nan\n";
  };
  const Answer answer = ask(rank(0, "ok") + rank(1, "nan"));
  EXPECT_EQ(told(answer.verdict), "produced, backward, a/backward, 0, 1");
  EXPECT_TRUE(says(answer, "rank 0 has it, too, received"));
}

// Ranks exchange results inside of the forward, as with a gathered batch: the receivers fault in the same phase.
TEST(OriginRanks, R10OfOnePhaseTheFirstInTheOrderOfTheProgramMadeIt) {
  const auto rank = [](int number, const std::string& given, const std::string& a, const std::string& b) {
    return "#" + std::to_string(number) + "\n Net Net/forward i0 " + given + "\n Linear a/forward i0 " + given +
           "\n Linear a/forward o0 " + a + "\n Gather b/forward i0 " + a + "\n Gather b/forward o0 " + b +
           "\n Net Net/forward o0 " + b + "\n Net Net/backward i0 nan\n Gradient a.weight i0 nan\n Loss loss o0 nan\n";
  };
  const std::string received = rank(0, "ok", "ok", "nan");
  const Answer entered = ask(received + rank(1, "nan", "nan", "nan"));
  EXPECT_EQ(told(entered.verdict), "entered, input, Net/forward, 0, 1");
  EXPECT_TRUE(says(entered, "rank 0 has it, too, received"));
  EXPECT_EQ(ask_who(received + rank(1, "ok", "nan", "nan")), "produced, forward, a/forward, 0, 1");
  EXPECT_EQ(ask_who(received + rank(1, "ok", "ok", "nan")), "produced, forward, b/forward, 0, 0");
}

// A call that gathers what it computes gives NaN on all ranks. A second run ends before the collective.
TEST(OriginRanks, R10OfOneCallTheRankThatKnowsTheOperationMadeIt) {
  const auto rank = [](int number, const std::string& zoom) {
    return "#" + std::to_string(number) + "\n" + R"({"kind": "zoom", "iteration": 0, "op_name": "a/forward", )" + zoom +
           "}\n Net Net/forward i0 ok\n Gather a/forward o0 nan\n Net Net/forward o0 nan\n Loss loss o0 nan\n";
  };
  const std::string refused = rank(0, R"("result": "refused", "why": "all_gather changes more than its results")");
  EXPECT_EQ(ask_who(refused + rank(1, R"("result": "found", "operation": "sqrt", "inside": "a")")),
            "produced, forward, a/forward, 0, 1");
}

// Stages of a pipeline are other programs: what came in with the later one is what the first one made.
TEST(OriginRanks, R10OfOtherProgramsTheOrderSaysNothing) {
  EXPECT_EQ(ask_who("#0\n First First/forward i0 ok\n Log a/forward i0 ok\n Log a/forward o0 nan\n First "
                    "First/forward o0 nan\n#1\n Last Last/forward i0 nan\n Last Last/forward o0 nan\n"),
            "produced, forward, a/forward, 0, 0");
}

}  // namespace origin_ranks_test
}  // namespace tensorstat::test
