// The library's threads block the process's signals, except those for a thread's own faults.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <tensorstat/meter.hpp>
#include <thread>
#include <vector>

namespace tensorstat {
namespace thread_signals_test {

std::uint64_t blocked_by(const std::string& thread) {
  std::ifstream status("/proc/self/task/" + thread + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("SigBlk:")) return std::stoull(line.substr(7), nullptr, 16);
  }
  ADD_FAILURE() << "thread " << thread << " does not say what it blocks";
  return 0;
}

constexpr std::uint64_t bit(int signal) { return std::uint64_t{1} << (signal - 1); }

// A new thread blocks all signals until it runs.
std::uint64_t blocked_once_it_runs(const std::string& thread) {
  for (int i = 0; i < 6000; ++i) {
    const std::uint64_t blocked = blocked_by(thread);
    if ((blocked & bit(SIGSEGV)) == 0) return blocked;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return blocked_by(thread);
}

TEST(ThreadSignals, GoToTheApplicationsThreads) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "TSan has a thread of its own, which blocks all signals";
#endif
  const std::string self = std::to_string(getpid());
  const std::uint64_t before = blocked_by(self);
  const std::vector<float> data(8 << 20, 1.5f);
  const Tensor tensor{.dtype = Dtype::kFloat32, .element_count = data.size(), .address = data.data()};
  Meter meter({.threads = 4});
  ASSERT_TRUE(meter.measure({&tensor, 1}, {{Category::kAvg}, Precision::kHigh, On::kHost}));
  EXPECT_EQ(blocked_by(self), before) << "the caller's own";
  int threads = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    const std::string thread = entry.path().filename();
    if (thread == self) continue;
    ++threads;
    const std::uint64_t blocked = blocked_once_it_runs(thread);
    for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGTERM, SIGCHLD, SIGPIPE, SIGPROF}) {
      EXPECT_NE(blocked & bit(signal), 0u) << "signal " << signal;
    }
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL})
      EXPECT_EQ(blocked & bit(signal), 0u) << "signal " << signal;
  }
  EXPECT_EQ(threads, 3);
}

}  // namespace thread_signals_test
}  // namespace tensorstat
