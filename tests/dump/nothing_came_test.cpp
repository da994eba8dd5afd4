// A config that selects nothing of what came says so when the session closes, once, with what did come.
#include <algorithm>

#include "tests/support/dump_session.hpp"

namespace tensorstat {
namespace nothing_came_test {

// A job: ranks 0 and 1, steps 0 to 2, forward and backward.
class NothingCame : public SessionTest {
 protected:
  struct Job {
    std::string config;
    bool with_inputs = true, with_outputs = true, with_step_ends = true;
    std::vector<std::string> names = {"Functional.relu.0.forward", "Functional.relu.0.backward"};
  };

  // The message about a dump that stayed empty.
  std::vector<std::string> told(const Job& job) {
    std::vector<std::string> all, told;
    DumpOptions options;
    options.path = folder.path();
    options.log = [&](Severity, std::string_view message) { all.emplace_back(message); };
    auto session = DumpSession::from_json(job.config, options);
    EXPECT_TRUE(session) << session.error().message;
    if (!session) return {};
    const std::vector<float> values{1, 2};
    for (std::uint64_t step = 0; step < 3; ++step) {
      for (std::uint32_t rank = 0; rank < 2; ++rank) {
        const DumpPlace place{.rank = rank, .device = rank, .iteration = step};
        for (const std::string& name : job.names) {
          std::vector<DumpTensor> tensors;
          if (job.with_inputs) tensors.push_back(tensor(values, Dtype::kFloat32, Io::kInput));
          if (job.with_outputs) tensors.push_back(tensor(values, Dtype::kFloat32));
          collect(*session, place, name, tensors);
        }
        if (job.with_step_ends) session->step_end(place);
      }
    }
    session->close();
    session->close();
    EXPECT_EQ(session->counters().tensor_count, 0u) << job.config;
    for (std::string& each : all) {
      if (each.starts_with("nothing was dumped: ")) told.push_back(each.substr(20));
    }
    return told;
  }
  using Lines = std::vector<std::string>;

