// The command shows rows of earlier results, in every dialect, in the same way as tensors.
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <tensorstat/rows.hpp>

#include "tests/support/command_run.hpp"
#include "tests/support/npy_files.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tensorstat {
namespace command_rows_test {

using test::holds;
using test::run;

const std::string kCannName = "Conv2D.Default_net_Conv2D-op1.7.3.1725960383079645.csv";

std::string text_in(Dialect dialect, Categories categories, std::vector<Value> values) {
  Row row;
  row.identity = {"Conv2D", "Default_net_Conv2D-op1", 7, 3, 1725960383079645, "output", 1};
  row.data_size_bytes = 24;
  row.data_type = "float32";
  row.shape = {2, 3};
  row.statistics = {categories, std::move(values)};
  std::string text;
  auto writer = RowWriter::open({dialect, std::move(categories), {}},
                                [&](std::string_view lines) { return text += lines, Status(); });
  EXPECT_TRUE(writer && writer->write(row));
  return text;
}

TEST(CommandRows, OfEveryDialectInEveryFormat) {
  for (const std::string_view each : dialect_names()) {
    const Dialect dialect = *dialect_from(each);
    const ScratchFolder folder;
    const std::string name = file_name(dialect, {.op_type = "Conv2D",
                                                 .op_name = "Default_net_Conv2D-op1",
                                                 .task_id = 7,
                                                 .stream_id = 3,
                                                 .timestamp_us = 1725960383079645});
    std::ofstream(folder / name) << text_in(dialect, {Category::kMax, Category::kNanCount}, {1.5, std::uint64_t{2}});
    const auto table = run(folder, name);
    EXPECT_EQ(table.exit, 0) << table.err;
    EXPECT_TRUE(holds(table.out, name + "::Default_net_Conv2D-op1.output.1  float32  (2,3)")) << table.out;
    EXPECT_TRUE(holds(table.out, "1.5")) << table.out;
    const auto csv = run(folder, name + " --format csv");
    EXPECT_TRUE(holds(csv.out, "Conv2D,Default_net_Conv2D-op1,7,3,1725960383079645,output,1,24,float32,\"(2,3)\""))
        << csv.out;
    const auto json = run(folder, name + " --format json");
    EXPECT_TRUE(holds(json.out, "\"op_name\":\"Default_net_Conv2D-op1\"")) << json.out;
    EXPECT_TRUE(holds(json.out, "\"max\":1.5")) << json.out;
    EXPECT_TRUE(holds(json.out, "\"nan count\":2")) << json.out;
  }
}

// A file of rows may be written by anybody: whatever stands in its columns, the JSON is JSON.
TEST(CommandRows, AScaleThatIsNoNumberIsATextInJson) {
  const ScratchFolder folder;
  for (const auto& [scale, in_json] : std::vector<std::pair<std::string, std::string>>{
           {"0.5", "0.5"}, {"no]}", "\"no]}\""}, {".5", "0.5"}, {"inf", "\"inf\""}, {"0x1", "\"0x1\""}}) {
    std::ofstream(folder / "rows.csv")
        << "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,E4m3fn Overflow,Cast Scale\n"
        << "Tensor,s,0,0,0,output,0,16,float32,\"(4)\",0," << scale << "\n";
    const auto json = run(folder, "rows.csv --format json");
    EXPECT_EQ(json.exit, 0) << json.err;
    EXPECT_PRED2(holds, json.out, "\"cast_scale\":" + in_json + ",");
  }
}

// A file of rows may be written by anybody: no dtype acts upon the terminal, breaks a table of Markdown, or fills the
// screen.
TEST(CommandRows, ADtypeIsPrintable) {
  const ScratchFolder folder;
  const std::string text = text_in(Dialect::kOurs, {Category::kMax}, {1.5});
  const auto with_dtype = [&](const std::string& dtype) {
    std::string changed = text;
    return changed.replace(changed.find("float32"), 7, dtype);
  };
  std::ofstream(folder / "a.csv") << with_dtype("f\x1b[31m|t");
  EXPECT_TRUE(holds(run(folder, "a.csv").out, "  f\\x1b[31m|t  "));
  EXPECT_TRUE(holds(run(folder, "a.csv --format md").out, "| `f\\x1b[31m\\|t` |"));
  std::ofstream(folder / "a.csv") << with_dtype(std::string(1 << 20, 'x'));
  for (const char* command : {"a.csv", "a.csv --format md"}) EXPECT_LT(run(folder, command).out.size(), 8000u);
}

TEST(CommandRows, OfADumpJsonInEveryFormat) {
  const ScratchFolder folder;
  std::ofstream(folder / "dump.json") << R"({"task": "statistics", "framework": "pytorch", "data": {
    "Functional.relu.0.forward": {"input_args": [
      {"type": "torch.Tensor", "dtype": "torch.int64", "shape": [], "value": 3},
      {"type": "torch.Tensor", "dtype": "torch.float16", "shape": [2, 3], "Max": 1.5, "Min": NaN, "Mean": null,
       "Norm": 0.25, "md5": "0badcafe"}], "input_kwargs": {}, "output": []}}})";
  const auto table = run(folder, "dump.json");
  EXPECT_EQ(table.exit, 0) << table.err;
  EXPECT_TRUE(holds(table.out, "\nFunctional.relu.0.forward.input.1  float16  (2,3)")) << table.out;
  const auto csv = run(folder, "dump.json --format csv --columns tensor,crc32");
  EXPECT_TRUE(holds(csv.out, "Shape,Max Value,Min Value,Avg Value,L2Norm Value,Tensor,CRC32\n")) << csv.out;
  EXPECT_TRUE(holds(csv.out,
                    "\nrelu,Functional.relu.0.forward,0,0,0,input,1,12,float16,\"(2,3)\",1.5,nan,,0.25,"
                    "Functional.relu.0.forward.input.1,0badcafe\n"))
      << csv.out;
  const auto json = run(folder, "dump.json --format json");
  EXPECT_TRUE(holds(json.out, "\"max\":1.5")) << json.out;
  std::filesystem::copy_file(folder / "dump.json", folder / "debug.json");
  EXPECT_EQ(run(folder, "debug.json --format csv --columns tensor,crc32").out, csv.out) << "of msprobe's level debug";
  EXPECT_EQ(run(folder, "dump.json --fail-on 'l2norm<1'").exit, 1) << "what only a later row has is known";
}

