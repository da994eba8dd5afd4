// -o replaces a file only if its owner expects it. The file keeps its mode and has only results.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <map>

#include "tests/support/built.hpp"
#include "tests/support/command_run.hpp"
#include "tests/support/npy_files.hpp"

namespace tensorstat {
namespace command_output_test {

namespace fs = std::filesystem;
using test::holds;
using test::Ran;
using test::run;
using test::write_file;

class CommandOutput : public testing::Test {
 protected:
  CommandOutput() {
    write_file(folder / "a.npy", test::npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }",
                                           std::string_view("\0\0\x80\x3f", 4)));
  }

  mode_t mode_of(const std::string& name) const {
    struct stat facts {};
    EXPECT_EQ(::stat((folder / name).c_str(), &facts), 0) << name;
    return facts.st_mode & 07777;
  }

  ScratchFolder folder;
};

TEST_F(CommandOutput, AFileThatIsThereKeepsItsMode) {
  for (const mode_t mode : {0600, 0640, 0664}) {
    write_file(folder / "x.csv", "old");
    fs::permissions(folder / "x.csv", fs::perms(mode));
    ASSERT_EQ(run(folder, "a.npy -o x.csv").exit, 0);
    EXPECT_EQ(mode_of("x.csv"), mode);
    EXPECT_TRUE(content_of(folder / "x.csv").starts_with("Op Type,"));
  }
}

TEST_F(CommandOutput, ANewFileHasTheModeOfTheUmask) {
  const mode_t before = ::umask(027);
  const Ran ran = run(folder, "a.npy -o new.csv");
  ::umask(before);
  ASSERT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(mode_of("new.csv"), 0640u);
}

TEST_F(CommandOutput, AReadOnlyFileIsNotReplaced) {
  fs::permissions(folder.path(), fs::perms(0777));
  const std::string plain = ::geteuid() == 0 ? "setpriv --reuid=65534 --regid=65534 --clear-groups" : "";
  if (run(folder, "--version", plain).exit != 0) GTEST_SKIP() << "a plain user cannot run the command here";
  ASSERT_EQ(run(folder, "a.npy -o x.csv --stats max", plain).exit, 0);
  const std::string old = content_of(folder / "x.csv");
  fs::permissions(folder / "x.csv", fs::perms(0444));
  const Ran ran = run(folder, "a.npy -o x.csv --stats min", plain);
  EXPECT_EQ(ran.exit, 5);
  EXPECT_PRED2(holds, ran.err, "x.csv: cannot be written: Permission denied");
  EXPECT_EQ(content_of(folder / "x.csv"), old);
}

TEST_F(CommandOutput, ALinkToNothingIsRefused) {
  fs::create_symlink("absent.csv", folder / "link.csv");
  const Ran ran = run(folder, "a.npy -o link.csv");
  EXPECT_EQ(ran.exit, 5);
  EXPECT_PRED2(holds, ran.err, "link.csv: cannot be written: it is a link to absent.csv, which does not exist");
  EXPECT_TRUE(fs::is_symlink(folder / "link.csv"));
  EXPECT_FALSE(fs::exists(folder / "absent.csv"));
}

TEST_F(CommandOutput, AnUnknownExtensionIsAnErrorUnlessTheFormatIsSaid) {
  for (const char* name : {"x.cvs", "x.xlsx", "statistic.csv.gz"}) {
    const Ran ran = run(folder, std::string("a.npy -o ") + name);
    EXPECT_EQ(ran.exit, 2) << name;
    EXPECT_PRED2(holds, ran.err, "end the name in one of .csv, .json, .ndjson, .jsonl, .md, .txt, or say --format");
    EXPECT_FALSE(fs::exists(folder / name));
    EXPECT_EQ(run(folder, std::string("a.npy --format csv -o ") + name).exit, 0) << name;
  }
  EXPECT_EQ(run(folder, "a.npy -o plain").exit, 0);
  EXPECT_PRED2(holds, content_of(folder / "plain"), "tensor  dtype ");
}

