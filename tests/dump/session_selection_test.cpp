// A session dumps what its config selects. wants() gives the same answer beforehand.
#include <chrono>
#include <cstdlib>
#include <iostream>

#include "tests/support/dump_session.hpp"

namespace tensorstat {
namespace session_selection_test {

class SessionSelection : public SessionTest {
 protected:
  // Hands over an input and an output. Returns which were dumped: "i", "o", "io" or "".
  std::string dumped(DumpSession& session, const DumpPlace& place, const std::string& name, bool set_dump = false) {
    const std::vector<float> values{1, 2};
    const auto* op = session.operator_named("Op", name, set_dump);
    const DumpTensor both[] = {tensor(values, Dtype::kFloat32, Io::kInput),
                               tensor(values, Dtype::kFloat32, Io::kOutput)};
    const auto before = session.counters().tensor_count;
    session.collect(place, op, both);
    session.flush();
    const auto count = session.counters().tensor_count - before;
    const bool input = session.wants(place, op, Io::kInput), output = session.wants(place, op, Io::kOutput);
    EXPECT_EQ(count, static_cast<std::uint64_t>(input + output)) << "the query was wrong";
    EXPECT_EQ(session.wants(place, op), input || output);
    return std::string(input ? "i" : "") + (output ? "o" : "");
  }
};

TEST_F(SessionSelection, ByIteration) {
  auto session = open(R"({"iteration": "0 | 5-8", "initial_iteration": 3})");
  for (const std::uint64_t iteration : {0, 1, 2, 5, 6}) {
    const bool wanted = iteration >= 2 && iteration <= 5;
    EXPECT_EQ(dumped(session, {.iteration = iteration}, "x"), wanted ? "io" : "") << iteration;
  }
  session.close();
  EXPECT_EQ(files(), (std::vector<std::string>{"rank_0/Net/0/5/statistic.csv", "rank_0/Net/0/8/statistic.csv"}))
      << "folders count from initial_iteration too";
}

TEST_F(SessionSelection, ByDevice) {
  auto session = open(R"({"support_device": [1, 9]})");
  EXPECT_EQ(dumped(session, {.device = 0}, "x"), "");
  EXPECT_EQ(dumped(session, {.device = 1}, "x"), "io");
  EXPECT_EQ(dumped(session, {.rank = 1, .device = 9}, "x"), "io");
  EXPECT_EQ(dumped(session, {.device = 2}, "x"), "");
  EXPECT_EQ(dumped(session, {.device = 0}, "y"), "");
  EXPECT_TRUE(was_said("nothing of device 0 is dumped: support_device lists 1, 9"));
  EXPECT_TRUE(was_said("nothing of device 2 is dumped: support_device lists 1, 9"));
}

TEST_F(SessionSelection, AnEmptyListOfDevicesIsSaid) {
  auto session = open(R"({"support_device": []})");
  EXPECT_EQ(dumped(session, {.device = 0}, "x"), "");
  EXPECT_TRUE(was_said("nothing of device 0 is dumped: support_device lists no device"));
}

TEST_F(SessionSelection, OnACpuTheListOfDevicesIsNotLookedAt) {
  options.device_target = "CPU";
  for (const char* devices : {"[]", "[9]"}) {
    auto session = open(R"({"support_device": )" + std::string(devices) + "}");
    EXPECT_EQ(dumped(session, {.device = 0}, "x"), "io") << devices;
  }
  EXPECT_FALSE(was_said("support_device"));
}

TEST_F(SessionSelection, OptionsMayBringThePath) {
  options.path = folder / "else where";
  auto session = open(R"({"path": null})");
  EXPECT_EQ(dumped(session, {}, "x"), "io");
  session.close();
  EXPECT_EQ(files(), std::vector<std::string>{"else where/rank_0/Net/0/0/statistic.csv"});
}

TEST_F(SessionSelection, ByInputAndOutput) {
  for (const auto& [value, expected] : {std::pair("0", "io"), {"1", "i"}, {"2", "o"}}) {
    auto session = open(R"({"input_output": )" + std::string(value) + "}");
    EXPECT_EQ(dumped(session, {.graph = static_cast<std::uint32_t>(*value)}, "x"), expected);
  }
}

TEST_F(SessionSelection, ByKernels) {
  auto session = open(R"({"dump_mode": 1, "kernels": ["conv", "Default/Add-op1", "never"]})");
  EXPECT_EQ(dumped(session, {}, "Default/Conv2D-op3"), "io");
  EXPECT_EQ(dumped(session, {}, "Default/Add-op1"), "io");
  EXPECT_EQ(dumped(session, {}, "Default/Add-op2"), "");
  EXPECT_EQ(dumped(session, {}, "Default/Conv2D-op3", true), "io");
  session.close();
  EXPECT_TRUE(was_said("no operator matched the entry never"));
}

TEST_F(SessionSelection, BySetDump) {
  auto session = open(R"({"dump_mode": 2})");
  EXPECT_EQ(dumped(session, {}, "x"), "");
  EXPECT_EQ(dumped(session, {}, "x", true), "io");
}

TEST_F(SessionSelection, RanksGraphsAndConstantsHaveFoldersOfTheirOwn) {
  auto session = open(R"({"iteration": "7"})");
  EXPECT_EQ(dumped(session, {.rank = 1, .graph = 2, .iteration = 7}, "x"), "io");
  EXPECT_EQ(dumped(session, {.rank = 0, .graph = 3, .constants = true}, "data-1"), "io");
  session.close();
  EXPECT_EQ(files(),
            (std::vector<std::string>{"rank_0/Net/3/constants/statistic.csv", "rank_1/Net/2/7/statistic.csv"}));
}

TEST_F(SessionSelection, AClosedOrEmptySessionWantsNothing) {
  auto session = open();
  const auto* op = session.operator_named("Op", "x");
  EXPECT_TRUE(session.wants({}, op));
  EXPECT_FALSE(session.wants({}, nullptr));
  session.close();
  EXPECT_FALSE(session.wants({}, op));
  session.collect({}, op, {});
  session.step_end({});
  session.flush();

  DumpSession nothing;
  EXPECT_FALSE(nothing.enabled());
  EXPECT_EQ(nothing.operator_named("Op", "x"), nullptr);
  EXPECT_FALSE(nothing.wants({}, nullptr));
  nothing.collect({}, nullptr, {});
  nothing.step_end({});
  nothing.close();
  unsetenv("MINDSPORE_DUMP_CONFIG");
  const auto from_environment = DumpSession::from_environment(options);
  ASSERT_TRUE(from_environment);
  EXPECT_FALSE(from_environment->enabled());
  EXPECT_FALSE(DumpSession::from_json("{", options));
  EXPECT_FALSE(DumpSession::from_file("/none.json", options));
}

TEST_F(SessionSelection, CostOfAQueryThatIsNotWanted) {
  auto session = open(R"({"iteration": "100|200-300|1000", "dump_mode": 1, "kernels": ["conv"]})");
  const auto* conv = session.operator_named("Op", "Default/Conv2D-op1");
  const auto* add = session.operator_named("Op", "Default/Add-op1");
  constexpr int kQueries = 2000000;
  int wanted = 0;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kQueries; ++i) {
    wanted += session.wants({.iteration = 5u + (i & 1)}, (i & 2) != 0 ? conv : add, Io::kOutput);
  }
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
  std::cout << "a query that is not wanted: " << took.count() / kQueries << " ns\n";
  EXPECT_EQ(wanted, 0);
}

}  // namespace session_selection_test
}  // namespace tensorstat
