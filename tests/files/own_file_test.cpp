// A descriptor that the program closed and gave to another file is not used: nothing is written to, read from or closed
// in the program's file.
#include "stats/data/files/io/own_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "stats/data/files/io/open_file.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tensorstat {
namespace own_file_test {

int opened(const std::string& path) { return open_file(path.c_str(), O_RDWR | O_CREAT | O_APPEND, 0600); }

TEST(OwnFile, LendsItsDescriptorWhileItIsItsOwn) {
  ScratchFolder folder;
  OwnFile file(opened(folder / "ours"));
  ASSERT_GT(file.descriptor(), 2);
  EXPECT_EQ(file.descriptor(), file.descriptor());
  OwnFile moved = std::move(file);
  EXPECT_LT(file.descriptor(), 0);
  EXPECT_GT(moved.descriptor(), 2);
  EXPECT_EQ(moved.close(), 0);
  EXPECT_FALSE(moved.is_open());
}

// The program's next file gets the number, and may get the inode of a file that was removed, too.
TEST(OwnFile, NeitherUsesNorClosesTheProgramsFile) {
  for (const bool is_removed : {false, true}) {
    ScratchFolder folder;
    int theirs = -1;
    {
      OwnFile file(opened(folder / "ours"));
      const int number = file.descriptor();
      close(number);
      EXPECT_LT(file.descriptor(), 0);
      EXPECT_EQ(errno, EBADF);
      if (is_removed) unlink((folder / "ours").c_str());
      theirs = opened(folder / "theirs");
      ASSERT_EQ(theirs, number);
      EXPECT_LT(file.descriptor(), 0);
      EXPECT_EQ(file.close(), 0);
    }
    EXPECT_GE(fcntl(theirs, F_GETFD), 0) << "it was closed";
    close(theirs);
  }
}

TEST(OwnFile, IsOpenedAgainUnderTheNumberThatItLost) {
  ScratchFolder folder;
  OwnFile file(opened(folder / "ours"));
  const int number = file.descriptor();
  close(number);
  OwnFile again(opened(folder / "ours"));
  ASSERT_EQ(again.descriptor(), number);
  file = std::move(again);
  EXPECT_EQ(file.descriptor(), number);
}

TEST(OwnFile, KnowsTheSameFile) {
  ScratchFolder folder;
  const OwnFile one(opened(folder / "a")), again(opened(folder / "a")), other(opened(folder / "b")), none;
  EXPECT_TRUE(one.is_same_as(again));
  EXPECT_FALSE(one.is_same_as(other));
  EXPECT_FALSE(one.is_same_as(none));
  EXPECT_FALSE(none.is_same_as(none));
}

}  // namespace own_file_test
}  // namespace tensorstat
