// `tensorstat convert` converts rows between any two dialects, reports what the other dialect cannot express, and
// writes a complete output or none. Python's csv module checks the files.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <random>
#include <set>
#include <tensorstat/rows.hpp>

#include "tests/support/built.hpp"
#include "tests/support/command_run.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tensorstat {
namespace convert_command_test {

using test::holds;
using test::run;

namespace fs = std::filesystem;

std::string written(const RowFormat& format, const std::vector<Row>& rows) {
  std::string text;
  auto writer = RowWriter::open(format, [&](std::string_view lines) { return text += lines, Status(); });
  EXPECT_TRUE(writer) << writer.error().message;
  for (const Row& row : rows) EXPECT_TRUE(writer && writer->write(row));
  return text;
}

// One run of one operator, with fields that not all dialects have.
std::vector<Row> rows_of_a_run(const Categories& categories) {
  std::vector<Row> rows;
  for (const bool is_input : {true, false}) {
    Row row;
    row.identity = {"Conv2D", "Default/net/Conv2D-op1", 7, 3, 1725960383079645, is_input ? "input" : "output", 1};
    row.identity.set("format", std::string("NCHW"));
    row.data_size_bytes = 24;
    row.data_type = is_input ? "float32" : "int32";
    row.shape = {2, 3};
    row.statistics.categories = categories;
    for (const Category category : categories) {
      switch (kind(category)) {
        case ValueKind::kElement:
        case ValueKind::kSize:
          row.statistics.values.push_back(is_input ? Value{1.0 / 3} : Value{std::int64_t{1234567}});
          break;
        case ValueKind::kReal:
          row.statistics.values.push_back(is_input ? Value{std::nan("")} : Value{1.0 / 3});
          break;
        case ValueKind::kCount:
        case ValueKind::kIndex:
          row.statistics.values.push_back(std::uint64_t{6});
          break;
        case ValueKind::kDigest:
          row.statistics.values.push_back(*Digest::from(std::string(category == Category::kHash ? 40 : 32, 'a')));
          break;
        case ValueKind::kList:
          row.statistics.values.push_back(Exponents({1, 0, 0, 0, {{-3, 4}, {2, 1}}}));
          break;
      }
    }
    rows.push_back(row);
  }
  return rows;
}

Categories categories_of(Dialect dialect) {
  Categories had;
  for (const Category category : every_category()) {
    const auto writer = RowWriter::open({dialect, {category}, {}}, [](std::string_view) { return Status(); });
    if (writer) had.push_back(category);
  }
  return had;
}

std::vector<std::string> files_below(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string only_file_below(const std::string& folder) {
  const auto files = files_below(folder);
  EXPECT_EQ(files.size(), 1u);
  return files.empty() ? "" : files.front();
}

std::vector<Row> read(const std::string& path, std::optional<Dialect> dialect) {
  std::vector<Row> rows;
  const auto read = read_rows_of_file(path, [&](Row&& row) { return rows.push_back(std::move(row)), Status(); });
  EXPECT_TRUE(read) << read.error().message;
  if (read) {
    EXPECT_EQ(read->dialect, dialect) << path;
  }
  return rows;
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

std::vector<std::string> all_dialects() {
  const auto names = dialect_names();
  return {names.begin(), names.end()};
}

std::vector<std::string> all_targets() {
  auto targets = all_dialects();
  targets.emplace_back("msprobe");
  return targets;
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

// A dump.json of PyTorch with members that rows do not have, and calls with other things than tensors.
constexpr const char* kDumpJson = R"({
 "task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": null, "data": {
  "Functional.conv2d.0.forward": {
   "input_args": [
    {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2, 3], "Max": NaN, "Min": -Infinity, "Mean": 1e-05,
     "Norm": 0.30000000000000004, "requires_grad": false, "md5": "0badcafe"},
    [{"type": "int", "value": 3},
     {"type": "torch.Tensor", "dtype": "torch.int64", "shape": [], "Max": 9007199254740993, "Min": 9007199254740993,
      "Mean": null, "Norm": null, "requires_grad": false}]],
   "input_kwargs": {},
   "output": [{"type": "torch.Tensor", "dtype": "torch.bool", "shape": [4], "Max": true, "Min": false, "Mean": null,
               "Norm": null, "requires_grad": false}]},
  "Module.fc.Linear.backward.2": {
   "input": [{"type": "torch.Tensor", "dtype": "torch.bfloat16", "shape": [0], "Max": null, "Min": null, "Mean": null,
              "Norm": null, "requires_grad": false}],
   "output": []}}})";

TEST(ConvertCommand, ADumpJsonGoesIntoEachDialect) {
  for (const std::string& to : all_targets()) {
    const ScratchFolder folder;
    std::ofstream(folder / "dump.json") << kDumpJson;
    const auto ran = run(folder, "convert dump.json -o out --to " + to);
    ASSERT_EQ(ran.exit, 0) << to << "\n" << ran.err;
    EXPECT_TRUE(holds(ran.err, "4 rows of 1 file converted")) << to << "\n" << ran.err;
    std::size_t rows = 0;
    for (const std::string& file : files_below(folder / "out")) rows += read(file, dialect_from(to)).size();
    EXPECT_EQ(rows, 4u) << to;
    EXPECT_EQ(holds(ran.err, "Tensor has no place in " + to), to != "ours" && to != "msprobe") << ran.err;
  }
}

TEST(ConvertCommand, ADumpJsonReadsAgainAsItWas) {
  const ScratchFolder folder;
  std::ofstream(folder / "dump.json") << kDumpJson;
  const auto ran = run(folder, "convert dump.json -o again.json --to msprobe");
  ASSERT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(test::line_count(ran.err), 1u) << "nothing is lost: " << ran.err;
  const auto before = read(folder / "dump.json", std::nullopt), after = read(folder / "again.json", std::nullopt);
  ASSERT_EQ(after.size(), before.size());
  for (std::size_t i = 0; i < after.size(); ++i) {
    EXPECT_EQ(after[i].identity.op_name, before[i].identity.op_name);
    EXPECT_EQ(after[i].identity.slot, before[i].identity.slot);
    EXPECT_EQ(after[i].data_type, before[i].data_type);
    ASSERT_EQ(after[i].statistics.categories, before[i].statistics.categories);
    for (std::size_t k = 0; k < after[i].statistics.values.size(); ++k) {
      EXPECT_EQ(to_string(after[i].statistics.values[k]), to_string(before[i].statistics.values[k])) << i << " " << k;
    }
  }
  std::ofstream(folder / "judge.py") << R"PY(
import json, sys
old, new = (json.load(open(path)) for path in sys.argv[1:])
assert list(new) == ["task", "level", "framework", "dump_data_dir", "data"], new
assert new["framework"] == "pytorch" and list(new["data"]) == list(old["data"]), new
assert repr(new["data"]) == repr(old["data"]), new
assert open(sys.argv[2]).read() == json.dumps(new, indent=1)
)PY";
  const std::string judge =
      "python3 '" + (folder / "judge.py") + "' '" + (folder / "dump.json") + "' '" + (folder / "again.json") + "'";
  EXPECT_EQ(std::system(judge.c_str()), 0);
}

