// The counters of a process under the layer: they outlive an exec, the sum is over all processes, and files of others
// are left out.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "stats/job/attach/tally.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tensorstat {
namespace attach_tally_test {

using attach::open_tally;
using attach::read_tallies;
using attach::Tally;
using attach::write_tally;

TEST(AttachTally, IsKeptInAFileForEachProcess) {
  const ScratchFolder folder;
  const std::string out = folder.path(), own = out + "/.attach/" + std::to_string(getpid());
  EXPECT_EQ(read_tallies(out).error().code, Code::kUnreadable);

  Tally& tally = open_tally(out);
  const auto loaded = read_tallies(out);
  ASSERT_TRUE(loaded) << "an unused layer has a file, too";
  EXPECT_EQ(loaded->processes, 1u);
  EXPECT_EQ(loaded->launches, 0u);

  tally.launches = 7;
  tally.measured = 5;
  tally.unknown_commands = 1;
  tally.left_out_because("the first reason");
  tally.left_out_because("another");
  write_tally();
  tally.launches = 100;  // not written: an exec loses it
  open_tally(out);
  EXPECT_EQ(tally.launches, 7u);
  EXPECT_EQ(tally.reason(), "the first reason");

  std::filesystem::copy_file(own, out + "/.attach/1");
  std::ofstream(out + "/.attach/2") << "no tally";
  std::ofstream(out + "/.attach/3", std::ios::binary) << content_of(own).substr(1);
  std::filesystem::create_directory(out + "/.attach/4");
  const auto total = read_tallies(out);
  ASSERT_TRUE(total);
  EXPECT_EQ(total->processes, 2u);
  EXPECT_EQ(total->launches, 14u);
  EXPECT_EQ(total->measured, 10u);
  EXPECT_EQ(total->unknown_commands, 2u);
  EXPECT_EQ(total->poisoned, 0u);
  EXPECT_EQ(total->reason, "the first reason");
}

}  // namespace attach_tally_test
}  // namespace tensorstat
