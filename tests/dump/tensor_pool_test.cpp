// The memory of tensors that wait for the disk: never more than the limit, and reused.
#include "stats/job/dump/session/tensor_pool.hpp"

#include <gtest/gtest.h>
#include <malloc.h>

#include <cstddef>
#include <cstdint>

namespace tensorstat {
namespace {

constexpr std::size_t kLarge = std::size_t{64} << 20;  // malloc maps memory of this size, and gives it back at once

TEST(TensorPool, ABufferCountsAgainstTheLimitUntilItIsDestroyed) {
  TensorPool pool(100);
  {
    const auto first = pool.take(60, 30);
    ASSERT_TRUE(first);
    EXPECT_EQ(pool.held_bytes(), 90u);
    EXPECT_FALSE(pool.take(11, 0));
    EXPECT_FALSE(pool.take(0, 11));
    EXPECT_TRUE(pool.take(10, 0));
    EXPECT_EQ(pool.held_bytes(), 90u);
  }
  EXPECT_EQ(pool.held_bytes(), 0u);
  EXPECT_EQ(pool.most_held_bytes(), 100u);
  EXPECT_FALSE(pool.take(101, 0));
  EXPECT_FALSE(pool.take(1, UINT64_MAX - 200));
  EXPECT_TRUE(pool.take(100, 0));
}

TEST(TensorPool, TheLastOneIsReusedUnlessItIsMoreThanTwiceAsLarge) {
  TensorPool pool(10'000);
  const std::byte* last = nullptr;
  {
    auto first = pool.take(200, 0), second = pool.take(200, 0);
    last = first.data();
    second = {};
    first = {};
  }
  const auto reused = pool.take(100, 0);
  EXPECT_EQ(reused.data(), last);
  EXPECT_EQ(pool.held_bytes(), 200u);  // all of it
  const auto made = pool.take(99, 0);
  EXPECT_EQ(pool.held_bytes(), 299u);
  const auto other = pool.take(201, 0);
  EXPECT_EQ(pool.held_bytes(), 500u);
}

TEST(TensorPool, SpareBuffersCountTooAndTheOldestIsFreedFirst) {
  const auto mapped_bytes = [] { return mallinfo2().hblkhd; };
  const std::size_t before = mapped_bytes();
  TensorPool pool(3 * kLarge + 4096);
  const std::byte* newer = nullptr;
  {
    auto first = pool.take(kLarge, 0), second = pool.take(kLarge, 0);
    if (mapped_bytes() < before + 2 * kLarge) GTEST_SKIP() << "this malloc does not say what it holds";
    newer = second.data();
    first = {};
    second = {};
  }
  EXPECT_GE(mapped_bytes(), before + 2 * kLarge);
  const auto large = pool.take(2 * kLarge, 0);
  ASSERT_TRUE(large);
  EXPECT_LT(mapped_bytes(), before + 4 * kLarge);
  EXPECT_EQ(pool.take(kLarge, 0).data(), newer);
}

}  // namespace
}  // namespace tensorstat
