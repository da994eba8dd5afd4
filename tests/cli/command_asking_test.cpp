// --where, --sort, --top, --head and --order select exactly the tensors that are shown.

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/support/command_run.hpp"
#include "tests/support/json_text.hpp"
#include "tests/support/npy_files.hpp"

namespace tensorstat {
namespace command_asking_test {

using test::holds;
using test::line_count;
using test::npy;
using test::Ran;
using test::run;
using test::write_file;

class Asking : public testing::Test {
 protected:
  Asking() {
    using namespace std::string_literals;
    add("one", "<f4", "(1,)", "\0\0\x80\x3f"s);              // 1
    add("two", "<f4", "(2,)", "\0\0\0\x40\0\0\0\x40"s);      // 2, 2
    add("nan", "<f4", "(2,)", "\0\0\xc0\x7f\0\0\x80\x3f"s);  // nan, 1
    add("half_nan", "<f2", "(2,)", "\0\x7e\0\x3c"s);         // nan, 1
    add("inf", "<f2", "(1,)", "\0\xfc"s);                    // -inf
    add("whole", "<i8", "(1,)", "\x01\0\0\0\0\0\x20\0"s);    // 2^53 + 1
    add("empty", "<f4", "(0,)", "");
  }
  void add(const std::string& name, const std::string& descr, const std::string& shape, const std::string& data) {
    write_file(folder / name + ".npy",
               npy("{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }", data));
    std::filesystem::last_write_time(folder / name + ".npy", now_);
  }
  // The names of the tensors in the order of the rows, such as "one two".
  std::string names(const std::string& arguments, const std::string& files = ".") {
    const Ran ran = run(folder, files + " --on host --format json " + arguments);
    EXPECT_EQ(ran.err, "") << arguments;
    EXPECT_EQ(ran.exit, 0) << arguments;
    std::string names;
    const auto document = test::parsed_json(ran.out);
    for (const auto& tensor : document.at("tensors")) {
      names += (names.empty() ? "" : " ") + std::filesystem::path(tensor.at("path").get<std::string>()).stem().string();
    }
    return names;
  }

