// Every example that the README links to is built by its own CMakeLists.txt, runs, and prints the right text.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tests/support/built.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/scratch_folder.hpp"

namespace examples_test {

std::string said(const std::string& command) {
  const ScratchFolder folder;
  const int status = std::system((command + " >'" + (folder / "said") + "' 2>&1").c_str());
  return content_of(folder / "said") + (status == 0 ? "" : "failed\n");
}

std::string example(const std::string& name) { return "'" + built::examples() + "/example_" + name + "'"; }

TEST(Examples, C) {
  EXPECT_EQ(said(example("measure_c")), "max: nan\ncount: 6\nnan count: 1\nnegative zero count: 1\n");
}

// The mean of two numbers with a sum beyond binary64.
TEST(Examples, Cxx) {
  EXPECT_EQ(said(example("measure")),
            "max 2, min -1.5, avg 0.25, l2norm 2.5495097567963922, nan count 0\n"
            "max 1e+308, min 1e+308, avg 1e+308, l2norm 1.4142135623730951e+308, nan count 0\n");
}

TEST(Examples, Python) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer must be loaded before the interpreter";
  EXPECT_EQ(said("PYTHONPATH='" + built::pythonpath() + "' /usr/bin/python3 -B '" + built::source_dir() +
                 "/stats/examples/measure.py'"),
            "nan nan 1\nw {'l2norm': 5.0, 'zero count': 0}\nb {'l2norm': 1.0, 'zero count': 1}\n");
}

TEST(Examples, CallersQueue) {
  const std::string text = said(example("callers_queue"));
  if (text == "no OpenCL device\n") GTEST_SKIP() << text;
  EXPECT_EQ(text, "max 2, min -2, 13107 zeros\n");  // 65,536 elements; every fifth, from the third on, is zero
}

TEST(Examples, TwoRanks) {
  const std::string text = said(example("two_ranks"));
  EXPECT_NE(text.find("max 1\n"), text.npos) << text;
  EXPECT_NE(text.find("nan count 0\n"), text.npos) << text;
  EXPECT_EQ(text.find("not what"), text.npos) << text;
}

TEST(Examples, DumpBackend) {
  const ScratchFolder folder;
  std::string config = content_of(built::source_dir() + "/stats/examples/data_dump.json");
  const std::string path = "/tmp/tensorstat_example";
  ASSERT_NE(config.find(path), config.npos);
  config.replace(config.find(path), path.size(), folder / "dump");
  std::ofstream(folder / "data_dump.json") << config;
  const std::string text = said(example("dump_backend") + " '" + (folder / "data_dump.json") + "'");
  EXPECT_NE(text.find("4 rows\n"), text.npos) << text;
  const std::string rows = content_of(folder / "dump/rank_0/Net/0/1/statistic.csv");
  EXPECT_NE(rows.find("nan"), rows.npos) << rows;
  EXPECT_EQ(content_of(folder / "dump/rank_0/Net/0/2/statistic.csv"), "");
}

}  // namespace examples_test
