// Ranks, graphs and threads share a session, and processes share its files. No row is lost.
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "tests/support/dump_session.hpp"

namespace tensorstat {
namespace session_threads_test {

using SessionThreads = SessionTest;

TEST_F(SessionThreads, EightThreadsOnTwoRanks) {
  options.memory_bytes = 1 << 20;  // so small that some threads have to wait
  auto session = open();
  std::vector<std::thread> threads;
  for (std::uint32_t thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&, thread] {
      std::vector<float> values(5000);
      for (std::uint64_t step = 0; step < 5; ++step) {
        const DumpPlace place{.rank = thread % 2, .graph = thread / 4, .iteration = step};
        for (int i = 0; i < 20; ++i) {
          values[0] = static_cast<float>(thread * 1000 + i + 1);
          collect(session, place, "t" + std::to_string(thread) + "-op" + std::to_string(i),
                  {tensor(values, Dtype::kFloat32)});
        }
        session.step_end(place);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  session.close();
  int count = 0;
  for (const auto& file : files()) {
    for (const Row& row : rows(file)) {
      unsigned thread = 0, i = 0;
      ASSERT_EQ(std::sscanf(row.identity.op_name.c_str(), "t%u-op%u", &thread, &i), 2);
      EXPECT_EQ(row.statistics.values[0], Value{thread * 1000.0 + i + 1});
      EXPECT_NE(file.find("rank_" + std::to_string(thread % 2)), file.npos);
      ++count;
    }
  }
  EXPECT_EQ(files().size(), 20u);
  EXPECT_EQ(count, 8 * 5 * 20);
  EXPECT_EQ(session.counters().row_count, 800u);
}

TEST_F(SessionThreads, TwoProcessesIntoTheSameFiles) {
  const std::vector<float> values{1, 2};
  std::vector<pid_t> children;
  for (int process = 0; process < 2; ++process) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    {
      auto session = open();
      for (int i = 0; i < 200; ++i) {
        collect(session, {}, "p" + std::to_string(process) + "-op" + std::to_string(i),
                {tensor(values, Dtype::kFloat32)});
        if (i % 50 == 0) session.step_end({});
      }
    }
    _exit(0);
  }
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  std::set<std::string> names;
  for (const Row& row : rows()) EXPECT_TRUE(names.insert(row.identity.op_name).second);
  EXPECT_EQ(names.size(), 400u);
}

TEST_F(SessionThreads, AForkedChildDumpsNothingAndHangsNowhere) {
  auto session = open();
  const std::vector<float> values{1, 2};
  collect(session, {}, "parent", {tensor(values, Dtype::kFloat32)});
  const pid_t child = fork();
  if (child == 0) {
    collect(session, {}, "child", {tensor(values, Dtype::kFloat32)});
    session.step_end({});
    session.flush();
    session.close();
    { const DumpSession gone = std::move(session); }
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  collect(session, {}, "parent2", {tensor(values, Dtype::kFloat32)});
  session.close();
  ASSERT_EQ(rows().size(), 2u);
  EXPECT_EQ(rows()[1].identity.op_name, "parent2");
}

TEST_F(SessionThreads, AForkedChildWaitsForNoLockOfTheParents) {
  auto session = open();
  const std::vector<float> values{1, 2};
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    for (int i = 0; !stop; ++i) {
      const auto* op = session.operator_named("Op", "x" + std::to_string(i % 1000));
      session.collect({}, op, std::vector{tensor(values, Dtype::kFloat32)});
    }
  });
  for (int round = 0; round < 50; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(30);
      static_cast<void>(session.counters());
      const bool named = session.operator_named("Op", "child") != nullptr;
      session.step_end({});
      session.flush();
      _exit(named ? 1 : 0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  stop = true;
  busy.join();
}

TEST_F(SessionThreads, ASynchronousStepIsOnDiskWhenItHasEnded) {
  auto session = open("{}", R"({"enable": true})");
  const std::vector<float> values{1, 2};
  for (std::uint64_t step = 0; step < 20; ++step) {
    collect(session, {.iteration = step}, "x", {tensor(values, Dtype::kFloat32)});
    session.step_end({.iteration = step});
    EXPECT_EQ(rows("rank_0/Net/0/" + std::to_string(step) + "/statistic.csv").size(), 1u);
  }
}

}  // namespace session_threads_test
}  // namespace tensorstat
