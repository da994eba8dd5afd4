// The exit status is 1 if and only if a tensor meets --fail-on and nothing failed. The last lines summarise the
// findings.

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <tuple>

#include "tests/support/command_run.hpp"
#include "tests/support/npy_files.hpp"

namespace tensorstat {
namespace command_findings_test {

using test::holds;
using test::npy;
using test::Ran;
using test::run;
using test::write_file;

class Findings : public testing::Test {
 protected:
  Findings() {
    add("whole", "<i8", "(2,)", {"\x01\0\0\0\0\0\x20\0\xff\xff\xff\xff\xff\xff\xff\xff", 16});  // 2^53 + 1, -1
    add("huge", "<u8", "(1,)", std::string(8, '\xff'));                                         // 2^64 - 1
    add("real", "<f4", "(2,)", {"\0\0\x80\x3f\0\0\0\xbf", 8});                                  // 1, -0.5
    add("empty", "<f4", "(0,)", "");
    add("nan", "<f4", "(2,)", {"\0\0\xc0\x7f\0\0\x80\x3f", 8});   // nan, 1
    add("inf", "<f4", "(1,)", {"\0\0\x80\xff", 4});               // -inf
    add("both", "<f4", "(2,)", {"\0\0\xc0\x7f\0\0\x80\x7f", 8});  // nan, inf
  }
  void add(const std::string& name, const std::string& descr, const std::string& shape, std::string data) {
    write_file(folder / name + ".npy",
               npy("{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }", data));
    std::filesystem::last_write_time(folder / name + ".npy", now_);
  }
  Ran fail_on(const std::string& list, const std::string& others) {
    return run(folder, "--on host --stats count --fail-on '" + list + "' " + others);
  }

