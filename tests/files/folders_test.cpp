// A folder that cannot be made or listed is reported with the reason. Nothing is skipped silently.
#include "stats/data/files/io/folders.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>

#include "stats/data/files/npy/npy_writer.hpp"
#include "stats/data/rows/append_file.hpp"
#include "stats/data/text/natural_order.hpp"
#include "tests/support/plain_user.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tensorstat {
namespace folders_test {

namespace fs = std::filesystem;

class Folders : public testing::Test {
 protected:
  Folders() { fs::permissions(folder.path(), fs::perms(0755)); }

  ScratchFolder folder;
  std::vector<std::string> files;
  std::vector<Error> faults;
};

TEST_F(Folders, AreMadeWithThoseAboveThem) {
  EXPECT_FALSE(make_folders(folder / "a/b/c"));
  EXPECT_TRUE(fs::is_directory(folder / "a/b/c"));
  EXPECT_FALSE(make_folders(folder / "a/b/c")) << "what is there is no fault";
  EXPECT_FALSE(make_folders(folder / "a/d/")) << "a slash at the end";
}

TEST_F(Folders, TheFirstThatCannotBeMadeIsNamed) {
  std::ofstream(folder / "file") << "x";
  const auto below_a_file = make_folders(folder / "file/x/y");
  ASSERT_TRUE(below_a_file);
  EXPECT_EQ(below_a_file->error, ENOTDIR);
  const PlainUser plain;
  if (!plain) GTEST_SKIP() << "root cannot become a plain user here";
  const auto refused = make_folders(folder / "a/b/c");
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->folder, folder / "a");
  EXPECT_EQ(refused->error, EACCES);
}

TEST_F(Folders, WhoeverWritesThereSaysSo) {
  std::vector<std::string> messages;
  auto notices = std::make_shared<Notices>([&](Severity, std::string_view text) { messages.emplace_back(text); });
  const PlainUser plain;
  if (!plain) GTEST_SKIP() << "root cannot become a plain user here";
  const Status written = write_whole_file(folder / "a/b/x.json", "{}");
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().message.find("the folder " + (folder / "a") + " cannot be made: Permission denied"),
            std::string::npos)
      << written.error().message;
  AppendOptions options;
  options.path = folder / "a/b/statistic.csv";
  AppendFile rows(options, notices);
  rows.append("row\n");
  rows.close();
  ASSERT_FALSE(messages.empty());
  EXPECT_NE(messages[0].find("cannot make the folder " + (folder / "a") + " for"), std::string::npos) << messages[0];
  EXPECT_NE(messages[0].find("Permission denied"), std::string::npos) << messages[0];
}

TEST_F(Folders, FilesAreFoundInTheOrderOfNames) {
  for (const char* name : {"b.npy", "a/x.npy", "a/y/z.npy", "a/no.txt", "a/.npy", "a/m.safetensors"}) {
    ASSERT_FALSE(make_folders(fs::path(folder / name).parent_path()));
    std::ofstream(folder / name) << "x";
  }
  fs::create_directory_symlink(folder / "a", folder / "linked");
  find_tensor_files(folder.path(), files, faults);
  EXPECT_EQ(files, (std::vector<std::string>{folder / "a/m.safetensors", folder / "a/x.npy", folder / "a/y/z.npy",
                                             folder / "b.npy"}));
  EXPECT_TRUE(faults.empty());
}

TEST_F(Folders, FilesAreFoundInNaturalOrder) {
  const char* names[] = {"layer.1.npy",
                         "layer.2.npy",
                         "layer.02.npy",
                         "layer.10.npy",
                         "layer.10a.npy",
                         "layer.99999999999999999999.npy",
                         "layer.100000000000000000000.npy",
                         "step_2/x.npy",
                         "step_11/x.npy",
                         "x1y2.npy",
                         "x1y10.npy",
                         "x01y11.npy",
                         "\xc3\xa4.npy"};
  std::vector<std::string> wanted;
  for (const char* name : names) wanted.push_back(folder / name);
  std::swap(wanted[1], wanted[2]);  // 02 and 2 are the same number, so the bytes decide
  for (const std::string& path : wanted) {
    ASSERT_FALSE(make_folders(fs::path(path).parent_path()));
    std::ofstream(path) << "x";
  }
  find_tensor_files(folder.path(), files, faults);
  EXPECT_EQ(files, wanted);
}

TEST_F(Folders, NaturalOrderIsATotalOrder) {
  const std::string_view names[] = {"",   "0", "00", "01",  "1",  "1a",  "01a",  "2",
                                    "10", "a", "a0", "a00", "a1", "a1b", "a01b", "\xff"};
  for (const auto a : names) {
    for (const auto b : names) {
      EXPECT_EQ(int{natural_before(a, b)} + natural_before(b, a), a != b) << a << " and " << b;
      for (const auto c : names) {
        EXPECT_FALSE(natural_before(a, b) && natural_before(b, c) && !natural_before(a, c))
            << a << ' ' << b << ' ' << c;
      }
    }
  }
}

TEST_F(Folders, OneThatCannotBeListedIsSaid) {
  ASSERT_FALSE(make_folders(folder / "locked"));
  std::ofstream(folder / "x.npy") << "x";
  fs::permissions(folder / "locked", fs::perms::none);
  const PlainUser plain;
  if (!plain) GTEST_SKIP() << "root cannot become a plain user here";
  find_tensor_files(folder.path(), files, faults);
  EXPECT_EQ(files, std::vector<std::string>{folder / "x.npy"});
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_NE(faults[0].message.find(folder / "locked"), std::string::npos) << faults[0].message;
}

// Linux accepts no path above 4,096 bytes, but a tree can contain longer ones.
TEST_F(Folders, APathThatIsTooLongIsSaid) {
  const std::string name(250, 'd');
  int directory = open(folder.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (int level = 0; level < 20; ++level) {
    ASSERT_EQ(mkdirat(directory, name.c_str(), 0755), 0);
    const int below = openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    close(directory);
    directory = below;
  }
  close(openat(directory, "deep.npy", O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
  close(directory);
  std::ofstream(folder / "x.npy") << "x";
  find_tensor_files(folder.path(), files, faults);
  EXPECT_EQ(files, std::vector<std::string>{folder / "x.npy"});
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_NE(faults[0].message.find("File name too long"), std::string::npos) << faults[0].message;
}

}  // namespace folders_test
}  // namespace tensorstat