TEST(CommandRows, TheStatisticsAreThoseOfTheFilesOrThoseAsked) {
  const ScratchFolder folder;
  std::ofstream(folder / "a.csv") << text_in(Dialect::kOurs, {Category::kMax}, {1.5});
  std::ofstream(folder / "b.csv") << text_in(Dialect::kMindspore27, {Category::kMin}, {0.25});
  const auto both = run(folder, "a.csv b.csv --format csv");
  EXPECT_TRUE(holds(both.out, "Shape,Max Value,Min Value\n")) << both.out;
  EXPECT_TRUE(holds(both.out, ",1.5,\n")) << both.out;
  EXPECT_TRUE(holds(both.out, ",,0.25\n")) << both.out;
  const auto asked = run(folder, "a.csv b.csv --format csv --stats min,var");
  EXPECT_TRUE(holds(asked.out, "Shape,Min Value,Var Value\n")) << asked.out;
  EXPECT_TRUE(holds(asked.out, ",0.25,\n")) << asked.out;
}

TEST(CommandRows, FoldersAndFormatAreColumns) {
  const ScratchFolder folder;
  std::filesystem::create_directories(folder / "run/rank_3/net/1/20");
  std::ofstream(folder / ("run/rank_3/net/1/20/" + kCannName)) << text_in(Dialect::kCann, {Category::kMax}, {1.5});
  const auto ran = run(folder, "'run/**/*.csv' --format csv --columns rank,graph,iteration,format");
  EXPECT_TRUE(holds(ran.out, "Count,Max Value,Rank,Graph,Iteration,Format\n")) << ran.out << ran.err;
  EXPECT_TRUE(holds(ran.out, ",6,1.5,3,1,20,ND\n")) << ran.out;
}

