// Dumping is started and stopped during training, iterations count from another number, and a backend can ask its
// session what to do. All from any thread.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/support/dump_session.hpp"

namespace tensorstat {
namespace session_run_time_test {

class SessionRunTime : public SessionTest {
 protected:
  bool wants(DumpSession& session, std::uint64_t iteration, std::uint32_t rank = 0) {
    return session.wants({.rank = rank, .iteration = iteration}, session.operator_named("Op", "x"));
  }

  const std::vector<float> values_{1, 2, 3};
};

TEST_F(SessionRunTime, WhatComesBetweenStartAndStopIsDumpedAtAnyIteration) {
  auto session = open(R"({"iteration": "5"})");
  const auto run = [&](std::uint64_t step) {
    collect(session, {.iteration = step}, "x", {tensor(values_, Dtype::kFloat32)});
    session.step_end({.iteration = step});
  };
  run(4);
  run(5);
  session.start();
  EXPECT_TRUE(wants(session, 0));
  run(6);
  run(7);
  EXPECT_TRUE(session.stop());
  EXPECT_FALSE(wants(session, 5)) << "the config's iterations count no longer";
  run(8);
  session.start();
  run(9);
  session.close();
  EXPECT_EQ(files(), (std::vector<std::string>{"rank_0/Net/0/5/statistic.csv", "rank_0/Net/0/6/statistic.csv",
                                               "rank_0/Net/0/7/statistic.csv", "rank_0/Net/0/9/statistic.csv"}));
}

// msprobe calls start and stop around every step, and its `step` selects among them. So does dump_step.
TEST_F(SessionRunTime, StepsOfMsprobeAndCannCountAfterStart) {
  const std::string path = folder.path();
  const std::string configs[] = {
      R"({"task": "statistics", "level": "L1", "step": [1], "dump_path": ")" + path + "\"}",
      R"({"task": "statistics", "level": "L2", "step": [1], "dump_path": ")" + path + "\"}",
      R"({"dump": {"dump_op_switch": "on", "dump_step": "1", "dump_path": ")" + path + "\"}}",
  };
  for (const std::string& config : configs) {
    auto session = DumpSession::from_json(config, options);
    ASSERT_TRUE(session) << session.error().message;
    const auto* op = session->operator_named("abs", "Mint.abs.0.forward");
    EXPECT_TRUE(session->wants({.iteration = 1}, op)) << config;
    for (std::uint64_t step = 0; step < 4; ++step) {
      session->start();
      EXPECT_EQ(session->wants({.iteration = step}, op), step == 1) << config << step;
      session->stop();
      EXPECT_FALSE(session->wants({.iteration = step}, op)) << config << step;
    }
  }
}

TEST_F(SessionRunTime, NothingIsLeftOfARankThatIsNotWanted) {
  auto session = DumpSession::from_json(
      R"({"task": "statistics", "level": "L2", "rank": [0], "dump_path": ")" + folder.path() + "\"}", options);
  ASSERT_TRUE(session) << session.error().message;
  for (const std::uint32_t rank : {0u, 1u}) {
    collect(*session, {.rank = rank}, "x", {tensor(values_, Dtype::kFloat32)});
    const std::string names[] = {"x"};
    session->save_execution_order(rank, 0, names);
    session->step_end({.rank = rank});
  }
  session->close();
  EXPECT_TRUE(std::filesystem::exists(folder / "rank_0/execution_order/ms_execution_order_graph_0.csv"));
  EXPECT_TRUE(std::filesystem::exists(folder / "rank_0/execution_order/ms_global_execution_order_graph_0.csv"));
  EXPECT_FALSE(std::filesystem::exists(folder / "rank_1"));
}

TEST_F(SessionRunTime, StopFirstMeansOffUntilStart) {
  auto session = open();
  EXPECT_TRUE(wants(session, 0));
  EXPECT_TRUE(session.stop());
  EXPECT_FALSE(wants(session, 0));
  EXPECT_FALSE(session.wants({.constants = true}, session.operator_named("Op", "x")));
  session.start();
  EXPECT_TRUE(wants(session, 0));
}

TEST_F(SessionRunTime, AllElseOfTheConfigCountsOn) {
  auto session = open(R"({"support_device": [1], "input_output": 1, "dump_mode": 1, "kernels": ["conv"]})");
  session.start();
  const auto* conv = session.operator_named("Op", "Default/Conv2D-op1");
  const auto* add = session.operator_named("Op", "Default/Add-op1");
  EXPECT_TRUE(session.wants({.device = 1}, conv, Io::kInput));
  EXPECT_FALSE(session.wants({.device = 1}, conv, Io::kOutput));
  EXPECT_FALSE(session.wants({.device = 1}, add));
  EXPECT_FALSE(session.wants({.device = 0}, conv));
  session.close();
  EXPECT_FALSE(session.wants({.device = 1}, conv));
}

TEST_F(SessionRunTime, InASynchronousDumpStopReturnsWhenAllIsInItsFile) {
  auto session = open("{}", R"({"enable": true})");
  session.start();
  collect(session, {}, "x", {tensor(values_, Dtype::kFloat32)});
  EXPECT_TRUE(session.stop());
  EXPECT_EQ(rows().size(), 1u);
}

