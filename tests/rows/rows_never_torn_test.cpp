// Several processes and threads write rows into one file: each row is there once and complete.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <map>
#include <thread>
#include <vector>

#include "stats/data/rows/append_file.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tensorstat {
namespace rows_never_torn_test {

std::string row_of(int process, int thread, int row) {
  return std::to_string(process) + "," + std::to_string(thread) + "," + std::to_string(row) + "," +
         std::string(static_cast<std::size_t>(60 + (row * 13 + thread) % 90), 'y') + "\n";
}

TEST(RowsNeverTorn, TwoProcessesOfEightThreads) {
  constexpr int kProcesses = 2, kThreads = 8;
  const int rows = std::getenv("TENSORSTAT_FULL") != nullptr ? 62500 : 2000;
  const ScratchFolder folder;
  const std::string path = folder / "statistic.csv";
  const auto start = std::chrono::steady_clock::now();
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    std::atomic<int> unwritten{0};
    {
      AppendFile file({.path = path, .header = "heading\n", .lock_deadline = std::chrono::minutes(1)},
                      std::make_shared<Notices>(nullptr));
      std::vector<std::thread> threads;
      for (int thread = 0; thread < kThreads; ++thread) {
        threads.emplace_back([&, thread] {
          for (int row = 0; row < rows; ++row) {
            unwritten += file.append(row_of(process, thread, row)) != AppendFile::Outcome::kWritten;
          }
        });
      }
      for (auto& thread : threads) thread.join();
    }
    _exit(unwritten == 0 ? 0 : 1);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0) << "a row was not acknowledged";
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::cout << kProcesses * kThreads * rows << " rows in " << took.count() << " s\n";

  const std::string text = content_of(path);
  ASSERT_TRUE(text.starts_with("heading\n"));
  std::map<std::pair<int, int>, int> next;  // the rows of a thread are in its order
  for (std::size_t start = 8; start < text.size();) {
    const auto end = text.find('\n', start) + 1;
    ASSERT_NE(end, 0u);
    const std::string line = text.substr(start, end - start);
    int process = -1, thread = -1, row = -1;
    ASSERT_EQ(std::sscanf(line.c_str(), "%d,%d,%d,", &process, &thread, &row), 3);
    ASSERT_EQ(line, row_of(process, thread, row));
    ASSERT_EQ(row, (next[{process, thread}]++));
    start = end;
  }
  EXPECT_EQ(next.size(), static_cast<std::size_t>(kProcesses * kThreads));
  for (const auto& [writer, count] : next) EXPECT_EQ(count, rows);
}

}  // namespace rows_never_torn_test
}  // namespace tensorstat
