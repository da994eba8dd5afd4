// No other user can influence which program is run as this user: not through the file, not through a folder or symbolic
// link on its path, and not by replacing it between the check and the start.
#include "kernels-cl/trial/trusted_program.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>

#include "kernels-cl/trial/subprocess.hpp"
#include "tests/support/npy_files.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tensorstat::cl_engine {
namespace trusted_program_test {

namespace fs = std::filesystem;

constexpr uid_t kSomebody = 65534;

class TrustedProgramTest : public testing::Test {
 protected:
  // A program that prints `word`.
  std::string program(const std::string& name, const std::string& word) {
    const std::string path = folder_ / name;
    fs::create_directories(fs::path(path).parent_path());
    test::write_file(path, "#!/bin/sh\nprintf " + word + "\n");
    chmod(path.c_str(), 0755);
    return path;
  }
  static std::string refusal(const std::string& path) {
    auto opened = TrustedProgram::open(path);
    return opened ? "" : opened.error().message;
  }
  static std::string said(const TrustedProgram& program) {
    return Subprocess(program, {}).wait(std::chrono::minutes(1)).output;
  }
  static std::string said(const std::string& path) {
    auto opened = TrustedProgram::open(path);
    return opened ? said(*opened) : "refused: " + opened.error().message;
  }

  const ScratchFolder folder_{folder_of_this_program()};
};

TEST_F(TrustedProgramTest, RunsWhatRootOrTheUserHasPutThere) {
  const std::string path = program("here/program", "good");
  EXPECT_EQ(said(path), "good");
  EXPECT_EQ(said("/" + path), "good");
  EXPECT_EQ(said(folder_ / "here/./../here//program"), "good");
  fs::create_symlink("here", folder_ / "there");
  fs::create_symlink(folder_ / "there/program", folder_ / "link");
  EXPECT_EQ(said(folder_ / "link"), "good");
  if (geteuid() == 0) {
    ASSERT_EQ(chown(path.c_str(), 0, 12345), 0);  // a group without write permission
    EXPECT_EQ(said(path), "good");
  }
}

TEST_F(TrustedProgramTest, RefusesAFileThatOthersCanChange) {
  const std::string path = program("program", "bad");
  chmod(path.c_str(), 0775);
  EXPECT_EQ(refusal(path), path + " can be written by its group");
  chmod(path.c_str(), 0757);
  EXPECT_EQ(refusal(path), path + " can be written by everybody");
  chmod(path.c_str(), 0755);
  EXPECT_EQ(refusal(path), "");
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  ASSERT_EQ(chown(path.c_str(), kSomebody, 0), 0);
  EXPECT_PRED_FORMAT2(testing::IsSubstring, path + " belongs to user 65534", refusal(path)) << refusal(path);
}

TEST_F(TrustedProgramTest, RefusesAFolderThatOthersCanChange) {
  const std::string path = program("a/b/program", "bad");
  const std::string a = folder_ / "a";
  for (const mode_t mode : {0777, 0775}) {
    chmod(a.c_str(), mode);
    EXPECT_PRED_FORMAT2(testing::IsSubstring, a + " can be written by", refusal(path)) << mode << refusal(path);
  }
  chmod(a.c_str(), 0755);
  EXPECT_EQ(refusal(path), "");
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  ASSERT_EQ(chown(a.c_str(), kSomebody, 0), 0);
  EXPECT_PRED_FORMAT2(testing::IsSubstring, a + " belongs to user 65534", refusal(path)) << refusal(path);
}

// /tmp and similar folders: other users can create files there, but can neither change nor replace a folder of root or
// of this user.
TEST_F(TrustedProgramTest, TakesOnlyAFolderFromAFolderWithTheStickyBit) {
  const std::string inside = program("shared/mine/program", "good"), beside = program("shared/program", "bad");
  chmod((folder_ / "shared").c_str(), 01777);
  EXPECT_EQ(said(inside), "good");
  EXPECT_EQ(refusal(beside), beside + " lies in a folder where other users can make files and links");
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  ASSERT_EQ(chown((folder_ / "shared/mine").c_str(), kSomebody, 0), 0);
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "/shared/mine belongs to user 65534", refusal(inside)) << refusal(inside);
}