  static std::string msprobe(const std::string& members, const std::string& task = "") {
    return R"({"task": "statistics", "dump_path": "/tmp/x", "statistics": {)" + task + "}, " + members + "}";
  }
  static std::string mindspore(const std::string& members) {
    return R"({"common_dump_settings": {"dump_mode": 0, "path": "/tmp/x", "net_name": "Net", "saved_data": "statistic",
               "kernels": [], "support_device": [0, 1], )" +
           members + R"(}, "e2e_dump_settings": {"enable": true, "trans_flag": true}})";
  }
  static std::string acl(const std::string& members) { return R"({"dump": {"dump_path": "/tmp/x", )" + members + "}}"; }
};

TEST_F(NothingCame, SaysRanksAndSteps) {
  EXPECT_EQ(told({msprobe(R"("level": "L1", "rank": [4, 5])")}),
            Lines{"of rank [4, 5] nothing came; ranks 0 to 1 did"});
  EXPECT_EQ(told({msprobe(R"("level": "L1", "step": [100])")}), Lines{"of step [100] nothing came; steps 0 to 2 did"});
  EXPECT_EQ(told({msprobe(R"("level": "L1", "rank": [1], "step": [7, 9])")}),
            Lines{"of step [7, 9] nothing came; steps 0 to 2 did"});
  EXPECT_EQ(told({.config = msprobe(R"("level": "L1", "step": [100])"), .with_step_ends = false}),
            Lines{"of step [100] nothing came; steps 0 to 2 did"});
  EXPECT_EQ(told({.config = msprobe(R"("level": "L1", "step": [100])"), .names = {}}),
            Lines{"of step [100] nothing came; steps 0 to 2 did"})
      << "a backend that asks before it names operators";
  EXPECT_EQ(told({msprobe(R"("level": "L2", "rank": [4])")}), Lines{"of rank [4] nothing came; ranks 0 to 1 did"});
  EXPECT_EQ(told({mindspore(R"("iteration": "7|9-12", "input_output": 0)")}),
            Lines{"of iteration [7, 9-12] nothing came; steps 0 to 2 did"});
  EXPECT_EQ(told({acl(R"("dump_data": "stats", "dump_step": "7", "dump_list": [{"model_name": "net"}])")}),
            Lines{"of dump_step [7] nothing came; steps 0 to 2 did"});
}

TEST_F(NothingCame, SaysOperatorsAndDirections) {
  EXPECT_EQ(told({msprobe(R"("level": "L0")")}),
            Lines{"none of the 2 operators that came is selected by level \"L0\" (modules), such as "
                  "Functional.relu.0.forward"});
  EXPECT_EQ(
      told({.config = msprobe(R"("level": "L1")", R"("data_mode": ["backward"])"),
            .names = {"Functional.relu.0.forward"}}),
      Lines{"none of the 1 operators that came is selected by level \"L1\" (APIs) and data_mode (backward), such as "
            "Functional.relu.0.forward"});
  EXPECT_EQ(told({msprobe(R"("level": "L1")", R"("scope": ["Functional.add.0.forward", "Functional.add.1.forward"])")}),
            Lines{"scope begins with Functional.add.0.forward, which did not come"});
  EXPECT_EQ(told({.config = msprobe(R"("level": "L1")", R"("data_mode": ["input"])"), .with_inputs = false}),
            Lines{"data_mode wants inputs, and only outputs came"});
  EXPECT_EQ(told({.config = mindspore(R"("iteration": "all", "input_output": 2)"), .with_outputs = false}),
            Lines{"input_output wants outputs, and only inputs came"});
  EXPECT_EQ(told({.config = acl(R"("dump_data": "stats", "dump_mode": "output", "dump_list": [{"model_name": "net"}])"),
                  .with_outputs = false}),
            Lines{"dump_mode wants outputs, and only inputs came"});
  EXPECT_EQ(
      told({acl(R"("dump_data": "stats", "dump_list": [{"model_name": "net", "layer": ["conv9"]}])")}),
      Lines{"none of the 2 operators that came is selected by dump.dump_list, such as Functional.relu.0.forward"});
  EXPECT_EQ(told({acl(R"("dump_data": "stats", "dump_level": "op", "dump_list": [{"model_name": "net", )"
                      R"("opname_range": [{"begin": "x", "end": "y"}]}])")}),
            Lines{"the models, blacklists and ranges of dump.dump_list leave nothing of what came"});
}

TEST_F(NothingCame, SaysWhatWasWaitedFor) {
  EXPECT_EQ(told({msprobe(R"("level": "debug")")}),
            Lines{"level \"debug\" dumps what save() is given, and nothing came"});
  EXPECT_EQ(told({mindspore(R"("iteration": "all", "input_output": 0, "op_debug_mode": 3)")}),
            Lines{"op_debug_mode 3, and no operator overflowed"});
  EXPECT_EQ(told({acl(R"("dump_debug": "on")")}), Lines{"dump_debug \"on\", and no operator overflowed"});
}

TEST_F(NothingCame, IsNotSaidOfDumpsThatHoldSomething) {
  for (const std::string& config :
       {msprobe(R"("level": "L1", "step": [1, 100])"), mindspore(R"("iteration": "2|7", "input_output": 0)"),
        acl(R"("dump_data": "stats", "dump_step": "0|9", "dump_list": [{"model_name": "net"}])")}) {
    std::vector<std::string> all;
    options.path = folder.path();
    options.log = [&](Severity, std::string_view message) { all.emplace_back(message); };
    auto session = DumpSession::from_json(config, options);
    ASSERT_TRUE(session) << session.error().message;
    const std::vector<float> values{1, 2};
    for (std::uint64_t step = 0; step < 3; ++step)
      collect(*session, {.iteration = step}, "Functional.relu.0.forward", {tensor(values, Dtype::kFloat32)});
    session->close();
    EXPECT_EQ(session->counters().tensor_count, 1u);
    EXPECT_EQ(all, std::vector<std::string>{}) << config;
    auto idle = DumpSession::from_json(config, options);
    ASSERT_TRUE(idle);
    idle->close();
    EXPECT_EQ(all, std::vector<std::string>{}) << "nothing was asked: " << config;
  }
}

TEST_F(NothingCame, UnknownKeysOfAclAreSaid) {
  options.path = folder.path();
  options.log = [&](Severity, std::string_view message) { messages.emplace_back(message); };
  const auto session = DumpSession::from_json(
      acl(R"("dump_exception": "on", "dump_list": [{"model_name": "net", "layers": ["a"]}])"), options);
  ASSERT_TRUE(session) << session.error().message;
  EXPECT_TRUE(was_said("dump has keys that mean nothing and are ignored: \"dump_exception\""));
  EXPECT_TRUE(was_said("dump.dump_list[] has keys that mean nothing and are ignored: \"layers\""));
}

}  // namespace nothing_came_test
}  // namespace tensorstat