TEST(CommandRows, StepAndRankOfADumpJsonAreColumns) {
  const ScratchFolder folder;
  for (const char* place : {"run/step3/rank1", "run/step12/proc77"}) {
    std::filesystem::create_directories(folder / place);
    std::ofstream(std::string(folder / place) + "/dump.json")
        << R"({"data": {"Functional.relu.0.forward": {"input_args": [
      {"type": "torch.Tensor", "dtype": "torch.float16", "shape": [2], "Max": 5.5}]}}})";
  }
  const auto ran = run(folder, "run --format csv --columns rank,iteration");
  EXPECT_TRUE(holds(ran.out, ",5.5,1,3\n")) << ran.out << ran.err;
  EXPECT_TRUE(holds(ran.out, ",5.5,0,12\n")) << ran.out;
}

TEST(CommandRows, ConditionsAreJudgedByWhatTheRowsHave) {
  const ScratchFolder folder;
  std::ofstream(folder / "a.csv") << text_in(Dialect::kOurs, {Category::kMax, Category::kNanCount},
                                             {1.5, std::uint64_t{2}});
  const auto check = run(folder, "a.csv --fail-on nan");
  EXPECT_EQ(check.exit, 1);
  EXPECT_TRUE(holds(check.err, "the first: a.csv::Default_net_Conv2D-op1.output.1 (nan: nan count is 2)")) << check.err;
  EXPECT_EQ(run(folder, "a.csv --fail-on 'max>2'").exit, 0);
  EXPECT_TRUE(holds(run(folder, "a.csv --where 'max>1'").out, "op1.output.1"));
  EXPECT_FALSE(holds(run(folder, "a.csv --where 'max>2'").out, "op1.output.1"));
  const auto lacking = run(folder, "a.csv --fail-on 'l2norm>2'");
  EXPECT_EQ(lacking.exit, 2);
  EXPECT_TRUE(holds(lacking.err, "the rows do not have l2norm")) << lacking.err;
}

