// With op_debug_mode 4 the inputs of an operator that failed are on disk before the job gives up.
#include "tests/support/dump_session.hpp"

namespace tensorstat {
namespace session_exception_test {

using SessionException = SessionTest;

TEST_F(SessionException, OnlyInputsOfOperatorsThatFailAtOnce) {
  auto session = open(R"({"op_debug_mode": 4, "iteration": "7", "saved_data": "full"})");
  const std::vector<float> values{1};
  const std::vector<DumpTensor> both{tensor(values, Dtype::kFloat32, Io::kInput),
                                     tensor(values, Dtype::kFloat32)};
  const auto* op = session.operator_named("Op", "x");
  EXPECT_FALSE(session.wants({}, op));
  EXPECT_TRUE(session.wants({}, op, true));
  EXPECT_TRUE(session.wants({}, op, Io::kInput, true));
  EXPECT_FALSE(session.wants({}, op, Io::kOutput, true));
  session.collect({}, op, both);
  session.flush();
  EXPECT_EQ(files().size(), 0u);
  session.collect({.iteration = 3}, op, both, true);
  ASSERT_EQ(files().size(), 1u) << "without a flush of ours";
  EXPECT_NE(files()[0].find("rank_0/Net/0/3/Op.x.0.0."), std::string::npos);
  EXPECT_NE(files()[0].find(".input.0."), std::string::npos);
}

}  // namespace session_exception_test
}  // namespace tensorstat