  const std::filesystem::file_time_type now_ = std::filesystem::file_time_type::clock::now();
  ScratchFolder folder;
};

TEST_F(Findings, TheExitStatusSaysWhetherATensorMeetsOne) {
  const std::tuple<std::string, std::string, bool> cases[] = {
      {"nan", "nan.npy", true},
      {"nan", "inf.npy", false},
      {"inf", "inf.npy", true},
      {"inf", "both.npy", true},
      {"inf", "nan.npy", false},
      {"nan,inf", "real.npy", false},
      {"nan,inf", "whole.npy", false},
      {"nan,max>1", "real.npy", false},
      {"nan,max>=1", "real.npy", true},
      {"max > 0.999", "real.npy", true},
      {" min <= -0.5 , nan", "real.npy", true},
      {"min<-0.5", "real.npy", false},
      {"max==1", "real.npy", true},
      {"max!=1", "real.npy", false},
      {"nan-count>0", "nan.npy", true},
      {"nan_count==1", "nan.npy", true},
      {"nan count>=2", "nan.npy", false},
      {"max>0", "nan.npy", false},   // NaN is neither above 0
      {"max<=0", "nan.npy", false},  // nor below
      {"max!=0", "nan.npy", true},
      {"max<0", "inf.npy", true},
      {"max==-inf", "inf.npy", true},
      {"max==9007199254740993", "whole.npy", true},  // 2^53 + 1 is not a binary64
      {"max==9007199254740993.000", "whole.npy", true},
      {"max==9007199254740992.0", "whole.npy", false},
      {"max>=9007199254740994.0", "whole.npy", false},
      {"max==9007199254740992", "whole.npy", false},
      {"max>9007199254740992.0", "whole.npy", true},
      // A whole statistic is compared with the literal, which binary64 may not hold.
      {"max>9007199254740992.75", "whole.npy", true},
      {"max>=9007199254740993.0000000000000000001", "whole.npy", false},
      {"max<9007199254740993.0000000000000000001", "whole.npy", true},
      {"max<9007199254740992.9999", "whole.npy", false},
      {"max==9007199254740993e0", "whole.npy", true},
      {"max==9.007199254740993e15", "whole.npy", true},
      {"max==90071992547409930.0e-1", "whole.npy", true},
      {"max==9.007199254740992e15", "whole.npy", false},
      {"count==2.0000000000000000000000001", "whole.npy", false},
      {"count!=2.0000000000000000000000001", "whole.npy", true},
      {"count==.2e1", "whole.npy", true},
      {"count>0.1e-300", "whole.npy", true},
      {"zero-count==0e5", "whole.npy", true},
      {"zero-count>=1e-300", "whole.npy", false},
      {"zero-count>-1e-300", "whole.npy", true},
      {"max<18446744073709551615.5", "huge.npy", true},
      {"max==18446744073709551615.5", "huge.npy", false},
      {"max==1.8446744073709551615e19", "huge.npy", true},
      // A real one with the binary64 that is nearest.
      {"max==1.0000000000000000000000001", "real.npy", true},
      {"min<0", "whole.npy", true},
      {"min>-1.5", "whole.npy", true},
      {"min<-1.5", "whole.npy", false},
      {"max<18446744073709551616", "huge.npy", true},
      {"max==18446744073709551615", "huge.npy", true},
      {"max>-1", "huge.npy", true},
      {"max<inf", "huge.npy", true},
      {"max>0,max<=0,max!=0,avg!=0", "empty.npy", false},  // empty tensors have no such value
      {"count==0", "empty.npy", true},
  };
  for (const auto& [list, file, meets] : cases) {
    const Ran ran = fail_on(list, file + " --format csv");
    EXPECT_EQ(ran.exit, meets ? 1 : 0) << list << " of " << file << ": " << ran.err;
    EXPECT_EQ(!ran.err.empty(), meets) << ran.err;
  }
}

TEST_F(Findings, WhatMakesNoSenseIsRefused) {
  const std::pair<std::string, const char*> cases[] = {
      {"", "a statistic or a fact is missing before the end; at character 1"},
      {"nan,,inf", "a statistic or a fact is missing before ','; at character 5"},
      {"nan,", "a statistic or a fact is missing before the end; at character 5"},
      {"NaN", "'NaN' is neither nan"},
      {"max", "'max' is neither nan"},
      {"max=1", "'=1' begins with no operator"},
      {"nan, maximum>1", "'maximum' is neither a statistic"},
      {">1", "a statistic or a fact is missing before '>'"},
      {"all>1", "'all' is neither a statistic"},
      {"max>", "a number should follow 'max >', and the end does"},
      {"max>1x", "'max' is a number, and '1x' is none, and no statistic; at character 5"},
      {"max>>1", "a number should follow 'max >', and '>' does"},
      {"max<1e999", "'max' is a number, and '1e999' is none"},
      {"max>nan", "say nan alone, or nan > 0"},
      {"md5>1", "'md5' is a text"},
  };
  for (const auto& [list, words] : cases) {
    const Ran ran = fail_on(list, "real.npy");
    EXPECT_EQ(ran.exit, 2) << list;
    EXPECT_PRED2(holds, ran.err, words) << list;
    EXPECT_EQ(ran.out, "");
  }
}

TEST_F(Findings, AnErrorWinsOverAFinding) {
  const Ran ran = fail_on("nan", "nan.npy missing.npy --format csv");
  EXPECT_EQ(ran.exit, 3);
  EXPECT_PRED2(holds, ran.err, "1 tensor meets --fail-on, the first: nan.npy (nan: nan count is 1)\n");
  EXPECT_EQ(fail_on("nan", "nan.npy -o no/such/folder.csv").exit, 5);
}

TEST_F(Findings, WhatIsMeasuredForThemIsNotShown) {
  for (const std::string format : {"table", "csv", "json", "ndjson"}) {
    const std::string before = run(folder, "--on host --stats count nan.npy --explain --format " + format).out;
    EXPECT_EQ(fail_on("nan,min<0,l2norm>1", "nan.npy --explain --format " + format).out, before);
  }
}

TEST_F(Findings, ATableOfSeveralEndsInASummary) {
  Ran ran = run(folder, ". --on host --stats count");
  EXPECT_EQ(ran.exit, 0);
  EXPECT_EQ(ran.err, "tensorstat: 7 tensors, 52 bytes, 2 with NaN, 2 with Inf, the first in time: ./both.npy\n");
  ran = fail_on("nan", "real.npy inf.npy nan.npy both.npy");
  EXPECT_EQ(ran.exit, 1);
  EXPECT_EQ(ran.err,
            "tensorstat: 2 tensors meet --fail-on, the first in time: nan.npy (nan: nan count is 1)\n"
            "tensorstat:   both.npy (nan: nan count is 1)\n"
            "tensorstat: 4 tensors, 28 bytes, 2 with NaN, 2 with Inf, the first in time: inf.npy\n");
  std::filesystem::last_write_time(folder / "nan.npy", now_ - std::chrono::seconds(2));
  ran = fail_on("nan", ". --sort=-bytes");
  EXPECT_PRED2(holds, ran.err, "the first in time: ./nan.npy (nan: nan count is 1)\n");
  EXPECT_PRED2(holds, ran.err, "2 with Inf, the first in time: ./nan.npy\n");
  std::filesystem::last_write_time(folder / "nan.npy", now_);
  ran = run(folder, "real.npy whole.npy --on host");
  EXPECT_EQ(ran.err, "tensorstat: 2 tensors, 24 bytes, none with NaN or Inf\n");
  EXPECT_EQ(run(folder, "nan.npy --on host").err, "") << "one row needs no summary";
  EXPECT_EQ(run(folder, ". --on host --format json").err, "") << "a program counts itself";
  add("large", "|u1", "(1234567,)", std::string(1'234'567, '\0'));
  for (int i = 0; i < 1000; ++i)
    std::filesystem::create_hard_link(folder / "nan.npy", folder / "z" + std::to_string(i) + ".npy");
  ran = run(folder, ". --on host");
  EXPECT_EQ(ran.err, "tensorstat: 1,008 tensors, 1.24 MB, 1,002 with NaN, 2 with Inf, the first in time: ./both.npy\n");
}

}  // namespace command_findings_test
}  // namespace tensorstat
