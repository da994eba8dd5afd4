// `tensorstat dump` for its users: what it refuses, its messages, and its exit statuses.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/command_run.hpp"
#include "tests/support/config_text.hpp"
#include "tests/support/npy_files.hpp"

namespace tensorstat {
namespace dump_command_test {

using test::holds;
using test::line_count;
using test::run;

class DumpCommand : public testing::Test {
 protected:
  DumpCommand() {
    std::filesystem::create_directories(folder / "run/rank_0/Net/0/3");
    const std::string name = "Add.Default_Add-op1.0.0.1733905446819790.output.0.DefaultFormat.float32.npy";
    test::write_file(folder / ("run/rank_0/Net/0/3/" + name),
                     test::npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", {"\0\0\x80\x3f", 4}));
    std::ofstream(folder / "config.json") << config_text(R"({"path": null, "saved_data": "statistic"})");
  }

  ScratchFolder folder;
  const std::string csv = folder / "out/rank_0/ResNet50/0/3/statistic.csv";
};

TEST_F(DumpCommand, ASecondRunIsRefusedAndOffersAppendAndReplace) {
  const std::string command = "dump run --config config.json -o out";
  EXPECT_EQ(run(folder, command).exit, 0);
  EXPECT_EQ(line_count(content_of(csv)), 2u);
  const auto again = run(folder, command);
  EXPECT_EQ(again.exit, 5);
  EXPECT_TRUE(holds(again.err,
                    "out/rank_0/ResNet50/0/3/statistic.csv: is there already, and nothing is written; give "
                    "--append to add to it, --replace to replace it, or another -o"))
      << again.err;
  EXPECT_EQ(line_count(content_of(csv)), 2u);
  EXPECT_EQ(run(folder, command + " --append").exit, 0);
  EXPECT_EQ(line_count(content_of(csv)), 3u);
  EXPECT_EQ(run(folder, command + " --replace").exit, 0);
  EXPECT_EQ(line_count(content_of(csv)), 2u);
  EXPECT_EQ(run(folder, command + " --replace --append").exit, 2);
}

// One of Ascend's files has all inputs and outputs of a run.
TEST_F(DumpCommand, TensorsAndFilesAreCountedApart) {
  const std::string name = "Add.Default_Add-op1.0.0.1733905446819789.input.0.DefaultFormat.float32.npy";
  test::write_file(folder / ("run/rank_0/Net/0/3/" + name),
                   test::npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", {"\0\0\x80\x3f", 4}));
  std::ofstream(folder / "bin.json")
      << R"({"common_dump_settings": {"dump_mode": 0, "path": "/nowhere", "net_name": "Net",
    "iteration": "all", "input_output": 0, "kernels": [], "support_device": [0], "op_debug_mode": 0, "file_format": "bin"}})";
  const auto bin = run(folder, "dump run --config bin.json -o bin");
  EXPECT_TRUE(holds(bin.err, "2 tensors of 2 files dumped: 0 rows, 1 file\n")) << bin.err;
  const auto rows = run(folder, "dump bin --config config.json -o rows");
  EXPECT_TRUE(holds(rows.err, "2 tensors of 1 file dumped: 2 rows, 0 files\n")) << rows.err;
}

TEST_F(DumpCommand, AFrameworkNamesTheTypesOfADumpJson) {
  std::ofstream(folder / "msprobe.json") << R"({"task": "statistics", "level": "L1", "dump_path": "/nowhere"})";
  for (const auto& [framework, type] : {std::pair("pytorch", "torch.float32"), {"mindtorch", "Float32"}}) {
    const auto ran =
        run(folder, std::string("dump run --config msprobe.json -o ") + framework + " --framework " + framework);
    ASSERT_EQ(ran.exit, 0) << ran.err;
    const std::string text = content_of(folder / (std::string(framework) + "/step3/rank0/dump.json"));
    EXPECT_TRUE(holds(text, std::string("\"framework\": \"") + framework + "\"")) << text;
    EXPECT_TRUE(holds(text, std::string("\"dtype\": \"") + type + "\"")) << text;
  }
  EXPECT_EQ(run(folder, "dump run --config msprobe.json -o x --framework caffe").exit, 2);
}

TEST_F(DumpCommand, AConfigIsARegularFile) {
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  for (const std::string config : {".", "pipe", "/dev/zero", "none.json"}) {
    const auto ran = run(folder, "dump run -o out --config " + config);
    EXPECT_EQ(ran.exit, 2) << config;
    EXPECT_TRUE(holds(ran.err, config)) << ran.err;
  }
}

TEST_F(DumpCommand, OutputStandsInForAMissingPath) {
  const auto without = run(folder, "dump run --config config.json", "MS_DIAGNOSTIC_DATA_PATH=");
  EXPECT_EQ(without.exit, 2);
  EXPECT_TRUE(holds(without.err, "path is empty")) << without.err;
  EXPECT_EQ(run(folder, "dump run --config config.json -o out", "MS_DIAGNOSTIC_DATA_PATH=").exit, 0);
}

// Linux accepts no path above 4,096 bytes, but a tree can contain longer ones.
TEST_F(DumpCommand, WhatTheWalkCannotReachIsSaidAndTheRestIsDone) {
  const std::string name(250, 'd');
  int directory = open((folder / "run").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (int level = 0; level < 20; ++level) {
    ASSERT_EQ(mkdirat(directory, name.c_str(), 0755), 0);
    const int below = openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    close(directory);
    directory = below;
  }
  close(directory);
  const auto ran = run(folder, "dump run --config config.json -o out");
  EXPECT_EQ(ran.exit, 3);
  EXPECT_TRUE(holds(ran.err, "File name too long")) << ran.err;
  EXPECT_EQ(line_count(content_of(csv)), 2u);
}

}  // namespace dump_command_test
}  // namespace tensorstat
