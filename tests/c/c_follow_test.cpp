// A dump that grows is followed through C: each row once, findings when they are judged anew, and what cannot be read.
#include <gtest/gtest.h>
#include <tensorstat/tensorstat.h>

#include <memory>
#include <string>

#include "tests/support/scratch_folder.hpp"

namespace tensorstat {
namespace c_follow_test {

using Follower = std::unique_ptr<tensorstat_follower, decltype(&tensorstat_follower_free)>;

Follower following(const std::string& path, int findings) {
  tensorstat_follower* follower = nullptr;
  EXPECT_EQ(tensorstat_follow(path.c_str(), nullptr, findings, &follower), TENSORSTAT_OK) << tensorstat_last_error();
  return {follower, tensorstat_follower_free};
}

void append_rows(const ScratchFolder& folder, int iteration, int count) {
  const std::filesystem::path place = folder / ("rank_0/net/0/" + std::to_string(iteration));
  const bool is_new = std::filesystem::create_directories(place);
  std::ofstream file(place / "statistic.csv", std::ios::app);
  if (is_new) {
    file << "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min Value\n";
  }
  for (int i = 0; i < count; ++i) {
    file << "Add,add" << i << ",0,0," << 1000 + iteration << ",output,0,64,float32,\"(16)\",2,-1\n";
  }
}

std::uint64_t new_rows(const Follower& follower, const char** findings = nullptr) {
  std::uint64_t count = 99;
  EXPECT_EQ(tensorstat_follower_look(follower.get(), nullptr, nullptr, &count, findings), TENSORSTAT_OK)
      << tensorstat_last_error();
  return count;
}

TEST(CFollow, EachRowComesOnce) {
  const ScratchFolder folder;
  const Follower follower = following(folder.path(), 0);
  append_rows(folder, 0, 3);
  EXPECT_EQ(new_rows(follower), 3u);
  EXPECT_EQ(new_rows(follower), 0u);
  append_rows(folder, 0, 2);
  append_rows(folder, 1, 4);
  const char* findings = "";
  EXPECT_EQ(new_rows(follower, &findings), 6u);
  EXPECT_EQ(findings, nullptr) << "they were not asked for";
  EXPECT_EQ(tensorstat_follower_fault(follower.get(), 0), nullptr);
  EXPECT_GE(tensorstat_follower_pause(follower.get()), 250u);
  EXPECT_LE(tensorstat_follower_pause(follower.get()), 1500u);
}

TEST(CFollow, AFileThatCannotBeReadIsSaidOnce) {
  const ScratchFolder folder;
  append_rows(folder, 0, 3);
  std::filesystem::create_directories(folder / "rank_0/net/0/1");
  std::ofstream(folder / "rank_0/net/0/1/statistic.csv") << "a,b,c\n1,2,3\n";
  const Follower follower = following(folder.path(), 0);
  EXPECT_EQ(new_rows(follower), 3u);
  const char* fault = tensorstat_follower_fault(follower.get(), 0);
  ASSERT_NE(fault, nullptr);
  EXPECT_NE(std::string(fault).find("0/1/statistic.csv"), std::string::npos) << fault;
  EXPECT_EQ(tensorstat_follower_fault(follower.get(), 1), nullptr);
  EXPECT_EQ(new_rows(follower), 0u);
  EXPECT_EQ(tensorstat_follower_fault(follower.get(), 0), nullptr);
}

TEST(CFollow, NoFollowerHasNothingToSay) {
  EXPECT_EQ(tensorstat_follower_fault(nullptr, 0), nullptr);
  EXPECT_EQ(tensorstat_follower_pause(nullptr), 0u);
  tensorstat_follower_free(nullptr);
}

}  // namespace c_follow_test
}  // namespace tensorstat
