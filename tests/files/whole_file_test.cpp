// A small file is read whole. A file that is not regular or is too large is refused before a byte is read.
#include "stats/data/files/io/whole_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/support/scratch_folder.hpp"

namespace tensorstat {
namespace whole_file_test {

std::string fault_of(const std::string& path, std::size_t most_bytes = 100) {
  const auto text = read_whole_file(path, most_bytes);
  return text ? "" : text.error().message;
}

TEST(WholeFile, IsReadUpToItsLimit) {
  ScratchFolder folder;
  const std::string text("a\0b\n", 4);
  std::ofstream(folder / "x") << text;
  EXPECT_EQ(*read_whole_file(folder / "x", 4), text);
  EXPECT_NE(fault_of(folder / "x", 3).find("has 4 bytes, and at most 3 are read"), std::string::npos);
  std::ofstream(folder / "empty").flush();
  EXPECT_EQ(*read_whole_file(folder / "empty", 0), "");
}

TEST(WholeFile, WhatIsNoRegularFileIsRefusedAtOnce) {
  ScratchFolder folder;
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_NE(fault_of(folder / "pipe").find("is no regular file"), std::string::npos) << "nobody ever writes it";
  EXPECT_NE(fault_of("/dev/zero").find("is no regular file"), std::string::npos) << "it never ends";
  EXPECT_NE(fault_of(folder.path()).find("is a directory"), std::string::npos);
  EXPECT_NE(fault_of(folder / "none").find("No such file"), std::string::npos);
  EXPECT_NE(fault_of(folder / "none").find(folder / "none"), std::string::npos);
}

}  // namespace whole_file_test
}  // namespace tensorstat
