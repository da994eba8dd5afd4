// With op_debug_mode 4, the inputs of a failed operator are on disk before the job ends.
#include "tests/support/dump_session.hpp"

namespace tensorstat {
namespace session_exception_test {

using SessionException = SessionTest;

TEST_F(SessionException, OnlyInputsOfOperatorsThatFailAtOnce) {
  auto session = open(R"({"op_debug_mode": 4, "iteration": "7", "saved_data": "full"})");
  const std::vector<float> values{1};
  const std::vector<DumpTensor> both{tensor(values, Dtype::kFloat32, Io::kInput), tensor(values, Dtype::kFloat32)};
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

// If nothing was dumped, the reason is reported.
TEST_F(SessionException, WhatABackendNeverGaveIsSaidAtTheEnd) {
  struct Case {
    const char *common, *e2e, *words;
  };
  const Case cases[] = {
      {R"({"op_debug_mode": 4})", "{}", "the backend said of none that it did"},
      {R"({"dump_mode": 2})", "{}", "no operator matched dump_mode 2"},
      {"{}", R"({"enable": true, "save_kernel_args": true})", "handed over no arguments of kernels"},
  };
  const std::vector<float> values{1};
  for (const bool is_given : {false, true}) {
    for (const auto& [common, e2e, words] : cases) {
      messages.clear();
      auto session = open(common, e2e);
      const auto* op = session.operator_named("Op", "x", is_given);
      const DumpTensor input = tensor(values, Dtype::kFloat32, Io::kInput);
      session.collect({}, op, {&input, 1}, is_given);
      const std::pair<std::string, std::string> argument{"axis", "1"};
      if (is_given) session.save_kernel_args({}, op, {&argument, 1});
      session.close();
      EXPECT_EQ(was_said(words), !is_given) << common << e2e;
    }
  }
  messages.clear();
  open(R"({"op_debug_mode": 4})").close();
  EXPECT_FALSE(was_said("the backend said")) << "it ran no operator";
}

}  // namespace session_exception_test
}  // namespace tensorstat