// msprobe's rows have no counts of NaN and Inf, and no absmax. max, min, avg and l2norm replace them.
TEST(CommandRows, ExtremesTellOfNanAndInfWhereNothingCountsThem) {
  const ScratchFolder folder;
  const auto leaf = [](const std::string& max, const std::string& min) {
    return R"({"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2], "Max": )" + max + R"(, "Min": )" + min +
           R"(, "Mean": 1.0, "Norm": 1.0})";
  };
  std::ofstream(folder / "dump.json") << R"({"task": "statistics", "framework": "pytorch", "data": {"F.f.0.forward": {
    "input_args": [)"
                                      << leaf("1.5", "-2.5") + "," + leaf("NaN", "NaN") + "," +
                                             leaf("Infinity", "-70000.0") + "," + leaf("3", "-Infinity")
                                      << R"(], "input_kwargs": {}, "output": []}}})";
  const std::string label = "dump.json::F.f.0.forward.input.";
  const auto all = run(folder, "dump.json");
  EXPECT_EQ(all.err, "tensorstat: 4 tensors, 32 bytes, 1 with NaN, 2 with Inf, the first: " + label + "1\n");
  EXPECT_EQ(run(folder, "dump.json --stats min").err, all.err) << "whatever is shown";
  const auto check = run(folder, "dump.json --fail-on nan --format csv");
  EXPECT_EQ(check.exit, 1);
  EXPECT_EQ(check.err, "tensorstat: 1 tensor meets --fail-on, the first: " + label + "1 (nan: max is nan)\n");
  EXPECT_EQ(run(folder, "dump.json --fail-on inf --format csv").err,
            "tensorstat: 2 tensors meet --fail-on, the first: " + label + "2 (inf: max is inf)\n" +
                "tensorstat:   " + label + "3 (inf: min is -inf)\n");
  const auto rows_where = [&](const std::string& condition) {
    std::set<char> slots;
    const auto ran = run(folder, "dump.json --where '" + condition + "'");
    EXPECT_EQ(ran.exit, 0) << ran.err;
    const std::string name = "F.f.0.forward.input.";
    for (std::size_t position = 0; (position = ran.out.find(name, position)) != ran.out.npos; ++position)
      slots.insert(ran.out[position + name.size()]);
    return slots;
  };
  EXPECT_EQ(rows_where("nan"), (std::set<char>{'1'}));
  EXPECT_EQ(rows_where("inf"), (std::set<char>{'2', '3'}));
  EXPECT_EQ(rows_where("not (nan or inf)"), (std::set<char>{'0'}));
  EXPECT_EQ(rows_where("absmax > 2"), (std::set<char>{'0', '2', '3'}));
  const auto absmax = run(folder, "dump.json --stats absmax,p50 --format csv");
  for (const char* cell : {",2.5,\n", ",nan,\n", ",inf,\n"}) EXPECT_TRUE(holds(absmax.out, cell)) << absmax.out;
  EXPECT_EQ(absmax.err, "tensorstat: the rows do not have p50: nothing is shown there\n");
  EXPECT_EQ(run(folder, "dump.json --stats absmax,p50 --format csv -q").err, "");
  const auto counted = run(folder, "dump.json --where 'nan-count > 0'");
  EXPECT_EQ(counted.exit, 2);
  EXPECT_TRUE(holds(counted.err, "the words nan and inf go by max and min")) << counted.err;

  // Existing counts have priority. Without extremes the rule is refused.
  std::ofstream(folder / "a.csv") << text_in(Dialect::kOurs, {Category::kMax, Category::kMin, Category::kNanCount},
                                             {std::nan(""), 1.0, std::uint64_t{0}});
  EXPECT_EQ(run(folder, "a.csv --fail-on nan").exit, 0);
  std::ofstream(folder / "b.csv") << text_in(Dialect::kOurs, {Category::kMax, Category::kMin},
                                             {std::int64_t{3}, INT64_MIN});
  EXPECT_TRUE(holds(run(folder, "b.csv --stats absmax --format csv").out, ",9223372036854775808\n"));
  std::ofstream(folder / "c.csv") << text_in(Dialect::kOurs, {Category::kCount}, {std::uint64_t{6}});
  EXPECT_EQ(run(folder, "c.csv --where nan").exit, 2);
  EXPECT_TRUE(holds(run(folder, "c.csv --where nan").err, "neither nan count nor max and min"));
  std::ofstream(folder / "none.csv")
      << "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape\n"
         "Conv2D,a,0,0,1,input,0,4,float32,(1)\n";
  EXPECT_EQ(run(folder, "none.csv --fail-on nan").exit, 2);
  EXPECT_EQ(run(folder, "none.csv --where 'max > 1'").exit, 2);
  EXPECT_EQ(run(folder, "none.csv").exit, 0);
}

TEST(CommandRows, WhatIsNoFileOfRowsIsSaid) {
  const ScratchFolder folder;
  std::ofstream(folder / "a.csv") << text_in(Dialect::kOurs, {Category::kMax}, {1.5});
  std::ofstream(folder / "torn.csv") << text_in(Dialect::kOurs, {Category::kMax}, {1.5}) << "Conv";
  std::ofstream(folder / "x.csv") << "1,2\n";
  std::ofstream(folder / "x.npy") << "";
  const auto ran = run(folder, "a.csv torn.csv x.csv missing.csv");
  EXPECT_EQ(ran.exit, 3);
  EXPECT_TRUE(holds(ran.err, "torn.csv, line 3: the last line does not end")) << ran.err;
  EXPECT_TRUE(holds(ran.err, "x.csv, line 1: the heading must begin")) << ran.err;
  EXPECT_TRUE(holds(ran.err, "missing.csv")) << ran.err;
  EXPECT_TRUE(holds(ran.out, "torn.csv::Default_net_Conv2D-op1.output.1")) << "the rows before the fault" << ran.out;
  const auto mixed = run(folder, "a.csv x.npy");
  EXPECT_EQ(mixed.exit, 2);
  EXPECT_TRUE(holds(mixed.err, "one call each")) << mixed.err;
}

