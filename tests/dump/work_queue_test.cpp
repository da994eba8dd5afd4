// A queue of work does every item once, in the order of posting, whoever does the work and whenever it is closed.
#include "stats/job/dump/session/work_queue.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

namespace tensorstat {
namespace work_queue_test {

struct Item {
  int number = 0;
  std::function<void()> on_death;  // the caller's code

  explicit Item(int n, std::function<void()> f = {}) : number(n), on_death(std::move(f)) {}
  Item(Item&& other) noexcept : number(other.number), on_death(std::exchange(other.on_death, {})) {}
  ~Item() {
    if (on_death) on_death();
  }
};

using Queue = WorkQueue<Item>;

struct Recorder final : Queue::Worker {
  void work_on(Queue::Items& items) noexcept override {
    EXPECT_FALSE(is_at_work.exchange(true)) << "two threads work";
    for (const Item& item : items) done.push_back(item.number);
    last = std::this_thread::get_id();
    is_at_work = false;
  }
  bool runs_callers_code(const Item& item) const noexcept override { return item.on_death != nullptr; }

  std::atomic<bool> is_at_work{false};
  std::vector<int> done;
  std::thread::id last;
};

std::vector<int> up_to(int end) {
  std::vector<int> numbers;
  for (int i = 0; i < end; ++i) numbers.push_back(i);
  return numbers;
}

class WorkQueueOfNumbers : public testing::Test {
 protected:
  Notices notices{Log()};
  Recorder recorder;
};

TEST_F(WorkQueueOfNumbers, DoesAllInOrderBeforeDrainReturns) {
  Queue queue(recorder, notices);
  for (int i = 0; i < 1000; ++i) {
    queue.post(Item(i));
    if (i % 97 == 0) {
      queue.drain();
      EXPECT_EQ(recorder.done, up_to(i + 1));
    }
  }
  queue.drain();
  EXPECT_EQ(recorder.done, up_to(1000));
  EXPECT_EQ(queue.unfinished(), 0u);
}

TEST_F(WorkQueueOfNumbers, CloseDoesWhatIsLeftAndLaterItemsAreDoneByTheirThread) {
  Queue queue(recorder, notices);
  for (int i = 0; i < 500; ++i) queue.post(Item(i));
  queue.close();
  EXPECT_EQ(recorder.done, up_to(500));
  queue.post(Item(500));
  EXPECT_EQ(recorder.done, up_to(501));
  EXPECT_EQ(recorder.last, std::this_thread::get_id());
  queue.close();
}

TEST_F(WorkQueueOfNumbers, DestructionDoesWhatIsLeft) {
  {
    Queue queue(recorder, notices);
    for (int i = 0; i < 300; ++i) queue.post(Item(i));
  }
  EXPECT_EQ(recorder.done, up_to(300));
}

// The queue's thread sleeps when nothing has come for a tenth of a second.
TEST_F(WorkQueueOfNumbers, AnItemWakesASleepingQueue) {
  Queue queue(recorder, notices);
  queue.post(Item(0));
  queue.drain();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  queue.post(Item(1));
  const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (queue.unfinished() != 0 && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
  EXPECT_EQ(queue.unfinished(), 0u) << "after a minute";
}

// The thread in drain() may hold a lock that an item's destructor takes. So it leaves these items to the queue's
// thread.
TEST_F(WorkQueueOfNumbers, DrainNeverRunsTheCallersCode) {
  std::atomic<int> deaths{0}, deaths_here{0};
  const auto here = std::this_thread::get_id();
  {
    Queue queue(recorder, notices);
    for (int i = 0; i < 200; ++i) {
      queue.post(Item(i, [&] { ++(std::this_thread::get_id() == here ? deaths_here : deaths); }));
      if (i % 10 == 0) queue.drain();
    }
    queue.close();
  }
  EXPECT_EQ(deaths, 200);
  EXPECT_EQ(deaths_here, 0);
  EXPECT_EQ(recorder.done, up_to(200));
}

// The caller's code runs on the queue's thread, and may wait for the queue or close it.
TEST_F(WorkQueueOfNumbers, TheCallersCodeMayDrainAndClose) {
  Queue queue(recorder, notices);
  std::atomic<bool> is_closed{false};
  queue.post(Item(0, [&] { queue.drain(); }));
  queue.post(Item(1, [&] {
    queue.close();
    is_closed = true;
  }));
  for (int i = 2; i < 100; ++i) queue.post(Item(i));
  queue.close();
  while (!is_closed) std::this_thread::yield();
  std::vector<int> sorted = recorder.done;
  std::ranges::sort(sorted);
  EXPECT_EQ(sorted, up_to(100));
}

TEST_F(WorkQueueOfNumbers, ManyThreadsPostAndDrain) {
  constexpr int kThreads = 8, kEach = 500;
  {
    Queue queue(recorder, notices);
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < kEach; ++i) {
          queue.post(Item(t * kEach + i));
          if (i % 50 == t) queue.drain();
        }
      });
    }
  }
  EXPECT_EQ(recorder.done.size(), static_cast<std::size_t>(kThreads * kEach));
  std::vector<int> next(kThreads);
  for (const int number : recorder.done) EXPECT_EQ(number % kEach, next[number / kEach]++);
}

}  // namespace work_queue_test
}  // namespace tensorstat
