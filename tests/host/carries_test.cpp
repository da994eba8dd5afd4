// A fold propagates the carries of its sums after 2^26 elements at the latest. A word of them overflows after 2^30 that
// are as large as elements can be.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "host/simd/folder.hpp"
#include "stats/core/engine/accumulator_layout.hpp"

namespace tensorstat {
namespace carries_test {

TEST(Carries, ArePropagatedInTime) {
  constexpr Dtype kDtype = Dtype::kInt8;
  const Needs kNeeds = needs(Category::kAvg) | needs(Category::kL2norm);
  std::vector<std::int64_t> words(partial_words(kDtype, kNeeds));
  host::Folder folder(kDtype, Precision::kHigh, kNeeds, words);
  const std::size_t end = std::min(first_element(kDtype), words.size());  // the sums are before it
  for (std::size_t i = PARTIAL_FIELDS; i < end; ++i) words[i] = std::int64_t{3} << 60;
  std::vector<std::int64_t> carried = words;
  carry(kDtype, carried);
  const std::vector<std::byte> zeros(1 << 20);
  for (int i = 0; i < 64; ++i) folder.take(zeros);
  for (std::size_t i = PARTIAL_FIELDS; i < end; ++i) EXPECT_EQ(words[i], carried[i]) << "word " << i;
}

}  // namespace carries_test
}  // namespace tensorstat
