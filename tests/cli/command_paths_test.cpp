// Every tensor that the arguments name is read once, in order. What cannot be read is reported.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/support/command_run.hpp"
#include "tests/support/json_text.hpp"
#include "tests/support/npy_files.hpp"

namespace tensorstat {
namespace command_paths_test {

namespace fs = std::filesystem;
using test::holds;
using test::Ran;
using test::run;
using test::write_file;

class CommandPaths : public testing::Test {
 protected:
  void add(const std::string& path) {
    fs::create_directories(fs::path(folder / path).parent_path());
    write_file(folder / path, test::npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }",
                                        std::string_view("\0\0\x80\x3f", 4)));
  }

  // The paths that were read, each followed by a space.
  std::string read_from(const std::string& arguments, int exit = 0) {
    const Ran ran = run(folder, arguments + " --format json --stats max --on host");
    EXPECT_EQ(ran.exit, exit) << ran.err;
    std::string joined;
    const auto document = test::parsed_json(ran.out);
    for (const auto& tensor : document.at("tensors")) {
      joined += tensor.at("path").get<std::string>() + " ";
    }
    return joined;
  }

  ScratchFolder folder;
};

TEST_F(CommandPaths, TwoStarsStandForAnyNumberOfFolders) {
  for (const char* path :
       {"top.npy", "r/grad.npy", "r/1/grad.npy", "r/1/w.npy", "r/1/2/grad.npy", "r/.hidden/grad.npy"}) {
    add(path);
  }
  EXPECT_EQ(read_from("'r/**/grad.npy'"), "r/1/2/grad.npy r/1/grad.npy r/grad.npy ");
  EXPECT_EQ(read_from("'**/gr*.npy'"), "r/1/2/grad.npy r/1/grad.npy r/grad.npy ");
  EXPECT_EQ(read_from("'**/**/gr*.npy'"), "r/1/2/grad.npy r/1/grad.npy r/grad.npy ");
  EXPECT_EQ(read_from("'r/**/1/**/grad.npy'"), "r/1/2/grad.npy r/1/grad.npy ");
  EXPECT_EQ(read_from("'r/1/**'"), read_from("r/1"));
  EXPECT_EQ(read_from("'r/?/[gx]rad.npy'"), "r/1/grad.npy ");
  EXPECT_EQ(read_from("'" + folder.path() + "/**/w.npy'"), folder / "r/1/w.npy" + " ");
  EXPECT_EQ(read_from("'r/**/none.npy'", 3), "");
}

// adump writes tensors of types that .npy lacks as raw bits, without a shape.
TEST_F(CommandPaths, FilesOfBitsAloneAreNamedInAWalk) {
  const std::string bits = "d/Sub.Default_Sub-op0.10.10.1735011096427368.input.0.ND.BF16";
  add("d/a.npy");
  write_file(folder / bits, "\x80\x3f");
  write_file(folder / "d/Sub.Default_Sub-op0.10.10.1735011096427368.input.1.ND.BF16", "\x80\x3f");
  EXPECT_EQ(run(folder, "d --stats max").err,
            "tensorstat: d: 2 files hold the bits of tensors without their shapes and are "
            "left out, such as " +
                bits + "; name a file with --dtype and --shape to read it\n");
  fs::remove(folder / "d/a.npy");
  const Ran ran = run(folder, "d --stats max");
  EXPECT_EQ(ran.exit, 3);
  EXPECT_TRUE(holds(ran.err, "no supported tensor file") && holds(ran.err, "2 files hold the bits")) << ran.err;
  EXPECT_EQ(run(folder, bits + " --dtype bfloat16 --shape 1 --stats max").exit, 0);
}

TEST_F(CommandPaths, FoldersWithTheNamesOfSubcommandsAreReadAsPaths) {
  add("dump/x.npy");
  add("devices/y.npy");
  EXPECT_EQ(read_from("./dump ./devices"), "./dump/x.npy ./devices/y.npy ");
}

// Linux accepts no path above 4,096 bytes, but a tree can contain longer ones.
TEST_F(CommandPaths, APathThatIsTooLongIsSaidAndTheOthersRead) {
  add("t/x.npy");
  int directory = ::open((folder / "t").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::string name(250, 'd');
  for (int level = 0; level < 20; ++level) {
    ASSERT_EQ(::mkdirat(directory, name.c_str(), 0755), 0);
    const int below = ::openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ::close(directory);
    directory = below;
  }
  ::close(directory);
  EXPECT_EQ(read_from("t", 3), "t/x.npy ");
  EXPECT_PRED2(holds, run(folder, "t --stats max").err, "File name too long");
  EXPECT_EQ(read_from("'t/**/x.npy'", 3), "t/x.npy ");
}

// A pipe named by the user is waited for, as with cat (streams_test.py). A pipe in a folder is not.
TEST_F(CommandPaths, WhatIsNoRegularFileIsRefusedAtOnce) {
  fs::create_directory(folder / "d");
  ASSERT_EQ(::mkfifo((folder / "d/pipe.npy").c_str(), 0600), 0);
  for (const char* paths : {"d /dev/zero", "'d/*' /dev/zero"}) {
    const Ran ran = run(folder, paths);
    EXPECT_EQ(ran.exit, 3);
    EXPECT_EQ(ran.err, "tensorstat: d/pipe.npy: is no regular file\ntensorstat: /dev/zero: is no regular file\n");
  }
}

}  // namespace command_paths_test
}  // namespace tensorstat
