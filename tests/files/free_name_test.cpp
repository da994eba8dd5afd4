// A file gets a free name whatever the file system has: RENAME_NOREPLACE, hard links, or neither. A name that is taken
// is left as it is.
#include "stats/data/files/io/free_name.hpp"

#include <gtest/gtest.h>

#include "tests/support/file_calls.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tensorstat {
namespace free_name_test {

struct FileSystem {
  const char* name;
  int of_rename, of_link;  // errno of the calls; 0: it has them
};

class FreeName : public testing::TestWithParam<FileSystem> {
 protected:
  FreeName() {
    judge_file_call = [](FileCall call) {
      const FileSystem& file_system = GetParam();
      const int error = call == FileCall::kRenameToFree ? file_system.of_rename
                        : call == FileCall::kLink       ? file_system.of_link
                                                        : 0;
      return Verdict{.error = error};
    };
    std::ofstream(folder_ / "from") << "the file";
  }
  ~FreeName() override { judge_file_call = nullptr; }

  ScratchFolder folder_;
};

TEST_P(FreeName, IsGiven) {
  EXPECT_EQ(move_to_free_name(folder_ / "from", folder_ / "to"), 0);
  EXPECT_EQ(content_of(folder_ / "to"), "the file");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "from"));
}

TEST_P(FreeName, ThatIsTakenStays) {
  std::ofstream(folder_ / "to") << "another";
  EXPECT_EQ(move_to_free_name(folder_ / "from", folder_ / "to"), EEXIST);
  EXPECT_EQ(content_of(folder_ / "to"), "another");
  EXPECT_EQ(content_of(folder_ / "from"), "the file");
}

TEST_P(FreeName, IsNotTakenByAFileThatIsMissing) {
  EXPECT_EQ(move_to_free_name(folder_ / "missing", folder_ / "to"), ENOENT);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "to"));
}

INSTANTIATE_TEST_SUITE_P(All, FreeName,
                         testing::Values(FileSystem{"ext4", 0, 0}, FileSystem{"nfs", EINVAL, 0},
                                         FileSystem{"fuse", EINVAL, EPERM}, FileSystem{"old_fuse", ENOSYS, ENOSYS}),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace free_name_test
}  // namespace tensorstat
