// `tensorstat diff --rules msprobe` for its users: which dumps it pairs, what it refuses, and the exit statuses.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "tests/support/command_run.hpp"
#include "tests/support/rows_of_a_graph.hpp"

namespace tensorstat::test {
namespace msprobe_rules_command_test {

constexpr const char* kDumpJson = R"({"task": "statistics", "framework": "pytorch", "data": {"Torch.add.0.forward": {
  "input_args": [{"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2], "Max": 1.0, "Min": 0.5, "Mean": 0.75,
                  "Norm": 1.5, "requires_grad": false}],
  "input_kwargs": {}, "output": [{"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2], "Max": MAX, "Min": 0.5,
                  "Mean": 0.75, "Norm": 1.5, "requires_grad": false}]}}})";

std::string dump_json(const std::string& max) {
  std::string text = kDumpJson;
  return text.replace(text.find("MAX"), 3, max);
}

TEST(MsprobeRules, EndWith1WhereARowIsNoPassOrHasNoPartner) {
  ScratchFolder folder;
  put(folder, "a/dump.json", dump_json("2.0"));
  put(folder, "b/dump.json", dump_json("2.5"));
  put(folder, "nan/dump.json", dump_json("NaN"));
  put(folder, "none/dump.json",
      R"({"task": "statistics", "data": {"Torch.sub.0.forward": {"input_args": [null], "output": []}}})");
  const Ran ran = run(folder, "diff a b --rules msprobe");
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_TRUE(holds(ran.out,
                    "Torch.add.0.forward.output.0,Torch.add.0.forward.output.0,torch.float32,torch.float32,[2],[2],"
                    "False,False,-0.5,0,0,0,20.0%,0,0,0,2.0,0.5,0.75,1.5,2.5,0.5,0.75,1.5,True,pass,[]\n"))
      << ran.out;
  EXPECT_EQ(run(folder, "diff nan b --rules msprobe").exit, 1);
  EXPECT_EQ(run(folder, "diff a none --rules msprobe").exit, 1);
  EXPECT_EQ(run(folder, "diff a b --rules msprobe -o out.csv").exit, 0);
  EXPECT_EQ(content_of(folder / "out.csv"), ran.out);
  EXPECT_EQ(run(folder, "diff a b --rules msprobe --format json").exit, 2);
  EXPECT_EQ(run(folder, "diff a b --rules other").exit, 2);
}

TEST(MsprobeRules, SayWhatCannotBeCompared) {
  ScratchFolder folder;
  put(folder, "a/dump.json", dump_json("2.0"));
  put(folder, "tensor/dump.json",
      R"({"task": "tensor", "data": {"Torch.sub.0.forward": {"input_args": [null], "output": []}}})");
  put(folder, "empty/dump.json", R"({"task": "statistics", "data": {}})");
  put(folder, "cut/dump.json", R"({"task": "statistics", "data": {)");
  put(folder, "two/step0/dump.json", dump_json("1.0"));
  put(folder, "two/step1/dump.json", dump_json("1.0"));
  for (const auto& [other, words] :
       {std::pair{"tensor", "msprobe compares two dumps of one kind"}, std::pair{"empty", "nothing to compare"},
        std::pair{"cut", "syntax error"}, std::pair{"two", "name the folder of one step and one rank"},
        std::pair{"missing", "missing: "}}) {
    const Ran ran = run(folder, std::string("diff a ") + other + " --rules msprobe");
    EXPECT_EQ(ran.exit, 3) << other;
    EXPECT_TRUE(holds(ran.err, words)) << ran.err;
  }
}

// A table for each pair of dumps: by execution, step and rank, as far as these differ on either side.
TEST(MsprobeRules, TakeFoldersOfSeveralRanksAndExecutions) {
  ScratchFolder folder;
  for (const char* place : {"graph/step0/rank0", "graph/step0/rank1", "pynative/step0/rank0", "pynative/step0/rank1"}) {
    put(folder, std::string("a/") + place + "/dump.json", dump_json("2.0"));
    const bool is_other = std::string(place) == "graph/step0/rank1";
    put(folder, std::string("b/") + place + "/dump.json", dump_json(is_other ? "NaN" : "2.0"));
    put(folder, std::string("c/step7/") + (place + std::string(place).rfind('/') + 1) + "/dump.json", dump_json("2.0"));
  }
  const Ran ran = run(folder, "diff b a --rules msprobe -o out.csv");
  EXPECT_EQ(ran.exit, 1) << ran.err;
  for (const char* name : {"graph_rank0", "graph_rank1", "pynative_rank0", "pynative_rank1"}) {
    const std::string table = content_of(folder / ("out_" + std::string(name) + ".csv"));
    EXPECT_TRUE(holds(table, "Torch.add.0.forward.output.0")) << name;
    EXPECT_EQ(holds(table, ",error,"), std::string(name) == "graph_rank1") << table;
  }
  // The same step is not asked for where each side has one.
  EXPECT_EQ(run(folder, "diff a/pynative c --rules msprobe -o of_step.csv").exit, 0);
  EXPECT_TRUE(holds(content_of(folder / "of_step_rank1.csv"), "Torch.add"));
  const Ran one = run(folder, "diff a/pynative c/step7/rank1 --rules msprobe -o one.csv");
  EXPECT_EQ(one.exit, 1);
  EXPECT_TRUE(holds(one.err, "a/pynative/step0/rank0/dump.json: the other side has no dump of this step and rank"))
      << one.err;
  const Ran without = run(folder, "diff a b --rules msprobe");
  EXPECT_EQ(without.exit, 2);
  EXPECT_TRUE(holds(without.err, "4 pairs of dumps have a table each: -o out.csv writes out_pynative_rank0.csv"))
      << without.err;
}