// Even if the link leads to a folder that nobody else can write: whoever can change the link chooses the program.
TEST_F(TrustedProgramTest, RefusesALinkThatOthersCanChange) {
  const std::string good = program("good", "good");
  fs::create_directory(folder_ / "open");
  const std::string link = folder_ / "open/link";
  fs::create_symlink(good, link);
  fs::create_symlink(folder_.path(), folder_ / "open/folder");
  EXPECT_EQ(said(link), "good");
  chmod((folder_ / "open").c_str(), 01777);
  EXPECT_EQ(refusal(link), link + " lies in a folder where other users can make files and links");
  EXPECT_EQ(refusal(folder_ / "open/folder/good"),
            folder_ / "open/folder" + " lies in a folder where other users can make files and links");
  chmod((folder_ / "open").c_str(), 0755);
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a link away";
  ASSERT_EQ(lchown(link.c_str(), kSomebody, 0), 0);
  EXPECT_PRED_FORMAT2(testing::IsSubstring, link + " belongs to user 65534", refusal(link)) << refusal(link);
}

TEST_F(TrustedProgramTest, RefusesWhatIsNoFile) {
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "is not a regular file", refusal(folder_.path()));
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "missing cannot be opened: No such file or directory",
                      refusal(folder_ / "missing"));
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "is not a regular file", refusal(folder_ / "pipe"));
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "Not a directory", refusal(program("program", "good") + "/more"));
  fs::create_symlink("loop", folder_ / "loop");
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "too many symbolic links", refusal(folder_ / "loop"));
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "is not an absolute path", refusal("program"));
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "is not an absolute path", refusal(""));
}

// While a link alternates quickly between a good and a bad program, only the good one ever runs.
TEST_F(TrustedProgramTest, RunsWhatWasJudgedWhileALinkIsFlipped) {
  const std::string good = program("good", "good"), bad = program("bad", "bad");
  chmod(bad.c_str(), 0777);
  const std::string link = folder_ / "link", next = folder_ / "next";
  fs::create_symlink(good, link);
  std::atomic<bool> enough{false};
  std::thread flips([&] {
    for (bool to_bad = true; !enough; to_bad = !to_bad) {
      fs::create_symlink(to_bad ? bad : good, next);
      fs::rename(next, link);
    }
  });
  int ran = 0, refused = 0;
  for (int i = 0; i < 200; ++i) {
    auto opened = TrustedProgram::open(link);
    if (!opened) {
      ++refused;
      continue;
    }
    ++ran;
    EXPECT_EQ(said(*opened), "good");
  }
  enough = true;
  flips.join();
  EXPECT_EQ(ran + refused, 200);
}

TEST_F(TrustedProgramTest, RunsWhatWasJudgedAfterAnotherTookItsName) {
  const std::string path = program("program", "good");
  auto opened = TrustedProgram::open(path);
  ASSERT_TRUE(opened) << opened.error().message;
  fs::rename(program("other", "bad"), path);
  EXPECT_EQ(said(*opened), "good");
  fs::remove(path);
  EXPECT_EQ(said(*opened), "good");
}

// In a process without standard streams the program's file gets none of their numbers.
TEST_F(TrustedProgramTest, IsHeldOpenAboveTheStandardStreams) {
  const std::string path = program("program", "good");
  const int input = dup(0);
  close(0);
  auto opened = TrustedProgram::open(path);
  const std::string words = opened ? said(*opened) : opened.error().message;
  dup2(input, 0);
  close(input);
  ASSERT_TRUE(opened);
  EXPECT_GT(opened->descriptor(), 2);
  EXPECT_EQ(words, "good");
}

}  // namespace trusted_program_test
}  // namespace tensorstat::cl_engine
