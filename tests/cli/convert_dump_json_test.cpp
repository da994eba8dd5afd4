// `tensorstat convert` keeps all that a dump.json says when it writes one again, and says what another dialect has no
// place for. Python's json module checks the files.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/command_run.hpp"
#include "tests/support/converted_rows.hpp"

namespace tensorstat::test {
namespace convert_dump_json_test {

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

TEST(ConvertDumpJson, ADumpJsonGoesIntoEachDialect) {
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

TEST(ConvertDumpJson, ADumpJsonReadsAgainAsItWas) {
  const ScratchFolder folder;
  std::ofstream(folder / "dump.json") << kDumpJson;
  const auto ran = run(folder, "convert dump.json -o again.json --to msprobe");
  ASSERT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(line_count(ran.err), 1u) << "nothing is lost: " << ran.err;
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

TEST(ConvertDumpJson, ArgumentsThatAreNoTensorsAreKept) {
  const ScratchFolder folder;
  std::ofstream(folder / "dump.json") << kArguments;
  const auto ran = run(folder, "convert dump.json -o again.json --to msprobe");
  ASSERT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(line_count(ran.err), 1u) << "nothing is lost: " << ran.err;
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
TEST(ConvertDumpJson, WhatATensorSaysBeyondItsRowIsCounted) {
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
TEST(ConvertDumpJson, ACallThatIsCutOffKeepsItsRows) {
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
TEST(ConvertDumpJson, NamesAndGradientsOfADumpJsonAreKept) {
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
  EXPECT_EQ(line_count(ran.err), 1u) << "nothing is lost: " << ran.err;
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
TEST(ConvertDumpJson, RunsAreCallsOfADumpJson) {
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
  for (const char* notice : {"NaN Count has no place in msprobe in 5 rows", "Task ID has no place in msprobe in ",
                             "not carried: Default/net/Conv2D-op1.input.4294967296: its slot is above"}) {
    EXPECT_TRUE(holds(ran.err, notice)) << notice << "\n" << ran.err;
  }
  EXPECT_FALSE(holds(ran.err, "NaN Count reads otherwise")) << "said once: " << ran.err;
}

}  // namespace convert_dump_json_test
}  // namespace tensorstat::test
