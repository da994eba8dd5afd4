// The unfinished files of a killed process are removed by the next process. Those of a living process are not.
#include "stats/core/base/unfinished_files.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "stats/data/files/npy/npy_writer.hpp"
#include "tests/support/file_calls.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tensorstat {
namespace unfinished_files_test {

// Writes x.npy in a child process that dies just before the file gets its name.
void die_while_writing(const ScratchFolder& folder) {
  const pid_t child = fork();
  if (child == 0) {
    judge_file_call = [](FileCall call) { return Verdict{.die_before = call == FileCall::kRename}; };
    static_cast<void>(write_whole_file(folder / "x.npy", "words"));
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
}

int files_in(const ScratchFolder& folder) {
  const std::filesystem::directory_iterator files(folder.path());
  return static_cast<int>(std::distance(begin(files), end(files)));
}

TEST(UnfinishedFiles, OfAKilledProcessAreRemoved) {
  const ScratchFolder folder;
  die_while_writing(folder);
  die_while_writing(folder);
  ASSERT_EQ(files_in(folder), 2);
  std::ofstream(folder / "y.npy") << "another";
  remove_unfinished_files(folder.path());
  EXPECT_EQ(files_in(folder), 1);
  EXPECT_EQ(content_of(folder / "y.npy"), "another");
  remove_unfinished_files(folder / "no such folder");
}

TEST(UnfinishedFiles, OfOthersAndBehindALinkStay) {
  const ScratchFolder folder, elsewhere;
  std::ofstream(elsewhere / ".new-photos") << "somebody's";
  std::filesystem::create_directory_symlink(elsewhere.path(), folder / "link");
  remove_unfinished_files(folder / "link");
  EXPECT_EQ(files_in(elsewhere), 1);
  if (::geteuid() != 0 || ::chown((elsewhere / ".new-photos").c_str(), 65534, 65534) != 0) {
    GTEST_SKIP() << "nobody here may give a file away";
  }
  remove_unfinished_files(elsewhere.path());
  EXPECT_EQ(files_in(elsewhere), 1);
}

const ScratchFolder* where = nullptr;
int calls_until_cleaning = 0;

TEST(UnfinishedFiles, OfALivingProcessStay) {
  const ScratchFolder folder;
  where = &folder;
  // A cleanup runs just before the nth file call of the write.
  for (int nth = 1; nth <= 12; ++nth) {
    calls_until_cleaning = nth;
    judge_file_call = [](FileCall) {
      if (--calls_until_cleaning == 0) remove_unfinished_files(where->path());
      return Verdict{};
    };
    const Status written = write_whole_file(folder / std::to_string(nth), "words");
    judge_file_call = nullptr;
    EXPECT_TRUE(written) << written.error().message;
  }
  EXPECT_EQ(files_in(folder), 12);
}

TEST(UnfinishedFiles, ANameThatIsTakenIsNoFault) {
  const ScratchFolder folder;
  ASSERT_TRUE(write_whole_file(folder / "first", "words"));
  // As from a process with the same number in another container.
  for (int i = 0; i < 60; ++i) {
    std::ofstream(folder / (".new-" + std::to_string(getpid()) + "-" + std::to_string(i))) << "left";
  }
  const Status written = write_whole_file(folder / "second", "words");
  EXPECT_TRUE(written) << written.error().message;
  EXPECT_EQ(content_of(folder / "second"), "words");
}

}  // namespace unfinished_files_test
}  // namespace tensorstat