TEST(CommandRows, OfAFolderWithoutTensorsAreShown) {
  const ScratchFolder folder;
  for (const int step : {2, 10}) {
    const std::string place = folder / ("run/rank_3/net/1/" + std::to_string(step));
    std::filesystem::create_directories(place);
    std::ofstream(place + "/statistic.csv") << text_in(Dialect::kMindspore27, {Category::kMax}, {double(step)});
    std::ofstream(place + "/notes.csv") << "no rows\n";
  }
  std::filesystem::create_directories(folder / "step0/rank");
  std::ofstream(folder / "step0/rank/dump.json") << R"({"task": "statistics", "data": {"Functional.relu.0.forward": {
    "input_args": [{"type": "mindspore.Tensor", "dtype": "Float16", "shape": [2], "Max": 5.5}]}}})";
  const auto ran = run(folder, "run --format csv --columns rank,iteration");
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(ran.err, "");
  const auto two = ran.out.find(",2,3,2\n"), ten = ran.out.find(",10,3,10\n");
  EXPECT_TRUE(two < ten && ten != ran.out.npos) << ran.out;
  EXPECT_TRUE(holds(run(folder, "run step0").out, "5.5"));
  EXPECT_TRUE(holds(run(folder, "run/rank_3/net/1/2/statistic.csv step0").out, "5.5")) << "with rows that are named";
  EXPECT_TRUE(holds(run(folder, "'run/**'").out, "\nDefault_net_Conv2D-op1.output.1  "));
  EXPECT_TRUE(holds(run(folder, "run").out, "rank  step  dtype")) << "they tell the rows of two folders apart";

  // In a folder with tensors, rows that the user did not name are left out, with a note.
  std::filesystem::create_directories(folder / "tensors");
  test::write_file(folder / "tensors/x.npy",
                   test::npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", "abcd"));
  const auto both = run(folder, "tensors run --format csv");
  EXPECT_EQ(both.exit, 3);
  EXPECT_EQ(both.err,
            "tensorstat: run: no supported tensor file in it, such as .npy; it has rows of statistics, such as "
            "run/rank_3/net/1/2/statistic.csv\n");
  EXPECT_FALSE(holds(both.out, "Default_net_Conv2D-op1")) << both.out;
  std::filesystem::rename(folder / "tensors/x.npy", folder / "run/x.npy");
  const auto mixed = run(folder, "run --format csv");
  EXPECT_EQ(mixed.exit, 0);
  EXPECT_EQ(mixed.err,
            "tensorstat: run: holds rows of statistics, too; name their files, such as "
            "run/rank_3/net/1/2/statistic.csv, to see them\n");
  EXPECT_FALSE(holds(mixed.out, "Default_net_Conv2D-op1")) << mixed.out;
  EXPECT_EQ(run(folder, "run --format csv -q").err, "");

  // A replay needs tensors.
  std::ofstream(folder / "c.json") << R"({"task": "statistics", "dump_path": "x", "rank": [], "step": [], "level": "L1",
    "statistics": {"scope": [], "list": [], "data_mode": ["all"], "summary_mode": "statistics"}})";
  const auto replayed = run(folder, "dump --config c.json step0 -o out");
  EXPECT_TRUE(holds(replayed.err,
                    "step0: no supported tensor file in it, such as .npy; it has rows of statistics, such as "
                    "step0/rank/dump.json\n"))
      << replayed.err;
}

}  // namespace command_rows_test
}  // namespace tensorstat