// Calls with more than tensors: every kind of argument that msprobe writes, names beyond ASCII, nested lists, calls
// without a tensor, members of future versions.
constexpr const char* kArguments =
    R"({"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": null, "data": {
 "Tensor.__getitem__.0.forward": {
  "input_args": [{"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2], "Max": 1.5, "Min": -1.0, "Mean": 0.25, "Norm": 2.0, "requires_grad": true},
   [{"type": "slice", "value": [0, -3, null]}, {"type": "ellipsis", "value": "..."}, null, [], {}],
   {"type": "int", "value": 170141183460469231731687303715884105728}],
  "input_kwargs": {"mode": {"type": "str", "value": "a \"b\"\n\u00e9 \u0001, [x"}, "max": {"type": "float", "value": Infinity},
   "eps": {"type": "float", "value": 1e-05}, "shape": {"type": "torch.Size", "value": [1, [2]]}, "größe": {"type": "bool", "value": true},
   "weights": {"w, \"1\"": {"type": "torch.Tensor", "dtype": "torch.int8", "shape": [], "Max": 3, "Min": 3, "Mean": 3.0, "Norm": 3.0, "requires_grad": false}}},
  "output": [null], "is_recompute": true, "later": {"x": [NaN, -Infinity]}},
 "Functional.seed.0.forward": {"input_args": [{"type": "int", "value": 1}], "input_kwargs": {}, "output": []},
 "Functional.seed.1.forward": {},
 "Torch.add.0.forward": {"input_args": [3, "text", false], "input_kwargs": {}, "output": [
  {"type": "torch.Tensor", "dtype": "torch.bool", "shape": [4], "Max": true, "Min": false, "Mean": null, "Norm": null, "requires_grad": false}]}}})";