TEST_F(SessionRunTime, IterationsAreCountedFromAnotherNumber) {
  auto session = open(R"({"iteration": "1002|2003", "initial_iteration": 1000})");
  EXPECT_TRUE(wants(session, 2));
  EXPECT_EQ(session.folder({.rank = 1, .graph = 4, .iteration = 2}), folder / "rank_1/Net/4/1002");
  session.set_initial_iteration(2000);
  EXPECT_FALSE(wants(session, 2));
  EXPECT_TRUE(wants(session, 3));
  EXPECT_EQ(session.folder({.rank = 1, .graph = 4, .iteration = 3}), folder / "rank_1/Net/4/2003");
  collect(session, {.iteration = 3}, "x", {tensor(values_, Dtype::kFloat32)});
  session.step_end({.iteration = 3});
  session.close();
  EXPECT_EQ(files(), std::vector<std::string>{"rank_0/Net/0/2003/statistic.csv"});
  EXPECT_EQ(content_of(folder / "rank_0/execution_order/ms_global_execution_order_graph_0.csv"), "2003\n");
}

TEST_F(SessionRunTime, TellsWhatABackendHasToDo) {
  struct Case {
    const char *common, *e2e;
    DumpDemands wanted;
  };
  const Case cases[] = {
      {R"({"saved_data": "tensor"})", "{}", {.tensors = true}},
      {R"({"saved_data": "statistic"})", "{}", {.statistics = true}},
      {R"({"saved_data": "full"})",
       R"({"trans_flag": false})",
       {.tensors = true, .statistics = true, .device_format = true}},
      {R"({"op_debug_mode": 3})", "{}", {.statistics = true, .whole_operators = true}},
      {R"({"op_debug_mode": 4})", "{}", {.tensors = true, .synchronised_operators = true}},
      {"{}", R"({"enable": true, "save_kernel_args": true})", {.statistics = true, .kernel_args = true}},
  };
  for (const auto& [common, e2e, wanted] : cases) {
    const DumpDemands demands = open(common, e2e).demands();
    EXPECT_EQ(demands.tensors, wanted.tensors) << common << e2e;
    EXPECT_EQ(demands.statistics, wanted.statistics) << common << e2e;
    EXPECT_EQ(demands.whole_operators, wanted.whole_operators) << common << e2e;
    EXPECT_EQ(demands.synchronised_operators, wanted.synchronised_operators) << common << e2e;
    EXPECT_EQ(demands.device_format, wanted.device_format) << common << e2e;
    EXPECT_EQ(demands.kernel_args, wanted.kernel_args) << common << e2e;
  }
}

TEST_F(SessionRunTime, TellsWhereItsFilesAre) {
  auto session = open();
  EXPECT_EQ(session.path(), folder.path());
  EXPECT_EQ(session.rank_folder(7), folder / "rank_7");
  EXPECT_EQ(session.folder({.rank = 7, .graph = 2, .constants = true}), folder / "rank_7/Net/2/constants");
  options.layout = DumpLayout::kByStep;
  auto by_step = open();
  EXPECT_EQ(by_step.folder({}), "") << "{time} is a part of it";
  EXPECT_EQ(by_step.rank_folder(7), folder / "rank_7");
  options.path = folder / "elsewhere";
  EXPECT_EQ(open().path(), folder / "elsewhere");
}

TEST_F(SessionRunTime, OfASessionThatWantsNothingIsNothing) {
  DumpSession nothing;
  nothing.start();
  nothing.set_initial_iteration(5);
  EXPECT_TRUE(nothing.stop());
  EXPECT_EQ(nothing.path() + nothing.rank_folder(0) + nothing.folder({}), "");
  EXPECT_FALSE(nothing.demands().statistics || nothing.demands().tensors);
}

// Everything that a thread hands over between its start() and its stop() is dumped. Of a run handed over while another
// thread switches, all or nothing is dumped.
TEST_F(SessionRunTime, ThreadsSwitchAndDumpAtOnce) {
  constexpr int kThreads = 3, kSteps = 100;
  constexpr std::uint64_t kMost = 1000;  // per thread
  auto session = open(R"({"iteration": "100000"})");
  const auto* op = session.operator_named("Op", "x");
  std::atomic<bool> done{false};
  std::atomic<std::uint64_t> offered{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      const DumpTensor pair[] = {tensor(values_, Dtype::kFloat32, Io::kInput), tensor(values_, Dtype::kFloat32)};
      std::uint64_t mine = 0;
      for (std::uint64_t step = 0; !done; ++step) {
        const DumpPlace place{.rank = static_cast<std::uint32_t>(thread), .iteration = step % 7};
        if (mine < kMost && session.wants(place, op)) {
          session.collect(place, op, pair);
          session.step_end(place);
          ++mine;
          ++offered;
        }
        session.set_initial_iteration(step % 3);
      }
    });
  }
  std::uint64_t surely = 0;
  for (int step = 0; step < kSteps; ++step) {
    session.start();
    const DumpTensor one = tensor(values_, Dtype::kFloat32);
    session.collect({.rank = 9, .iteration = 50}, op, {&one, 1});
    ++surely;
    session.stop();
    session.collect({.rank = 8, .iteration = 50}, op, {&one, 1});
  }
  session.start();
  while (offered < 20) std::this_thread::yield();
  done = true;
  for (std::thread& thread : threads) thread.join();
  session.close();
  std::uint64_t rows_of_threads = 0, rows_of_nine = 0;
  for (const std::string& file : files()) {
    EXPECT_FALSE(file.starts_with("rank_8/")) << "nobody else starts";
    (file.starts_with("rank_9/") ? rows_of_nine : rows_of_threads) += rows(file).size();
  }
  EXPECT_EQ(rows_of_nine, surely);
  EXPECT_EQ(rows_of_threads % 2, 0u);
  EXPECT_GE(rows_of_threads, 20u);
  EXPECT_LE(rows_of_threads, 2 * offered);
  EXPECT_EQ(session.counters().row_count, rows_of_threads + rows_of_nine);
}

}  // namespace session_run_time_test
}  // namespace tensorstat