  const std::filesystem::file_time_type now_ = std::filesystem::file_time_type::clock::now();
  ScratchFolder folder;
};

TEST_F(Asking, ThatNothingMeetsWhereIsSaid) {
  EXPECT_EQ(run(folder, ". --where 'max > 1e300'").err, "tensorstat: none of 7 tensors meets --where\n");
  const Ran glob = run(folder, ". --where 'not nan and path == \"*n*\"'");
  EXPECT_EQ(glob.err, "tensorstat: none of 7 tensors meets --where; == compares whole texts, and ~ takes a glob\n");
  EXPECT_EQ(glob.exit, 0);
  EXPECT_EQ(run(folder, ". --where 'path ~ n and max > 1'").err,
            "tensorstat: none of 7 tensors meets --where; ~ wants a glob of the whole text: \"*n*\"\n");
  EXPECT_EQ(run(folder, ". -q --where 'max > 1e300'").err, "");
}

TEST_F(Asking, AMissingValueIsSaidWithWhatShouldStandThere) {
  for (const auto& [rule, words] : {
           std::pair{"l2norm >", "a number should follow 'l2norm >', and the end does; at character 9"},
           std::pair{"dtype == and max > 1", "'and' is no dtype; float32 is one; at character 10"},
           std::pair{"name ==", "a text should follow 'name ==', and the end does; at character 8"},
           std::pair{"shape == (64)", "put the text in quotes: shape == \"(64)\"; at character 10"},
           std::pair{"max > (1)", "a number should follow 'max >', and '(' does; at character 7"},
       }) {
    const Ran ran = run(folder, ". --where '" + std::string(rule) + "'");
    EXPECT_EQ(ran.exit, 2);
    EXPECT_PRED2(holds, ran.err, words);
  }
}

// All tensors of one file have the same time, so none is the first.
TEST_F(Asking, TensorsOfOneFileHaveNoFirstInTime) {
  const std::string header =
      R"({"a":{"dtype":"F16","shape":[1],"data_offsets":[0,2]},"b":{"dtype":"F16","shape":[1],"data_offsets":[2,4]}})";
  write_file(folder / "m.safetensors", std::string({static_cast<char>(header.size()), 0, 0, 0, 0, 0, 0, 0}) + header +
                                           std::string("\0\x7e\0\x7e", 4));
  EXPECT_EQ(run(folder, "m.safetensors").err,
            "tensorstat: 2 tensors, 4 bytes, 2 with NaN, the first: m.safetensors::a\n");
}

TEST_F(Asking, WhereSelects) {
  const std::pair<std::string, std::string> cases[] = {
      {"nan count > 0", "half_nan nan"},
      {"nan count > 0 and dtype == float16", "half_nan"},
      {"nan-count>0 and not dtype==float16", "nan"},
      {"nan", "half_nan nan"},
      {"inf", "inf"},
      {"nan or inf", "half_nan inf nan"},
      {"not nan and not inf and count > 0", "one two whole"},
      {"not (nan or inf) and count > 0", "one two whole"},
      {"max == 1 or max == 2 and count == 1", "one"},  // "and" binds closer
      {"(max == 1 or max == 2) and count == 1", "one"},
      {"(max == 1 or max == 2) and count == 2", "two"},
      {"max == 9007199254740993", "whole"},
      {"max == 9007199254740992", ""},
      {"max == 9007199254740993.1", ""},
      {"count == 2.0000000000000000000000001", ""},
      {"bytes == 8.0000000000000000000000001", ""},
      {"mean == 2", "two"},
      {"amax >= 2 and norm < 3", "two"},
      {"avg != 1", "half_nan inf nan two whole"},  // NaN is unequal to 1; a missing value meets no rule
      {"path ~ \"*o*\" and dtype != int64", "one two"},
      {"path == \"./one.npy\"", "one"},
      {"shape == \"(2)\" and bytes == 8", "nan two"},
      {"slot == 0 and io == output and dtype ~ \"float*\" and bytes < 5", "empty half_nan inf one"},
      {"rank == 0", ""},  // these rows have no rank
      {"nan > 0", "half_nan nan"},
      {"nan > 1 or inf == 1", "inf"},
      {"md5 == d41d8cd98f00b204e9800998ecf8427e", "empty"},
      {"  not  not nan ", "half_nan nan"},
  };
  for (const auto& [where, tensors] : cases) EXPECT_EQ(names("--where '" + where + "'"), tensors) << where;
}

// nan and inf are counts wherever a name is expected.
TEST_F(Asking, NanAndInfAreWordsEverywhere) {
  EXPECT_EQ(names("--sort nan --top 2"), "half_nan nan");
  EXPECT_EQ(names("--sort inf --top 1"), "inf");
  EXPECT_EQ(run(folder, "inf.npy --stats inf --format csv").out.substr(0, 20), "Op Type,Op Name,Task");
  EXPECT_PRED2(holds, run(folder, "inf.npy --stats nan,inf --format csv").out,
               "NaN Count,Negative Inf Count,Positive Inf");
  EXPECT_PRED2(holds, run(folder, "explain nan").out, "nan count, in statistic.csv");
  // Rows without counts: NaN is seen in max, min, avg and l2norm.
  run(folder, ". --stats max,min --format csv -o rows.csv");
  EXPECT_PRED2(holds, run(folder, "rows.csv --where 'nan > 0' --format csv").out, "half_nan");
  const std::string sorted = run(folder, "rows.csv --sort nan --top 2 --format csv").out;
  EXPECT_TRUE(holds(sorted, ",half_nan,") && holds(sorted, ",nan,")) << sorted;
}

TEST_F(Asking, WhatMakesNoSenseIsRefused) {
  const std::pair<std::string, const char*> cases[] = {
      {"", "a statistic or a fact is missing before the end"},
      {"max", "'max' is neither nan, inf nor a comparison"},
      {"max > 1 and", "missing before the end"},
      {"max > 1 max < 2", "and or or is missing before 'max'"},
      {"max = 1", "begins with no operator"},
      {"maximum > 1", "'maximum' is neither a statistic nor a fact of a row; the nearest names are max, name, time"},
      {"max > one", "'max' is a number, and 'one' is none"},
      {"max > nan", "say nan alone"},
      {"max ~ 1", "'max' is a number, and ~ compares texts"},
      {"dtype > float16", "'dtype' is a text: == and != compare it"},
      {"dtype == float17", "'float17' is no dtype"},
      {"(max > 1", "')' is missing before the end"},
      {"max > 1)", "missing before ')'"},
      {"path == \"one", "does not end"},
      {"all > 1", "'all' is neither a statistic"},
      {"max > (1)", "a number should follow 'max >', and '(' does"},
  };
  for (const auto& [where, words] : cases) {
    const Ran ran = run(folder, "one.npy --where '" + where + "'");
    EXPECT_EQ(ran.exit, 2) << where;
    EXPECT_PRED2(holds, ran.err, words) << where;
    EXPECT_EQ(ran.out, "");
  }
  const Ran deep = run(folder, "one.npy --where '" + std::string(100'000, '(') + "'");
  EXPECT_EQ(deep.exit, 2);
  EXPECT_PRED2(holds, deep.err, "more than 100 parentheses");
  EXPECT_EQ(run(folder, "one.npy --where '" + std::string(99, '(') + "nan" + std::string(99, ')') + "'").exit, 0);
}

TEST_F(Asking, SortPutsTheGreatestFirstAndNanBefore) {
  EXPECT_EQ(names("--sort max"), "half_nan nan whole two one inf empty");
  EXPECT_EQ(names("--sort=-max"), "empty inf one two whole half_nan nan") << "equal ones stay in order";
  EXPECT_EQ(names("--sort bytes"), "nan two whole half_nan one inf empty");
  EXPECT_EQ(names("--sort path"), "empty half_nan inf nan one two whole");
  EXPECT_EQ(names("--sort=-path"), "whole two one nan inf half_nan empty");
  EXPECT_EQ(run(folder, "one.npy --sort largest").exit, 2);
}

TEST_F(Asking, TopShowsTheFirst) {
  EXPECT_EQ(names("--sort max --top 3"), "half_nan nan whole");
  EXPECT_EQ(names("--sort=-max --top 1"), "empty");
  EXPECT_EQ(names("--top 2"), "empty half_nan");
  EXPECT_EQ(names("--sort max --top 0"), "");
  EXPECT_EQ(names("--sort max --top 100 --where 'count == 1'"), "whole one inf");
  for (std::size_t i = 0; i < 200; ++i) {
    add("n" + std::to_string(i * 37 % 200), "|u1", "(1,)", std::string(1, static_cast<char>(i)));
  }
  const std::string sorted = names("--sort max --where 'dtype == uint8' --top 20");
  EXPECT_EQ(names("--sort max --where 'dtype == uint8'").substr(0, sorted.size()), sorted);
  EXPECT_TRUE(sorted.starts_with("n163 n126 n89 ")) << sorted;
}

TEST_F(Asking, WhatIsNotShownIsCountedAllTheSame) {
  Ran ran = run(folder, ". --on host --fail-on nan --top 1 --sort=-max --stats count");
  EXPECT_EQ(ran.exit, 1);
  EXPECT_EQ(ran.err,
            "tensorstat: 2 tensors meet --fail-on, the first in time: ./half_nan.npy (nan: nan count is 1)\n"
            "tensorstat:   ./nan.npy (nan: nan count is 1)\n"
            "tensorstat: 7 tensors, 34 bytes, 2 with NaN, 1 with Inf, the first in time: ./half_nan.npy\n");
  ran = run(folder, ". --on host --fail-on nan --where 'dtype != float16' --stats count");
  EXPECT_EQ(ran.exit, 1);
  EXPECT_PRED2(holds, ran.err, "1 tensor meets --fail-on, the first in time: ./nan.npy");
  EXPECT_EQ(run(folder, ". --on host --fail-on nan --where 'not nan'").exit, 0);
}

// Tables show it, because people ask for it; the columns of files for programs stay.
TEST_F(Asking, WhatSortAndWhereNameIsShownInTables) {
  const std::string asked = "one.npy --on host --stats count --where 'max == 1' --sort l2norm --format ";
  for (const std::string format : {"csv", "json"}) {
    EXPECT_EQ(run(folder, asked + format).out, run(folder, "one.npy --on host --stats count --format " + format).out);
  }
  EXPECT_EQ(run(folder, asked + "table").out,
            "tensor   dtype    shape  count  max  l2norm\n"
            "one.npy  float32  (1)        1    1       1\n");
  EXPECT_PRED2(holds, run(folder, asked + "md").out, "| tensor | dtype | shape | count | max | l2norm |\n");
  EXPECT_PRED2(holds, run(folder, "one.npy --on host --stats max --sort bytes").out, "dtype    shape  max  bytes\n");
  EXPECT_PRED2(holds, run(folder, "one.npy --on host --where 'nan-count == 0'").out,
               "0 in each row above: negative inf count");
}

TEST_F(Asking, HeadReadsNoElement) {
  write_file(folder / "long.npy", npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000,), }", ""));
  std::filesystem::resize_file(folder / "long.npy", 128 + 8'000'000);  // a sparse file
  const Ran ran = run(folder, "long.npy one.npy --head");
  EXPECT_EQ(ran.exit, 0);
  EXPECT_EQ(ran.out,
            "tensor    dtype    shape        bytes\n"
            "long.npy  float64  (1000000)  8000000\n"
            "one.npy   float32  (1)              4\n");
  EXPECT_EQ(ran.err, "tensorstat: 2 tensors, 8 MB\n");
  EXPECT_EQ(names("--head --where 'bytes > 5' --sort bytes"), "long nan two whole");
  for (const std::string wrong : {"--stats max", "--fail-on nan", "--where nan", "--sort max"}) {
    EXPECT_EQ(run(folder, "one.npy --head " + wrong).exit, 2) << wrong;
  }
  EXPECT_EQ(run(folder, "one.npy --head --where 'nan count > 0'").err.substr(0, 12), "tensorstat: ");
}

TEST_F(Asking, FilesComeInTheOrderThatIsAskedFor) {
  namespace fs = std::filesystem;
  const auto now = fs::file_time_type::clock::now();
  const std::pair<const char*, int> ages[] = {{"two", 3}, {"one", 2}, {"whole", 1}};
  for (const auto& [name, age] : ages)
    fs::last_write_time(folder / std::string(name) + ".npy", now - std::chrono::hours(age));
  const std::string files = "whole.npy two.npy one.npy";
  EXPECT_EQ(names("", files), "whole two one");
  EXPECT_EQ(names("--order name", files), "one two whole");
  EXPECT_EQ(names("--order time", files), "two one whole");
  EXPECT_EQ(names("--order size", files), "two whole one") << "two and whole are alike, and in order of names";
}

TEST_F(Asking, QuietAndVerboseSayLessAndMore) {
  EXPECT_EQ(run(folder, ". --on host -q").err, "");
  EXPECT_EQ(run(folder, "missing.npy -q").exit, 3);
  EXPECT_PRED2(holds, run(folder, "missing.npy -q").err, "missing.npy");
  EXPECT_EQ(run(folder, ". --on host -j 1 --format csv").out, run(folder, ". --on host --format csv").out);
  EXPECT_EQ(run(folder, ". -j 0").exit, 2);
}

TEST_F(Asking, AnExplanationOfManyIsShort) {
  for (int i = 0; i < 500; ++i)
    std::filesystem::create_hard_link(folder / "one.npy", folder / "z" + std::to_string(i) + ".npy");
  for (const std::string format : {"csv", "md"}) {
    const Ran ran = run(folder, ". --on host --stats max,count --explain --format " + format);
    EXPECT_LE(line_count(ran.err), 10u) << ran.err;
    EXPECT_PRED2(holds, ran.err, "507 tensors, the first: ./empty.npy");
  }
}

}  // namespace command_asking_test
}  // namespace tensorstat