TEST(ConvertCommand, ArgumentsThatAreNoTensorsAreKept) {
  const ScratchFolder folder;
  std::ofstream(folder / "dump.json") << kArguments;
  const auto ran = run(folder, "convert dump.json -o again.json --to msprobe");
  ASSERT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(test::line_count(ran.err), 1u) << "nothing is lost: " << ran.err;
  std::ofstream(folder / "judge.py") << R"PY(
import json, sys
old, new = (json.load(open(path)) for path in sys.argv[1:])
assert repr(new["data"]) == repr(old["data"]), json.dumps(new["data"], indent=1)
assert open(sys.argv[2]).read() == json.dumps(new, indent=1)
)PY";
  const std::string judge =
      "python3 '" + (folder / "judge.py") + "' '" + (folder / "dump.json") + "' '" + (folder / "again.json") + "'";
  EXPECT_EQ(std::system(judge.c_str()), 0);
  const auto rows = run(folder, "convert dump.json -o rows.csv --to ours");
  ASSERT_EQ(rows.exit, 0) << rows.err;
  EXPECT_TRUE(holds(
      rows.err, "14 arguments that are no tensors have no place in ours, the first: of Tensor.__getitem__.0.forward\n"))
      << rows.err;
}

// Members without a column are reported with their number, for every target.
TEST(ConvertCommand, WhatATensorSaysBeyondItsRowIsCounted) {
  const ScratchFolder folder;
  std::ofstream(folder / "dump.json") << R"({"task": "tensor", "framework": "pytorch", "data": {
    "Functional.relu.0.forward": {"input_args": [
      {"type": "torch.Tensor", "dtype": "torch.float16", "shape": [2], "Max": 1.0, "layout": null, "md5": "0badcafe"},
      {"type": "DTensor", "dtype": "torch.float16", "shape": [2], "Max": 1.0, "device_mesh": [0, 1], "placements": {"a": 1}},
      {"type": "torch.Tensor", "dtype": "torch.float16", "shape": [2], "Max": 1.0, "later": true},
      {"type": "torch.Tensor", "dtype": "torch.float16", "shape": [2], "Max": 1.0, "data_name": "x.pt"}]},
    "Functional.relu.1.forward": {"input_args": [
      {"type": "torch.Tensor", "dtype": "torch.float16", "shape": [2], "Max": 1.0, "hsdp_shard_size": 4}]}}})";
  for (const std::string to : {"ours", "msprobe", "msprobe-o2"}) {
    const auto ran = run(folder, "convert dump.json -o " + to + " --to " + to);
    EXPECT_TRUE(
        holds(ran.err, "4 tensors say what has no place in " + to + ", the first: type of Functional.relu.0.forward\n"))
        << ran.err;
  }
}

// A file that ends within a call: its rows are kept, and the rows of the next file belong to other calls.
TEST(ConvertCommand, ACallThatIsCutOffKeepsItsRows) {
  const ScratchFolder folder;
  const std::string text(kDumpJson);
  std::ofstream(folder / "a_dump.json") << text.substr(0, text.find("[{\"type\": \"int\""));
  std::ofstream(folder / "b_dump.json") << text;
  const auto ran = run(folder, "convert a_dump.json b_dump.json -o again.json --to msprobe");
  EXPECT_EQ(ran.exit, 3) << ran.err;
  EXPECT_TRUE(holds(ran.err, "5 rows of 2 files converted")) << ran.err;
  const auto rows = read(folder / "again.json", std::nullopt);
  ASSERT_EQ(rows.size(), 5u);
  EXPECT_EQ(rows[0].identity.op_name, "Functional.conv2d.0.forward");
  EXPECT_EQ(rows[1].identity.op_name, "Functional.conv2d.1.forward");
}

