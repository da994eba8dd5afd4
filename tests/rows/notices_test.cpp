// Each message is delivered once, in bounded memory, one at a time, and never during a hold.
#include "stats/data/rows/notices.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace tensorstat {
namespace notices_test {

TEST(Notices, EachThingOnceUpToABound) {
  std::vector<std::string> messages;
  Notices notices([&](Severity, std::string_view message) { messages.emplace_back(message); });
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = 0; i < 2 * Notices::kMostKeys; ++i) notices.warn_once("key " + std::to_string(i), "words");
  }
  EXPECT_EQ(messages.size(), Notices::kMostKeys);
}

TEST(Notices, WhatIsHeldBackComesInOrderAndIsBounded) {
  std::vector<std::string> messages;
  Notices notices([&](Severity, std::string_view message) { messages.emplace_back(message); });
  {
    const Notices::Hold outer(notices);
    {
      const Notices::Hold inner(notices);
      for (int i = 0; i < 1000; ++i) notices.warn(std::to_string(i));
    }
    EXPECT_TRUE(messages.empty());
  }
  ASSERT_EQ(messages.size(), Notices::kMostQueued);
  EXPECT_EQ(messages[0], "0");
  EXPECT_EQ(messages[100], "100");
  EXPECT_EQ(messages.back(), "further messages are left out");
}

TEST(Notices, OneAtATimeFromManyThreadsAndNoneIsLost) {
  std::atomic<int> inside{0}, calls{0};
  Notices notices([&](Severity, std::string_view) {
    EXPECT_EQ(++inside, 1);
    ++calls;
    --inside;
  });
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 50; ++i) notices.warn(std::to_string(thread * 100 + i));
    });
  }
  for (auto& thread : threads) thread.join();
  notices.deliver();
  EXPECT_EQ(calls, 200);
}

TEST(Notices, ALogThatSaysSomethingItself) {
  std::vector<std::string> messages;
  Notices* self = nullptr;
  Notices notices([&](Severity, std::string_view message) {
    messages.emplace_back(message);
    self->warn_once("again", "from the log");
  });
  self = &notices;
  notices.warn("first");
  EXPECT_EQ(messages, (std::vector<std::string>{"first", "from the log"}));
}

}  // namespace notices_test
}  // namespace tensorstat