TEST(MsprobeRules, PairByNames) {
  ScratchFolder folder;
  put(folder, "a/dump.json", dump_json("2.0"));
  std::string renamed = dump_json("2.0");
  renamed.replace(renamed.find("Torch.add"), 9, "Mint.add_");
  put(folder, "b/dump.json", renamed);
  put(folder, "names", "Torch.add.*,Mint.add_.*\n");
  EXPECT_EQ(run(folder, "diff a b --rules msprobe -o out.csv").exit, 1);
  const Ran ran = run(folder, "diff a b --rules msprobe --names names -o out.csv");
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_TRUE(holds(content_of(folder / "out.csv"), "Torch.add.0.forward.input.0,Mint.add_.0.forward.input.0,"));
}

TEST(MsprobeRules, SayThatTheyPassNanOfBench) {
  ScratchFolder folder;
  put(folder, "a/dump.json", dump_json("2.0"));
  put(folder, "nan/dump.json", dump_json("NaN"));
  const Ran ran = run(folder, "diff a nan --rules msprobe -o out.csv");
  EXPECT_TRUE(holds(ran.err, "nan/dump.json: 1 row of Bench holds NaN or Inf, and msprobe passes it")) << ran.err;
  EXPECT_EQ(run(folder, "diff a a --rules msprobe -o out.csv").err, "");
}

TEST(MsprobeRules, TakeRowsOfOtherDialects) {
  ScratchFolder folder;
  put(folder, "a.csv", dump({"1", "2"}));
  put(folder, "b.csv", dump({"1", "nan"}));
  const Ran ran = run(folder, "diff b.csv a.csv --rules msprobe");
  EXPECT_EQ(ran.exit, 1) << ran.err;
  EXPECT_TRUE(holds(ran.out,
                    "Default_net_Mul-op1.output.0,Default_net_Mul-op1.output.0,float32,float32,\"[2, 3]\",\"[2, 3]\","
                    "N/A,N/A,Nan,0,0,0,Nan,0,0,0,Nan,"))
      << ran.out;
}

TEST(MsprobeRules, SayWhichFoldersTheyCouldNotRead) {
  namespace fs = std::filesystem;
  ScratchFolder folder;
  const std::string plain = ::geteuid() == 0 ? "setpriv --reuid=65534 --regid=65534 --clear-groups" : "";
  if (run(folder, "--version", plain).exit != 0) GTEST_SKIP() << "a plain user cannot run the command here";
  for (const char* side : {"a", "b"}) {
    for (const char* rank : {"rank0", "rank1"})
      put(folder, std::string(side) + "/step0/" + rank + "/dump.json", dump_json("2.0"));
    fs::permissions(folder / (side + std::string("/step0/rank1")), fs::perms::none);
  }
  fs::permissions(folder.path(), fs::perms(0755));
  const Ran ran = run(folder, "diff a b --rules msprobe", plain);
  for (const char* side : {"a", "b"}) fs::permissions(folder / (side + std::string("/step0/rank1")), fs::perms(0700));
  EXPECT_EQ(ran.exit, 3);
  for (const char* side : {"a", "b"})
    EXPECT_PRED2(holds, ran.err, std::string(side) + "/step0/rank1: cannot be listed: Permission denied");
  EXPECT_PRED2(holds, ran.out, "Torch.add.0.forward.output.0");
}

TEST(MsprobeRules, KeepTheFileOfAMapping) {
  ScratchFolder folder;
  put(folder, "a/dump.json", dump_json("2.0"));
  const std::string mapping = "Torch.add.0.forward.input.0: Torch.add.0.forward.input.0\n";
  put(folder, "map.yaml", mapping);
  const Ran ran = run(folder, "diff a a --rules msprobe --mapping data=map.yaml -o map.yaml");
  EXPECT_EQ(ran.exit, 2);
  EXPECT_PRED2(holds, ran.err, "the output map.yaml is one of the inputs");
  EXPECT_EQ(content_of(folder / "map.yaml"), mapping);
}

// Each part of a name is a layer.
TEST(MsprobeRules, TakeALayerOfAnyDepth) {
  ScratchFolder folder;
  std::string name = "Cell.";
  for (int i = 0; i < 300'000; ++i) name += "a.";
  name += "Dense.forward.0";
  std::string dump = dump_json("2.0");
  put(folder, "a/dump.json", dump.replace(dump.find("Torch.add.0.forward"), 19, name));
  put(folder, "a/construct.json", "{\"" + name + "\": null}");
  put(folder, "a/stack.json", "{\"" + name + "\": [\"x\"]}");
  const Ran ran = run(folder, "diff a a --rules msprobe --mapping layer");
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_PRED2(holds, ran.out, ",pass,[]");
}

}  // namespace msprobe_rules_command_test
}  // namespace tensorstat::test