// Named arguments and parameters, gradients of parameters, and requires_grad.
TEST(ConvertCommand, NamesAndGradientsOfADumpJsonAreKept) {
  const auto leaf = [](const char* requires_grad) {
    return R"({"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2], "Max": 1.5, "Min": -1.0, "Mean": 0.25, "Norm": 2.0, "requires_grad": )" +
           std::string(requires_grad) + "}";
  };
  const std::string yes = leaf("true"), no = leaf("false");
  const ScratchFolder folder;
  std::ofstream(folder / "dump.json")
      << R"({"task": "statistics", "level": "mix", "framework": "pytorch", "dump_data_dir": null, "data": {
    "Functional.pad.0.forward": {"input_args": [)" +
             no + R"(, null], "input_kwargs": {"value": )" + yes + R"(}, "output": [)" + yes +
             R"(], "is_recompute": false},
    "Module.fc.Linear.forward.0": {"input_args": [)" +
             no + R"(], "input_kwargs": {"bias": )" + no + R"(}, "output": [)" + yes +
             R"(], "parameters": {"weight": )" + yes + R"(, "bias": )" + yes + R"(}, "is_recompute": false},
    "Module.fc.Linear.backward.0": {"input": [)" +
             no + R"(, )" + no + R"(], "output": [)" + no + R"(]},
    "Module.fc.Linear.parameters_grad.0": {"weight": [)" +
             no + R"(], "bias": [)" + no + R"(]}}})";
  const auto ran = run(folder, "convert dump.json -o again.json --to msprobe");
  ASSERT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(test::line_count(ran.err), 1u) << "nothing is lost: " << ran.err;
  const auto csv = run(folder, "dump.json --format csv --columns requires_grad");
  EXPECT_TRUE(holds(csv.out, ",Requires Grad\n")) << csv.out << csv.err;
  std::ofstream(folder / "judge.py") << R"PY(
import json, sys
old, new = (json.load(open(path)) for path in sys.argv[1:])
assert new == old, json.dumps(new["data"], indent=1)
)PY";
  const std::string judge =
      "python3 '" + (folder / "judge.py") + "' '" + (folder / "dump.json") + "' '" + (folder / "again.json") + "'";
  EXPECT_EQ(std::system(judge.c_str()), 0);
  // A row can have any text. One that dump.json cannot express is reported.
  ASSERT_EQ(run(folder, "convert dump.json -o rows.csv --to ours").exit, 0);
  ASSERT_EQ(std::system(("sed -i 's/,True$/,maybe/' '" + (folder / "rows.csv") + "'").c_str()), 0);
  EXPECT_TRUE(
      holds(run(folder, "convert rows.csv -o odd.json --to msprobe").err, "Requires Grad reads otherwise in 5 rows"));
}

// Keys are unique, whatever the names in the rows are.
TEST(ConvertCommand, RunsAreCallsOfADumpJson) {
  const ScratchFolder folder;
  std::vector<Row> rows;
  for (int repeat = 0; repeat < 3; ++repeat) {
    for (const Row& row : rows_of_a_run({Category::kMax, Category::kNanCount})) rows.push_back(row);
  }
  rows[4].identity.slot = std::uint64_t{1} << 32;
  std::ofstream(folder / "rows.csv") << written({Dialect::kOurs, rows[0].statistics.categories, {}}, rows);
  const auto ran = run(folder, "convert rows.csv -o dump.json --to msprobe");
  ASSERT_EQ(ran.exit, 0) << ran.err;
  const auto there = read(folder / "dump.json", std::nullopt);
  ASSERT_EQ(there.size(), 5u);
  EXPECT_EQ(there[0].identity.op_name, "Primitive.Default_net_Conv2D-op1.Conv2D.0.forward");
  EXPECT_EQ(there[4].identity.op_name, "Primitive.Default_net_Conv2D-op1.Conv2D.2.forward");
  EXPECT_EQ(there[0].identity.op_type, "Conv2D");
  for (const char* said : {"NaN Count has no place in msprobe in 5 rows", "Task ID has no place in msprobe in ",
                           "not carried: Default/net/Conv2D-op1.input.4294967296: its slot is above"}) {
    EXPECT_TRUE(holds(ran.err, said)) << said << "\n" << ran.err;
  }
  EXPECT_FALSE(holds(ran.err, "NaN Count reads otherwise")) << "said once: " << ran.err;
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
  EXPECT_LT(test::line_count(ran.err), 8u);
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

// A process that is killed at any time leaves the complete output or none.
TEST(ConvertCommand, AKillLeavesAWholeOutputOrNone) {
  const bool full = std::getenv("TENSORSTAT_FULL") != nullptr;
  const int kills = full ? 1000 : 30;
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const ScratchFolder folder;
  std::vector<Row> rows;
  for (int run = 0; run < 300; ++run) {
    for (Row row : rows_of_a_run({Category::kMax})) {
      row.identity.timestamp_us += static_cast<std::uint64_t>(run);
      rows.push_back(row);
    }
  }
  std::ofstream(folder / "rows.csv") << written({Dialect::kOurs, {Category::kMax}, {}}, rows);
  const std::string source = folder / "rows.csv", out = folder / "out";
  int whole = 0, none = 0;
  for (int i = 0; i < kills; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(1);
      execl(built::command().c_str(), "tensorstat", "convert", source.c_str(), "-o", out.c_str(), "--to", "cann",
            nullptr);
      _exit(1);
    }
    usleep(random() % 150'000);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    if (!fs::exists(out)) {
      ++none;
      continue;
    }
    ++whole;
    EXPECT_EQ(files_below(out).size(), 300u);
    for (const std::string& file : files_below(out)) EXPECT_EQ(read(file, Dialect::kCann).size(), 2u);
    fs::remove_all(out);
  }
  const auto is_left_behind = [](const fs::directory_entry& each) {
    return each.path().filename().string().starts_with(".new-");
  };
  const auto left_behind = [&] {
    return std::count_if(fs::directory_iterator(folder.path()), fs::directory_iterator(), is_left_behind);
  };
  EXPECT_EQ(run(folder, "convert '" + source + "' -o '" + out + "' --to cann").exit, 0);
  EXPECT_EQ(left_behind(), 0) << "the next run to the same place cleans up";
  fs::remove_all(out);
  // After other signals nothing is left.
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
    for (int i = 0; i < kills / 6; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(1);
        const rlimit no_core{0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        std::signal(signal, SIG_DFL);
        execl(built::command().c_str(), "tensorstat", "convert", source.c_str(), "-o", out.c_str(), "--to", "cann",
              nullptr);
        _exit(1);
      }
      for (int wait = 0; wait < 1000 && left_behind() == 0 && !fs::exists(out); ++wait) usleep(100);
      usleep(500 + random() % 20'000);
      kill(child, signal);
      waitpid(child, nullptr, 0);
      EXPECT_EQ(left_behind(), 0) << strsignal(signal);
      fs::remove_all(out);
    }
  }
  std::cout << kills << " kills, " << whole << " whole outputs, " << none << " times none\n";
  EXPECT_GT(whole + none, 0);
}

// The peak memory in KiB while converting a file with this many thousand rows.
long most_memory(const ScratchFolder& folder, int thousands) {
  std::vector<Row> rows;
  for (int i = 0; i < 1000; ++i) rows.push_back(rows_of_a_run({Category::kMax, Category::kAvg})[0]);
  const RowFormat format{Dialect::kOurs, {Category::kMax, Category::kAvg}, {}};
  const std::string text = written(format, rows), heading = written(format, {});
  const std::string number = std::to_string(thousands);
  const std::string source = folder / ("rows" + number + ".csv"), out = folder / ("out" + number + ".csv");
  const std::string errors = folder / ("errors" + number);
  std::ofstream file(source);
  file << text;
  for (int i = 1; i < thousands; ++i) file << text.substr(heading.size());
  file.close();
  const pid_t child = fork();
  if (child == 0) {
    if (std::freopen(errors.c_str(), "w", stderr) == nullptr) _exit(1);
    execl(built::command().c_str(), "tensorstat", "convert", source.c_str(), "-o", out.c_str(), "--to",
          "mindspore-next", nullptr);
    _exit(1);
  }
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << content_of(errors);
  EXPECT_TRUE(holds(content_of(errors), number + "000 rows of 1 file converted")) << content_of(errors);
  return usage.ru_maxrss;
}

TEST(ConvertCommand, MemoryDoesNotGrowWithTheFile) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer keeps memory that was freed";
  const ScratchFolder folder;
  const long little = most_memory(folder, 30), much = most_memory(folder, 120);
  std::cout << little << " KiB for 30,000 rows, " << much << " KiB for 120,000\n";
  EXPECT_LT(much, little + 3'000);
}

}  // namespace convert_command_test
}  // namespace tensorstat
