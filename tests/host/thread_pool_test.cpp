// A call of the pool waits for all of its own pieces, even if they throw, and for no other call's pieces.
#include "host/thread_pool.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace tensorstat::host {
namespace thread_pool_test {

using namespace std::chrono_literals;

void wait_for(const std::atomic<bool>& flag) {
  while (!flag) std::this_thread::yield();
}

TEST(ThreadPool, ThrownByTheCallersPieceItWaitsForTheOthers) {
  ThreadPool pool(2);
  const auto caller = std::this_thread::get_id();
  for (int round = 0; round < 20; ++round) {
    std::atomic<bool> has_begun = false, has_ended = false;
    std::atomic<int> pieces = 0;
    const auto run = [&] {
      const std::vector<int> of_the_call(1000, 7);  // destroyed when this returns
      pool.run(1000, [&, of_the_call](std::size_t i) {
        pieces += of_the_call[i] / 7;
        if (std::this_thread::get_id() == caller) {
          wait_for(has_begun);
          throw std::bad_alloc();
        }
        // Slow pieces: the caller has a second to throw before the thread has done all of them.
        if (has_begun.exchange(true)) return std::this_thread::sleep_for(1ms);
        std::this_thread::sleep_for(5ms);
        pieces += of_the_call[i] - 7;
        has_ended = true;
      });
    };
    EXPECT_THROW(run(), std::bad_alloc);
    EXPECT_TRUE(has_ended) << "the call returned while a thread was at work for it";
    const int counted = pieces;
    EXPECT_LT(counted, 1000) << "what nobody had begun was done";
    std::atomic<int> next = 0;
    pool.run(100, [&](std::size_t) { ++next; });
    EXPECT_EQ(next, 100) << "the pool goes on";
    EXPECT_EQ(pieces, counted);
  }
}

TEST(ThreadPool, ThrownByAThreadsPieceItReachesTheCaller) {
  ThreadPool pool(3);
  const auto caller = std::this_thread::get_id();
  std::atomic<bool> has_thrown = false;
  try {
    pool.run(100, [&](std::size_t) {
      if (std::this_thread::get_id() == caller) return wait_for(has_thrown);
      has_thrown = true;
      throw std::length_error("too long");
    });
    FAIL() << "nothing was thrown";
  } catch (const std::length_error& fault) {
    EXPECT_STREQ(fault.what(), "too long");
  }
}

TEST(ThreadPool, AnExecutorSeesNothingOfWhatIsThrown) {
  int calls = 0;
  ThreadPool pool(4, [&](std::size_t count, const std::function<void(std::size_t)>& work) {
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_NO_THROW(work(i));
      ++calls;
    }
  });
  EXPECT_THROW(pool.run(8, [](std::size_t i) { i == 3 ? throw std::bad_alloc() : void(); }), std::bad_alloc);
  EXPECT_EQ(calls, 8);
}

// The first call can end only after the second one.
TEST(ThreadPool, CallsOfSeveralThreadsDoNotWaitForEachOther) {
  ThreadPool pool(2);
  std::promise<void> second_ended;
  const auto ended = second_ended.get_future().share();
  std::atomic<int> at_work = 0;
  std::atomic<bool> in_vain = false;
  std::thread first([&] {
    pool.run(2, [&](std::size_t) {
      ++at_work;
      if (ended.wait_for(60s) != std::future_status::ready) in_vain = true;
    });
  });
  while (at_work != 2) std::this_thread::yield();
  std::atomic<int> done = 0;
  pool.run(50, [&](std::size_t) { ++done; });
  second_ended.set_value();
  first.join();
  EXPECT_EQ(done, 50);
  EXPECT_FALSE(in_vain);
}

TEST(ThreadPool, EveryPieceOfEveryCallIsDoneOnce) {
  ThreadPool pool(3);
  std::vector<std::thread> callers;
  std::atomic<int> faults = 0;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&, caller] {
      for (int round = 0; round < 300; ++round) {
        std::vector<std::atomic<int>> times(static_cast<std::size_t>(1 + (round * 7 + caller) % 40));
        try {
          pool.run(times.size(), [&](std::size_t i) {
            ++times[i];
            if (round % 10 == 3 && i == 5) throw std::runtime_error("");
          });
          for (const auto& each : times) faults += each != 1;
        } catch (const std::runtime_error&) {
          for (const auto& each : times) faults += each > 1;
        }
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(faults, 0);
}

// The threads are the parent's. A child that waited for them would wait for ever.
TEST(ThreadPool, AForkedChildDestroysItAtOnce) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "TSan does not follow a process with threads that forks";
#endif
  auto pool = std::make_unique<ThreadPool>(4);
  std::atomic<int> pieces = 0;
  pool->run(100, [&](std::size_t) { ++pieces; });
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(30);  // ends a hang with a signal
    pool.reset();
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  pool->run(100, [&](std::size_t) { ++pieces; });
  EXPECT_EQ(pieces, 200);
}

}  // namespace thread_pool_test
}  // namespace tensorstat::host