// An input under any name: as given, in a folder, in a list, by a link, or stdin. Nothing is written.
TEST_F(CommandOutput, AnInputIsNotReplaced) {
  fs::create_directory(folder / "tree");
  fs::copy(folder / "a.npy", folder / "tree/b.npy");
  fs::create_symlink("a.npy", folder / "link.npy");
  fs::create_hard_link(folder / "a.npy", folder / "same.npy");
  write_file(folder / "list", "tree/b.npy\n");
  ASSERT_EQ(run(folder, "a.npy --stats all -o statistic.csv").exit, 0);
  fs::create_directory(folder / "rows");
  fs::create_directory(folder / "m");
  fs::copy(folder / "statistic.csv", folder / "rows/statistic.csv");
  const std::string header = "{\"w\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}";
  write_file(folder / "m/shard.safetensors",
             std::string({static_cast<char>(header.size()), 0, 0, 0, 0, 0, 0, 0}) + header + "x");
  write_file(folder / "m/model.safetensors.index.json", R"({"weight_map": {"w": "shard.safetensors"}})");
  write_file(folder / "names", "a,b\n");
  const auto files = [&] {
    std::map<std::string, std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(folder.path())) {
      if (entry.is_regular_file()) all[entry.path()] = content_of(entry.path());
    }
    return all;
  };
  const auto before = files();
  for (const char* line :
       {"a.npy --format csv -o ./a.npy", "a.npy --format csv -o link.npy", "link.npy same.npy --format csv -o a.npy",
        "tree --format csv -o tree/b.npy", "'tree/*.npy' --format csv -o tree/b.npy",
        "@list --format csv -o tree/b.npy", "@list --format csv -o list", "m --format csv -o m/shard.safetensors",
        "statistic.csv --stats max -o statistic.csv", "rows --stats max -o rows/statistic.csv",
        "diff a.npy tree/b.npy -o a.npy", "diff rows statistic.csv -o rows/statistic.csv",
        "diff tree a.npy -o tree/b.npy", "diff a.npy a.npy --names names -o names",
        "diff rows rows --rules msprobe -o rows/statistic.csv", "origin rows -o rows/statistic.csv",
        "origin statistic.csv -o statistic.csv"}) {
    const Ran ran = run(folder, line);
    EXPECT_EQ(ran.exit, 2) << line << "\n" << ran.err;
    EXPECT_PRED2(holds, ran.err, "is one of the inputs; name another file") << line;
    EXPECT_EQ(files(), before) << line;
  }
  EXPECT_EQ(run(folder, "- --format csv -o a.npy", "sh -c 'exec \"$0\" \"$@\" < a.npy'").exit, 2) << "stdin";
  EXPECT_EQ(files(), before);
  EXPECT_EQ(run(folder, "tree --format csv -o tree/out.csv").exit, 0);
  EXPECT_EQ(run(folder, "tree --format csv -o tree/out.csv").exit, 0) << "an earlier output is no input";
}

// The next file opened would get a closed descriptor, and messages for stderr would go into statistic.csv.
TEST_F(CommandOutput, ClosedStandardStreamsDoNotReachTheFiles) {
  write_file(folder / "bad.npy", "no npy");
  const Ran clean = run(folder, "a.npy bad.npy --stats max -o whole.csv");
  ASSERT_EQ(clean.exit, 3) << clean.err;
  // `env` cannot close a descriptor, a shell can.
  const std::string closing =
      "cd '" + folder.path() + "' && '" + built::command() + "' a.npy bad.npy --stats max -o closed.csv ";
  for (const char* closed : {"2>&-", "0>&- 2>&-", "0>&- 1>&- 2>&-"}) {
    const int status = std::system((closing + closed).c_str());
    EXPECT_EQ(WEXITSTATUS(status), 3) << closed;
    EXPECT_EQ(content_of(folder / "closed.csv"), content_of(folder / "whole.csv")) << closed;
  }
  const int status =
      std::system(("cd '" + folder.path() + "' && '" + built::command() + "' a.npy 1>&- 2>said").c_str());
  EXPECT_EQ(WEXITSTATUS(status), 5) << "results that nobody got";
  EXPECT_PRED2(holds, content_of(folder / "said"), "stdout: cannot be written");
}

}  // namespace command_output_test
}  // namespace tensorstat
