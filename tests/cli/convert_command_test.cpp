// `tensorstat convert` converts rows between any two dialects, and reports what the other dialect cannot express.
// Python's csv module checks the files.
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "tests/support/command_run.hpp"
#include "tests/support/converted_rows.hpp"

namespace tensorstat::test {
namespace convert_command_test {

Categories categories_of(Dialect dialect) {
  Categories had;
  for (const Category category : every_category()) {
    const auto writer = RowWriter::open({dialect, {category}, {}}, [](std::string_view) { return Status(); });
    if (writer) had.push_back(category);
  }
  return had;
}

class ConvertEachToEach : public testing::TestWithParam<std::tuple<std::string, std::string>> {};

// A cell is different at the end if and only if stderr named it.
TEST_P(ConvertEachToEach, WhatIsLostIsSaid) {
  const auto& [from_name, to_name] = GetParam();
  const Dialect from = *dialect_from(from_name);
  const auto to = dialect_from(to_name);  // nullopt: dump.json
  const ScratchFolder folder;
  const Categories categories = categories_of(from);
  RowFormat format{from, categories, {}};
  if (from == Dialect::kOurs) format.columns = {"format"};
  const auto rows = rows_of_a_run(categories);
  const std::string source = file_name(from, rows[0].identity);
  std::ofstream(folder / source) << written(format, rows);
  const auto before = read(folder / source, from);

  const auto ran = run(folder, "convert " + source + " -o out --to " + to_name);
  ASSERT_EQ(ran.exit, 0) << ran.err;
  EXPECT_TRUE(holds(ran.err, "2 rows of 1 file converted, into 1")) << ran.err;
  const auto after = read(only_file_below(folder / "out"), to);
  ASSERT_EQ(after.size(), before.size());
  const auto expect_said = [&](const std::string& heading, bool is_lost) {
    const std::string begin = "tensorstat: " + heading;  // the beginning of a line
    EXPECT_EQ(holds(ran.err, begin + " reads otherwise") || holds(ran.err, begin + " has no place in " + to_name),
              is_lost)
        << heading << "\n"
        << ran.err;
  };
  for (const Category category : categories) {
    bool is_lost = false;
    for (std::size_t i = 0; i < before.size(); ++i) {
      const Value* is = after[i].statistics.find(category);
      is_lost |= is == nullptr || to_string(*is) != to_string(*before[i].statistics.find(category));
    }
    // CANN computes the count from the shape, so nothing is lost.
    expect_said(std::string(column(category)), is_lost);
  }
  const auto differ = [&](auto cell) {
    bool is_lost = false;
    for (std::size_t i = 0; i < before.size(); ++i) is_lost |= cell(before[i]) != cell(after[i]);
    return is_lost;
  };
  expect_said("Op Name", differ([](const Row& row) { return row.identity.op_name; }));
  expect_said("Op Type", differ([](const Row& row) { return row.identity.op_type; }));
  expect_said("Timestamp", differ([](const Row& row) { return row.identity.timestamp_us; }));
  expect_said("Slot", differ([](const Row& row) { return row.identity.slot; }));
  expect_said("IO", differ([](const Row& row) { return row.identity.io; }));
  expect_said("Data Type", differ([](const Row& row) { return row.data_type; }));
  expect_said("Shape", differ([](const Row& row) { return row.shape; }));
  expect_said("Format", before[0].identity.find("format") != nullptr && after[0].identity.find("format") == nullptr);
}

INSTANTIATE_TEST_SUITE_P(Dialects, ConvertEachToEach,
                         testing::Combine(testing::ValuesIn(all_dialects()), testing::ValuesIn(all_targets())),
                         [](const auto& info) {
                           std::string name = std::get<0>(info.param) + "_to_" + std::get<1>(info.param);
                           std::ranges::replace_if(
                               name, [](char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

TEST(ConvertCommand, PythonReadsWhatIsWritten) {
  const ScratchFolder folder;
  const auto rows = rows_of_a_run({Category::kMax, Category::kAvg, Category::kL2norm});
  std::ofstream(folder / "rows.csv") << written({Dialect::kOurs, rows[0].statistics.categories, {"format"}}, rows);
  std::ofstream(folder / "judge.py") << R"PY(
import csv, sys
with open(sys.argv[1], newline="") as file:
    rows = list(csv.DictReader(file))
assert len(rows) == 2, rows
for row, io, dtype in zip(rows, ("input", "output"), ("float32", "int32")):
    assert row.get("IO", row.get("Input/Output")).lower() == io, row
    assert row["Data Type"] in (dtype, {"float32": "DT_FLOAT", "int32": "DT_INT32"}[dtype]), row
    assert row["Shape"] in ("(2,3)", "[2,3]", "2x3"), row
    assert row["Data Size"] == "24", row
    assert abs(float(row["Max Value"]) / {"input": 1 / 3, "output": 1234567}[io] - 1) < 1e-5, row
assert rows[0]["Avg Value"] == "nan", rows
)PY";
  for (const std::string& to : all_dialects()) {
    const auto ran = run(folder, "convert rows.csv -o '" + to + "' --to " + to);
    ASSERT_EQ(ran.exit, 0) << ran.err;
    const std::string judge = "python3 '" + (folder / "judge.py") + "' '" + only_file_below(folder / to) + "'";
    EXPECT_EQ(std::system(judge.c_str()), 0) << to;
  }
}

TEST(ConvertCommand, ATreeKeepsItsFolders) {
  const ScratchFolder folder;
  const auto rows = rows_of_a_run({Category::kMax});
  const std::string text = written({Dialect::kMindspore27, {Category::kMax}, {}}, rows);
  for (const char* iteration : {"0", "1", "10"}) {
    const std::string inside = folder / ("run/rank_0/net/0/" + std::string(iteration));
    fs::create_directories(inside);
    std::ofstream(inside + "/statistic.csv") << text;
    std::ofstream(inside + "/mapping.csv") << "1.npy,a long name\n";
  }
  const auto ran = run(folder, "convert run -o out --to cann");
  ASSERT_EQ(ran.exit, 0) << ran.err;
  const auto files = files_below(folder / "out");
  ASSERT_EQ(files.size(), 3u);
  EXPECT_TRUE(fs::exists(folder / "out/rank_0/net/0/10/Conv2D.Default_net_Conv2D-op1.7.3.1725960383079645.csv"));

  const auto back = run(folder, "convert out -o back --to mindspore-2.7");
  ASSERT_EQ(back.exit, 0) << back.err;
  EXPECT_EQ(files_below(folder / "back").size(), 3u);
}

TEST(ConvertCommand, WhatWouldBeAFolderIsNotNamedAsAFile) {
  const ScratchFolder folder;
  const std::string text = written({Dialect::kMindspore27, {Category::kMax}, {}}, rows_of_a_run({Category::kMax}));
  for (const char* iteration : {"0", "1"}) {
    const std::string inside = folder / ("run/rank_0/net/0/" + std::string(iteration));
    fs::create_directories(inside);
    std::ofstream(inside + "/statistic.csv") << text;
  }
  const std::pair<const char*, const char*> cases[] = {
      {"run -o all.csv --to ours", "all.csv: would be a folder, as the rows come from 2 folders; give it a name"},
      {"run/rank_0/net/0/0 -o runs.csv --to cann",
       "runs.csv: would be a folder, as each run of an operator has a file"},
      {"run/rank_0/net/0/0 -o rows.json --to ours",
       "rows.json: would be a folder, as the file in it is statistic.csv"}};
  for (const auto& [arguments, words] : cases) {
    const auto ran = run(folder, "convert " + std::string(arguments));
    EXPECT_EQ(ran.exit, 2) << arguments;
    EXPECT_TRUE(holds(ran.err, words)) << ran.err;
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1) << "nothing beside the run";
  fs::remove_all(folder / "run/rank_0/net/0/1");
  const auto ran = run(folder, "convert run -o all.csv --to ours");
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(read(folder / "all.csv", Dialect::kOurs).size(), rows_of_a_run({Category::kMax}).size());
}

TEST(ConvertCommand, TheFilesOfAFolderAreGatheredInOne) {
  const ScratchFolder folder;
  fs::create_directories(folder / "runs");
  std::uint64_t time = 100;
  for (const Categories& categories : {Categories{Category::kMax}, Categories{Category::kMin, Category::kL2norm}}) {
    auto rows = rows_of_a_run(categories);
    for (Row& row : rows) row.identity.timestamp_us = time;
    std::ofstream(folder / ("runs/" + file_name(Dialect::kCann, rows[0].identity)))
        << written({Dialect::kCann, categories, {}}, rows);
    ++time;
  }
  const auto ran = run(folder, "convert runs -o rows.csv --to ours");
  ASSERT_EQ(ran.exit, 0) << ran.err;
  const auto rows = read(folder / "rows.csv", Dialect::kOurs);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(*rows[0].statistics.find(Category::kL2norm), Value{}) << "which its file did not have";
  EXPECT_NE(*rows[3].statistics.find(Category::kL2norm), Value{});
}

// Each row of a statistic.csv has its own time. A run ends when an input or output repeats.
TEST(ConvertCommand, RowsAreTakenApartIntoRuns) {
  const ScratchFolder folder;
  std::vector<Row> rows;
  std::uint64_t time = 100;
  for (int repeat = 0; repeat < 3; ++repeat) {
    for (Row row : rows_of_a_run({Category::kMax})) {
      row.identity.timestamp_us = repeat == 2 ? 100 : time++;  // the first run has this time, too
      rows.push_back(row);
    }
  }
  std::ofstream(folder / "rows.csv") << written({Dialect::kOurs, {Category::kMax}, {}}, rows);
  const auto ran = run(folder, "convert rows.csv -o runs --to cann");
  ASSERT_EQ(ran.exit, 0) << ran.err;
  const auto files = files_below(folder / "runs");
  ASSERT_EQ(files.size(), 3u);
  std::set<std::string> times;
  for (const std::string& file : files) {
    EXPECT_EQ(read(file, Dialect::kCann).size(), 2u) << file;
    times.insert(fs::path(file).stem().extension());
  }
  EXPECT_EQ(times, (std::set<std::string>{".100", ".101", ".102"}));
  EXPECT_TRUE(holds(ran.err, "Timestamp reads otherwise in 4 rows")) << ran.err;
}

TEST(ConvertCommand, ManyLossesAreSaidInSumAndFewRowByRow) {
  const ScratchFolder folder;
  std::vector<Row> rows;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    Row row = rows_of_a_run({Category::kMax, Category::kVar})[0];
    row.identity.slot = i;
    row.statistics.values[0] = i < 2 ? 1.0 / 3 : 0.5;
    row.statistics.values[1] = 0.5;
    rows.push_back(row);
  }
  std::ofstream(folder / "rows.csv") << written({Dialect::kOurs, {Category::kMax, Category::kVar}, {}}, rows);
  const auto ran = run(folder, "convert rows.csv -o out.csv --to msprobe-o2");
  ASSERT_EQ(ran.exit, 0) << ran.err;
  EXPECT_TRUE(holds(ran.err,
                    "Max Value reads otherwise: Default/net/Conv2D-op1.input.0: 0.3333333333333333 became "
                    "0.333333\n"))
      << ran.err;
  EXPECT_TRUE(holds(ran.err, "op1.input.1: 0.33")) << ran.err;
  EXPECT_TRUE(holds(ran.err, "Var Value has no place in msprobe-o2 in 1000 rows, the first: ")) << ran.err;
  EXPECT_LT(line_count(ran.err), 8u);
}

TEST(ConvertCommand, ARowThatWouldNotBeReadAgainIsLeftOutAndSaid) {
  const ScratchFolder folder;
  auto rows = rows_of_a_run({Category::kMax});
  rows[0].identity.set("format", std::string("NC,HW"));
  std::ofstream(folder / "rows.csv") << written({Dialect::kOurs, {Category::kMax}, {"format"}}, rows);
  const auto ran = run(folder, "convert rows.csv -o out --to cann");
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_TRUE(holds(ran.err, "not carried: Default/net/Conv2D-op1.input.1: ")) << ran.err;
  EXPECT_EQ(read(only_file_below(folder / "out"), Dialect::kCann).size(), 1u);
}

// No reader would recognise a file with such a name.
TEST(ConvertCommand, ARowOfNoOperatorIsNotCarriedIntoAFileOfItsOwn) {
  const ScratchFolder folder;
  for (const bool has_type : {true, false}) {
    std::vector<Row> rows = rows_of_a_run({Category::kMax}), nameless = rows;
    for (Row& row : nameless) (has_type ? row.identity.op_name : row.identity.op_type) = "";
    rows.insert(rows.begin() + 1, nameless.begin(), nameless.end());
    const std::string in = has_type ? "names" : "types";
    std::ofstream(folder / in + ".csv") << written({Dialect::kOurs, {Category::kMax}, {}}, rows);
    const auto ran = run(folder, "convert " + in + ".csv -o " + in + " --to cann");
    EXPECT_EQ(ran.exit, 0) << ran.err;
    EXPECT_TRUE(holds(ran.err, "no file can be named after it")) << ran.err;
    EXPECT_TRUE(holds(ran.err, "2 rows of 1 file converted, into 2; 2 rows were not carried")) << ran.err;
    const auto back = run(folder, "convert " + in + " -o " + in + "_back.csv --to ours");
    EXPECT_TRUE(holds(back.err, "2 rows of 2 files converted, into 1")) << back.err;
  }
}

TEST(ConvertCommand, WhereNoRowCanBeCarriedNothingIsWritten) {
  const ScratchFolder folder;
  auto rows = rows_of_a_run({Category::kMax});
  for (Row& row : rows) row.identity.slot += std::uint64_t{1} << 32;
  std::ofstream(folder / "slots.csv") << written({Dialect::kOurs, {Category::kMax}, {}}, rows);
  for (Row& row : rows) row.identity.op_name = "";
  std::ofstream(folder / "names.csv") << written({Dialect::kOurs, {Category::kMax}, {}}, rows);
  for (const char* line : {"slots.csv -o out.json --to msprobe", "names.csv -o out --to cann"}) {
    const auto ran = run(folder, std::string("convert ") + line);
    EXPECT_EQ(ran.exit, 5) << ran.err;
    EXPECT_TRUE(holds(ran.err, "0 rows of 1 file converted, into 0; 2 rows were not carried")) << ran.err;
  }
  EXPECT_FALSE(fs::exists(folder / "out.json") || fs::exists(folder / "out"));
}

TEST(ConvertCommand, ANameThatIsTooLongForAFileIsExplainedByMappingCsv) {
  const ScratchFolder folder;
  auto rows = rows_of_a_run({Category::kMax});
  for (Row& row : rows) row.identity.op_name = std::string(300, 'x');
  std::ofstream(folder / "long.csv") << written({Dialect::kOurs, {Category::kMax}, {}}, rows);
  const auto ran = run(folder, "convert long.csv -o runs --to cann");
  ASSERT_EQ(ran.exit, 0) << ran.err;
  const auto files = files_below(folder / "runs");
  ASSERT_EQ(files.size(), 2u) << "the csv, and mapping.csv";
  const std::string csv = files[0].ends_with("mapping.csv") ? files[1] : files[0];
  EXPECT_EQ(fs::path(csv).stem().string().size(), 32u) << csv;
  EXPECT_EQ(content_of(folder / "runs/mapping.csv"),
            fs::path(csv).filename().string() + ",Conv2D." + std::string(300, 'x') + ".7.3.1725960383079645.csv\n");
  const auto back = run(folder, "convert runs -o back.csv --to ours");
  ASSERT_EQ(back.exit, 0) << back.err;
  for (const Row& row : read(folder / "back.csv", Dialect::kOurs))
    EXPECT_EQ(row.identity.op_name, std::string(300, 'x'));
}

TEST(ConvertCommand, WhatIsThereIsNotTouched) {
  const ScratchFolder folder;
  std::ofstream(folder / "rows.csv") << written({Dialect::kOurs, {Category::kMax}, {}},
                                                rows_of_a_run({Category::kMax}));
  std::ofstream(folder / "there.csv") << "mine";
  fs::create_directories(folder / "full");
  std::ofstream(folder / "full/mine") << "mine";
  for (const std::string out : {"there.csv", "full", "rows.csv"}) {
    const auto ran = run(folder, "convert rows.csv -o " + out + " --to ours");
    EXPECT_EQ(ran.exit, 5) << ran.err;
    EXPECT_TRUE(holds(ran.err, "is there already")) << ran.err;
  }
  EXPECT_EQ(content_of(folder / "there.csv"), "mine");
  EXPECT_EQ(files_below(folder / "full").size(), 1u);
  EXPECT_EQ(files_below(folder.path()).size(), 3u) << "nothing is left beside";
  fs::create_directories(folder / "empty");
  EXPECT_EQ(run(folder, "convert rows.csv -o empty/ --to ours").exit, 0);
  EXPECT_TRUE(fs::exists(folder / "empty/statistic.csv"));
}

TEST(ConvertCommand, AFileThatCannotBeReadIsSaidAndTheOthersAreConverted) {
  const ScratchFolder folder;
  const std::string good = written({Dialect::kOurs, {Category::kMax}, {}}, rows_of_a_run({Category::kMax}));
  std::ofstream(folder / "good.csv") << good;
  std::ofstream(folder / "torn.csv") << good << "Conv2D,x,0";
  std::ofstream(folder / "none.csv") << "a,b\n1,2\n";
  const auto both = run(folder, "convert torn.csv none.csv good.csv -o out.csv --to ours");
  EXPECT_EQ(both.exit, 3);
  EXPECT_TRUE(holds(both.err, "torn.csv, line 4: the last line does not end")) << both.err;
  EXPECT_TRUE(holds(both.err, "none.csv, line 1: ")) << both.err;
  EXPECT_EQ(read(folder / "out.csv", Dialect::kOurs).size(), 4u) << "and the rows before the fault";
  const auto none = run(folder, "convert none.csv -o nothing --to ours");
  EXPECT_EQ(none.exit, 3);
  EXPECT_FALSE(fs::exists(folder / "nothing"));
  EXPECT_EQ(run(folder, "convert . -o x --to nowhere").exit, 2);
  EXPECT_EQ(run(folder, "convert missing.csv -o y --to ours").exit, 3);
  fs::create_directories(folder / "hollow");
  EXPECT_TRUE(holds(run(folder, "convert hollow -o z --to ours").err, "holds no statistic.csv"));
}

}  // namespace convert_command_test
}  // namespace tensorstat::test
