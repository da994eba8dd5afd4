// `tensorstat diff` and `tensorstat origin` for their users: the output in text and JSON, and the exit statuses.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/command_run.hpp"
#include "tests/support/npy_files.hpp"

namespace tensorstat::test {
namespace diff_command_test {

using Json = nlohmann::json;

constexpr const char* kHeading =
    "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min Value,L2Norm Value\n";

// Rows of MindSpore 2.7 for a graph of three operators. `values` has the max of each row.
std::string dump(const std::vector<std::string>& values, const std::string& prefix = "Default_") {
  const char* rows[][4] = {{"Mul", "net_Mul-op1", "input", "0"}, {"Mul", "net_Mul-op1", "output", "0"},
                           {"Exp", "net_Exp-op2", "input", "0"}, {"Exp", "net_Exp-op2", "output", "0"},
                           {"Sub", "net_Sub-op3", "input", "0"}, {"Sub", "net_Sub-op3", "output", "0"}};
  std::string text = kHeading;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto& [type, name, io, slot] = rows[i];
    text += std::string(type) + "," + prefix + name + ",0,0," + std::to_string(100 + i) + "," + io + "," + slot +
            ",24,float32,\"(2,3)\"," + values[i] + ",-1,2,\n";
  }
  return text;
}

void put(const ScratchFolder& folder, const std::string& name, const std::string& text) {
  const std::string path = folder / name;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << text;
}

TEST(DiffCommand, SaysNothingDiffersAndEndsWith0) {
  ScratchFolder folder;
  put(folder, "a/rank_0/net/0/7/statistic.csv", dump({"1", "2", "2", "3"}));
  put(folder, "b/rank_0/net/0/7/statistic.csv", dump({"1", "2", "2", "3"}));
  const Ran ran = run(folder, "diff a b");
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(ran.out, "4 tensors compared, 0 differ, 0 only in A, 0 only in B\n");
}

// A file with one float16 for each name.
std::string safetensors(const std::vector<std::string>& names) {
  std::string header, data;
  for (const std::string& name : names) {
    header += (header.empty() ? "{" : ",") + Json(name).dump() + R"(:{"dtype":"F16","shape":[1],"data_offsets":[)" +
              std::to_string(data.size()) + "," + std::to_string(data.size() + 2) + "]}";
    data += name.substr(0, 1) + std::string(1, '\x3c');
  }
  header += "}";
  std::string size(8, '\0');
  for (int i = 0; i < 4; ++i) size[i] = static_cast<char>(header.size() >> 8 * i);
  return size + header + data;
}

// One file or shards, with or without an index: the tensors pair by name, whatever the files are called.
TEST(DiffCommand, AModelInOneFileAndInShardsPairsByNamesOfTensors) {
  ScratchFolder folder;
  put(folder, "one/model.safetensors", safetensors({"a.w", "b.w", "c.w"}));
  put(folder, "other/weights.safetensors", safetensors({"a.w", "b.w", "c.w"}));
  for (const char* sharded : {"shards", "bare"}) {
    put(folder, sharded + std::string("/model-00001-of-00002.safetensors"), safetensors({"a.w"}));
    put(folder, sharded + std::string("/model-00002-of-00002.safetensors"), safetensors({"b.w", "c.w"}));
  }
  put(folder, "shards/model.safetensors.index.json",
      R"({"weight_map": {"a.w": "model-00001-of-00002.safetensors", "b.w": "model-00002-of-00002.safetensors",
          "c.w": "model-00002-of-00002.safetensors"}})");
  const char* sides[] = {
      "one", "other", "shards", "bare", "one/model.safetensors", "shards/model.safetensors.index.json"};
  for (const std::string a : sides) {
    for (const std::string b : sides) {
      const Ran ran = run(folder, "diff " + a + " " + b);
      EXPECT_EQ(ran.out, "3 tensors compared, 0 differ, 0 only in A, 0 only in B\n") << a << " " << b << ran.err;
    }
  }
  // If a side has several containers, the file names distinguish their tensors.
  put(folder, "two/model.safetensors", safetensors({"a.w", "b.w", "c.w"}));
  put(folder, "two/optimizer.safetensors", safetensors({"a.w"}));
  EXPECT_EQ(run(folder, "diff one two").out.substr(0, 8), "only in ");
  EXPECT_TRUE(holds(run(folder, "diff one two").out, "3 tensors compared, 0 differ, 0 only in A, 1 only in B"));
}

// A prefix before every name, as DistributedDataParallel has it.
TEST(DiffCommand, NamesThatDifferByAPrefixPair) {
  ScratchFolder folder;
  put(folder, "a.safetensors", safetensors({"a.w", "b.w", "c.w"}));
  put(folder, "module.safetensors", safetensors({"module.a.w", "module.b.w", "module.c.w"}));
  put(folder, "other.safetensors", safetensors({"teacher.model.a.w", "teacher.model.b.w", "teacher.model.c.w"}));
  put(folder, "mixed.safetensors", safetensors({"module.a.w", "module.b.w", "c.w"}));
  const auto paired = [&](const std::string& a, const std::string& b) {
    const Ran ran = run(folder, "diff " + a + ".safetensors " + b + ".safetensors");
    EXPECT_TRUE(holds(ran.out, "3 tensors compared, ") && holds(ran.out, " 0 only in A, 0 only in B")) << ran.out;
    return ran.err;
  };
  const std::string said = "tensorstat: no name is in both: paired as --names does with the line ";
  EXPECT_EQ(paired("a", "module"), said + "*,module.*\n");
  EXPECT_EQ(paired("module", "a"), said + "module.*,*\n");
  EXPECT_EQ(paired("module", "other"), said + "module.*,teacher.model.*\n");
  const Ran json = run(folder, "diff a.safetensors module.safetensors --format json");
  EXPECT_EQ(Json::parse(json.out)["paired_by"], "*,module.*");
  // Where names pair as they are, no other name is changed.
  const Ran mixed = run(folder, "diff a.safetensors mixed.safetensors");
  EXPECT_TRUE(holds(mixed.out, "1 tensor compared, 0 differ, 2 only in A, 2 only in B")) << mixed.out;
  EXPECT_EQ(mixed.err, "tensorstat: more would pair by --names with the line *,module.*\n");
  put(folder, "names", "x.*,y.*\n");
  EXPECT_TRUE(holds(run(folder, "diff a.safetensors module.safetensors --names names").out, "0 tensors compared"));
}

// Cuts of a model that no shards' names tell.
TEST(DiffCommand, OtherCutsOfAModelPairByNamesOfTensors) {
  ScratchFolder folder;
  put(folder, "one/ckpt-100.safetensors", safetensors({"a.w", "b.w", "c.w"}));
  put(folder, "two/first.safetensors", safetensors({"a.w"}));
  put(folder, "two/rest.safetensors", safetensors({"b.w", "c.w"}));
  for (const char* sides : {"one two", "two one", "one/ckpt-100.safetensors two"}) {
    EXPECT_EQ(run(folder, std::string("diff ") + sides).out, "3 tensors compared, 0 differ, 0 only in A, 0 only in B\n")
        << sides;
  }
}

TEST(DiffCommand, WhereNothingPairsItSaysHowNamesDiffer) {
  ScratchFolder folder;
  put(folder, "a.safetensors", safetensors({"module.a.w", "module.b.w"}));
  put(folder, "b.safetensors", safetensors({"a.v", "b.v"}));
  const Ran names = run(folder, "diff a.safetensors b.safetensors");
  EXPECT_EQ(names.exit, 1);
  EXPECT_EQ(names.err,
            "tensorstat: nothing is paired, as no name is in both: A has module.a.w, B has a.v; --names FILE pairs "
            "them by lines NAME_IN_A,NAME_IN_B, or old/*,new/* for a prefix\n");
  put(folder, "x/rank_0/net/0/7/statistic.csv", dump({"1", "2"}));
  put(folder, "y/rank_1/net/0/7/statistic.csv", dump({"1", "2"}));
  const Ran ranks = run(folder, "diff x y");
  EXPECT_EQ(ranks.err,
            "tensorstat: nothing is paired: Default_net_Mul-op1 is rank 0, iteration 7, input 0 in A, and rank 1, "
            "iteration 7, input 0 in B\n");
  EXPECT_EQ(run(folder, "diff x x").err, "");
}

// For people a name of a megabyte loses its middle; programs get all of it.
TEST(DiffCommand, ALongNameIsShortInTextAndWholeInJson) {
  ScratchFolder folder;
  const std::string name = "begin" + std::string(1 << 20, 'x') + "end";
  put(folder, "a.csv", std::string(kHeading) + "Op," + name + ",0,0,100,input,0,24,float32,\"(2,3)\",1,-1,2,\n");
  put(folder, "b.csv", std::string(kHeading) + "Op," + name + ",0,0,100,input,0,24,float32,\"(2,3)\",9,-1,2,\n");
  put(folder, "c.csv", std::string(kHeading) + "Op,other,0,0,100,input,0,24,float32,\"(2,3)\",9,-1,2,\n");
  for (const char* command : {"diff a.csv b.csv", "diff a.csv c.csv", "diff a.csv b.csv --first", "a.csv",
                              "a.csv --format md", "a.csv --fail-on 'max > 0'"}) {
    const Ran ran = run(folder, command);
    EXPECT_TRUE(holds(ran.out + ran.err, "beginxx") && holds(ran.out + ran.err, "xxend")) << command;
    EXPECT_LT(ran.out.size() + ran.err.size(), 8000u) << command;
  }
  EXPECT_EQ(Json::parse(run(folder, "diff a.csv b.csv --format json").out)["pairs"][0]["op_name"], name);
  EXPECT_TRUE(holds(run(folder, "a.csv --format csv").out, name));
  EXPECT_TRUE(holds(run(folder, "a.csv --format json").out, name));
}

// One call, as msprobe's dump.json of MindSpore has it.
std::string dump_json_of_cell(const std::string& max) {
  return R"({"task": "statistics", "level": "L0", "framework": "mindspore", "dump_data_dir": null, "data": {
    "Cell.net.Net.forward.0": {"input_args": [], "input_kwargs": {}, "output": [{"type": "mindspore.Tensor",
    "dtype": "Float32", "shape": [2], "Max": )" +
         max + R"(, "Min": 0.0, "Mean": 0.5, "Norm": 1.0}]}}})";
}

// The same call of a job with jit, in graph/ and in pynative/, is two.
TEST(DiffCommand, RowsOfGraphAndOfPynativeAreApart) {
  ScratchFolder folder;
  const std::string rest = "/step0/rank0/dump.json";
  put(folder, "both/graph" + rest, dump_json_of_cell("1.0"));
  put(folder, "both/pynative" + rest, dump_json_of_cell("9.0"));
  put(folder, "one/pynative" + rest, dump_json_of_cell("9.0"));
  put(folder, "other/graph" + rest, dump_json_of_cell("9.0"));
  put(folder, "plain" + rest, dump_json_of_cell("9.0"));
  const Ran ran = run(folder, "diff both one");
  EXPECT_EQ(ran.exit, 1) << ran.err;
  EXPECT_EQ(ran.out,
            "only in A  Net Cell.net.Net.forward.0 output 0 (graph, rank 0, iteration 0)\n"
            "1 tensor compared, 0 differ, 1 only in A, 0 only in B\n");
  EXPECT_TRUE(holds(run(folder, "diff one both").out, "1 tensor compared, 0 differ, 0 only in A, 1 only in B"));
  EXPECT_EQ(run(folder, "diff both both").out, "2 tensors compared, 0 differ, 0 only in A, 0 only in B\n");
  const Json found = Json::parse(run(folder, "diff both both --format json").out);
  EXPECT_EQ(found["pairs"][0]["execution"], "graph");
  EXPECT_EQ(found["pairs"][1]["execution"], "pynative");
  // One execution may be compared with the other, and a job without jit has no such folder.
  for (const char* a : {"one", "other", "plain"}) {
    for (const char* b : {"one", "other", "plain"}) {
      EXPECT_EQ(run(folder, std::string("diff ") + a + " " + b).out,
                "1 tensor compared, 0 differ, 0 only in A, 0 only in B\n")
          << a << " " << b;
    }
  }
  for (const char* sides : {"both plain", "plain both"}) {
    const std::string out = run(folder, std::string("diff ") + sides).out;
    EXPECT_TRUE(holds(out, "1 tensor compared, 0 differ, ") && holds(out, "(graph, rank 0, ")) << out;
  }
}

TEST(DiffCommand, FindsTheFirstOperatorToDiffer) {
  ScratchFolder folder;
  put(folder, "a/rank_0/net/0/7/statistic.csv", dump({"1", "2", "2", "3", "3", "4"}));
  put(folder, "b/rank_0/net/0/7/statistic.csv", dump({"1", "2", "2", "6", "6", "8"}));
  const Ran ran = run(folder, "diff a b --first --format json");
  EXPECT_EQ(ran.exit, 1) << ran.err;
  const Json found = Json::parse(ran.out);
  EXPECT_EQ(found["schema_version"], 1);
  EXPECT_EQ(found["compared"], 6);
  EXPECT_EQ(found["different"], 3);
  EXPECT_EQ(found["first"], Json::parse(R"([{"op_type": "Exp", "op_name": "Default_net_Exp-op2", "rank": 0,
    "iteration": 7, "io": "output", "slot": 0, "added": 0.5, "enters": false, "phase": "forward", "inside": [],
    "file": null, "line": null}])"));
  EXPECT_EQ(found["pairs"][3]["verdict"], "different");
  EXPECT_EQ(found["pairs"][3]["stats"]["max"], Json::parse(R"({"a": 3, "b": 6})"));
  EXPECT_EQ(found["pairs"][0]["verdict"], "equal");
  EXPECT_EQ(found["pairs"][0]["a"], "Default_net_Mul-op1.input.0");
  const Ran text = run(folder, "diff a b --first");
  EXPECT_TRUE(text.out.ends_with(
      "6 tensors compared, 3 differ, 0 only in A, 0 only in B; the first operator to differ: Exp Default_net_Exp-op2 "
      "output 0 (rank 0, iteration 7)\n"))
      << text.out;
}

TEST(DiffCommand, GoesByTheOrderOfExecutionThatTheDumpSays) {
  ScratchFolder folder;
  put(folder, "a/rank_0/net/0/7/statistic.csv", dump({"1", "9", "1", "9", "1", "9"}));
  put(folder, "b/rank_0/net/0/7/statistic.csv", dump({"1", "2", "1", "2", "1", "2"}));
  const auto order = [&] {
    const Json found = Json::parse(run(folder, "diff a b --first --format json").out);
    std::vector<std::string> names;
    for (const Json& each : found["first"]) names.push_back(each["op_name"]);
    return names;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(order(), (Names{"Default_net_Mul-op1", "Default_net_Exp-op2", "Default_net_Sub-op3"}));
  const std::string file = "a/rank_0/execution_order/ms_execution_order_graph_0.csv";
  put(folder, file,
      "NodeExecutionOrder-FullNameWithScope\nDefault/net/Sub-op3\nDefault/net/Other-op9\nDefault/net/Mul-op1\n");
  // An operator that it does not name stays at the position of its time.
  EXPECT_EQ(order(), (Names{"Default_net_Sub-op3", "Default_net_Exp-op2", "Default_net_Mul-op1"}));
  put(folder, "a/rank_0/execution_order/ms_execution_order_graph_1.csv", "NodeExecutionOrder-FullNameWithScope\n");
  EXPECT_EQ(order().front(), "Default_net_Sub-op3");
  put(folder, file, "no heading\n");
  const Ran ran = run(folder, "diff a b");
  EXPECT_EQ(ran.exit, 3);
  EXPECT_TRUE(holds(ran.err, "is no order of execution")) << ran.err;
}

TEST(DiffCommand, TellsTheStepsOfMsprobesDumpsApart) {
  ScratchFolder folder;
  const auto dump_json = [](const std::string& max) {
    return R"({"task": "statistics", "data": {"Functional.relu.0.forward": {"input_args": [
      {"type": "torch.Tensor", "dtype": "torch.float16", "shape": [2], "Max": )" +
           max + "}]}}}";
  };
  put(folder, "a/step0/rank2/dump.json", dump_json("1.5"));
  put(folder, "a/step1/rank2/dump.json", dump_json("2.5"));
  put(folder, "b/step1/rank2/dump.json", dump_json("7.5"));
  put(folder, "b/step0/rank2/dump.json", dump_json("1.5"));
  const Ran ran = run(folder, "diff a b");
  EXPECT_EQ(ran.exit, 1);
  EXPECT_PRED2(holds, ran.out,
               "Functional.relu.0.forward.input.0     2     1  max  2.5  7.5  0.666667  float16  (2)\n");
  EXPECT_EQ(run(folder, "diff a/step0/rank2 b/step0/rank2").exit, 0);
  EXPECT_PRED2(holds, run(folder, "diff a/step0 b/step1").out, "max  1.5  7.5");
}

TEST(DiffCommand, ListsWhatHasNoPartner) {
  ScratchFolder folder;
  put(folder, "a.csv", dump({"1", "2", "2", "3"}));
  put(folder, "b.csv", dump({"1", "2"}));
  const Ran ran = run(folder, "diff a.csv b.csv --format json");
  EXPECT_EQ(ran.exit, 1) << ran.err;
  const Json found = Json::parse(ran.out);
  EXPECT_EQ(found["different"], 0);
  EXPECT_EQ(found["unmatched_a"], Json::parse(R"(["Default_net_Exp-op2.input.0", "Default_net_Exp-op2.output.0"])"));
  EXPECT_EQ(found["unmatched_b"], Json::array());
}

TEST(DiffCommand, TakesNamesAndTolerancesFromFiles) {
  ScratchFolder folder;
  put(folder, "a.csv", dump({"1", "2", "2", "3"}));
  put(folder, "b.csv", dump({"1", "2.1", "2", "3"}, "Net_"));
  put(folder, "names", "Default_*,Net_*\n");
  put(folder, "tolerances", ".*Mul.* rtol=0.1\n");
  EXPECT_EQ(run(folder, "diff a.csv b.csv").exit, 1);
  EXPECT_EQ(run(folder, "diff a.csv b.csv --names names").exit, 1);
  const Ran ran = run(folder, "diff a.csv b.csv --names names --tolerances tolerances --all");
  EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;
  EXPECT_TRUE(holds(ran.out, "Default_net_Mul-op1.output.0     0     0  within   0.0476")) << ran.out;
  put(folder, "tolerances", "( rtol=0.1\n");
  const Ran wrong = run(folder, "diff a.csv b.csv --tolerances tolerances");
  EXPECT_EQ(wrong.exit, 2);
  EXPECT_TRUE(holds(wrong.err, "tolerances, line 1: ")) << wrong.err;
}

TEST(DiffCommand, MeasuresTensors) {
  ScratchFolder folder;
  run_python(folder, R"(
import os
import numpy as np
for name in 'ab':
  os.makedirs(name + '/sub')
  np.save(name + '/sub/w.npy', np.float32([1, 2, 3]))
np.save('a/v.npy', np.float32([1, 2, 3]))
np.save('b/v.npy', np.float32([1, np.nan, 3]))
np.save('a/only.npy', np.float32([1]))
)");
  const Ran ran = run(folder, "diff a b --format json");
  EXPECT_EQ(ran.exit, 1) << ran.err;
  const Json found = Json::parse(ran.out);
  EXPECT_EQ(found["compared"], 2);
  EXPECT_EQ(found["different"], 1);
  EXPECT_EQ(found["unmatched_a"], Json::parse(R"(["a/only.npy"])"));
  for (const Json& pair : found["pairs"]) {
    const bool is_v = pair["a"] == "a/v.npy";
    EXPECT_EQ(pair["verdict"], is_v ? "different" : "equal");
    EXPECT_EQ(pair["stats"]["max"]["b"], is_v ? Json("nan") : Json(3));
  }
}

TEST(DiffCommand, ComparesComplexTensorsPartByPart) {
  ScratchFolder folder;
  const auto put_complex = [&](const std::string& name, const std::vector<float>& parts) {
    write_file(folder / name, npy("{'descr': '<c8', 'fortran_order': False, 'shape': (2,), }",
                                  {reinterpret_cast<const char*>(parts.data()), 4 * parts.size()}));
  };
  put_complex("a.npy", {3, 4, 1, 2});
  put_complex("b.npy", {4, 3, 1, 2});  // each element has the same magnitude as in a.npy
  const Ran ran = run(folder, "diff a.npy b.npy");
  EXPECT_EQ(ran.exit, 1) << ran.err;
  EXPECT_TRUE(holds(ran.out, "\na.npy   0.966667     1  0   0.258199  ")) << ran.out;
  EXPECT_EQ(run(folder, "diff a.npy a.npy").exit, 0);
}

TEST(DiffCommand, SaysHowFarElementsAreApartAndWhere) {
  ScratchFolder folder;
  run_python(folder, R"(
import numpy as np
a = np.arange(1, 129, dtype=np.float32).reshape(64, 2)
b = a.copy()
b[5, 1] += 8
c = a.copy()
c[9, 0] = np.nan
np.savez('a.npz', v=a, w=a)
np.savez('b.npz', v=c, w=b)
)");
  const Ran ran = run(folder, "diff a.npz b.npz");
  EXPECT_EQ(ran.exit, 1) << ran.err;
  EXPECT_EQ(ran.out,
            "in a.npz::\n"
            "                   max\n"
            "                   abs           relative      max  outside  nan\n"
            "tensor    cosine  diff  at             l2      ulp    count    b  dtype    shape\n"
            "v            nan   inf  (9,0)         inf        0        1    1  float32  (64,2)\n"
            "w       0.999955     8  (5,1)  0.00951088  6291456        1    0  float32  (64,2)\n"
            "0 in each row above: nan a, inf a, inf b\n"
            "2 tensors compared, 2 differ, 0 only in A, 0 only in B; the first that differs: a.npz::v\n");
}

// Rows of a watch: the calls around the first one are folded into it, and its details come from watch.ndjson.
TEST(DiffCommand, FirstIsTheInnermostCallWithItsPhaseAndLine) {
  ScratchFolder folder;
  for (const std::string name : {"a", "b"}) {
    const std::string max = name == "a" ? "2" : "3";
    std::string rows =
        "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min Value\n";
    int time = 100;
    const auto add = [&](const std::string& type, const std::string& call, const std::string& io,
                         const std::string& value) {
      rows += type + "," + call + ",0,0," + std::to_string(++time) + "," + io + ",0,24,float32,\"(2,3)\"," + value +
              ",-1\n";
    };
    add("Net", "Net/forward", "input", "1");
    add("Block", "block/forward", "input", "1");
    add("GELU", "block.act/forward", "input", "1");
    add("GELU", "block.act/forward", "output", max);
    add("Block", "block/forward", "output", max);
    add("Net", "Net/forward", "output", max);
    put(folder, name + "/rank_0/model/0/4/statistic.csv", rows);
  }
  put(folder, "a/rank_0/model/watch.ndjson",
      R"({"kind": "code", "op_name": "block.act/forward", "iteration": 0, "file": "/m/model.py", "line": 41, "parent": "block/forward"}
)");
  const Ran ran = run(folder, "diff a b --first --format json");
  EXPECT_EQ(ran.exit, 1) << ran.err;
  EXPECT_EQ(Json::parse(ran.out)["first"],
            Json::parse(R"([{"op_type": "GELU", "op_name": "block.act/forward", "rank": 0, "iteration": 4,
    "io": "output", "slot": 0, "added": 0.3333333333333333, "enters": false, "phase": "forward",
    "inside": ["block/forward", "Net/forward"], "file": "/m/model.py", "line": 41}])"));
  const std::string text = run(folder, "diff a b --first").out;
  EXPECT_TRUE(holds(text,
                    "begins here  GELU block.act/forward output 0 (rank 0, iteration 4), forward  adds 0.333333\n"
                    "    max 2 and 3\n    called at /m/model.py:41\n    inside block/forward, Net/forward\n"))
      << text;
}

TEST(DiffCommand, SeesElementsThatChangedPlaces) {
  ScratchFolder folder;
  run_python(folder, R"(
import numpy as np
np.savez('a.npz', same=np.arange(4.), other=np.float32([1, 2, 3, 4]), near=np.float32([1, 2]))
np.savez('b.npz', same=np.arange(4.), other=np.float32([1, 3, 2, 4]), near=np.float32([1, 2.00001]))
)");
  const Ran ran = run(folder, "diff a.npz b.npz --format json");
  EXPECT_EQ(ran.exit, 1) << ran.err;
  const Json pairs = Json::parse(ran.out)["pairs"];
  ASSERT_EQ(pairs.size(), 3u);
  EXPECT_EQ(pairs[0]["verdict"], "equal");
  EXPECT_EQ(pairs[1]["a"], "a.npz::other");
  EXPECT_EQ(pairs[1]["verdict"], "different");
  EXPECT_EQ(pairs[1]["stats"]["max"], Json::parse(R"({"a": 4, "b": 4})"));
  EXPECT_EQ(pairs[1]["elements"]["unequal"], 2);
  EXPECT_EQ(pairs[1]["elements"]["first unequal index"], 1);
  EXPECT_EQ(pairs[1]["elements"]["max abs diff"], 1);
  EXPECT_EQ(pairs[2]["verdict"], "within");
  EXPECT_EQ(pairs[2]["elements"]["outside"], 0);
}

// Files with names that were too long: mapping.csv has the names.
TEST(DiffCommand, LooksAgainAtFilesOfMappedNames) {
  ScratchFolder folder;
  run_python(folder, R"(
import os
import numpy as np
for name, codes in (('a', [0x3f80, 0x4000, 0x4040]), ('b', [0x4000, 0x3f80, 0x4040])):
    os.makedirs(name + '/rank_0/net/0/7')
    np.save(name + '/rank_0/net/0/7/1804289383.npy', np.uint16(codes).view('V2'))
    with open(name + '/rank_0/net/0/7/mapping.csv', 'w') as file:
        file.write('1804289383.npy,Cast.' + 'n' * 300 + '.0.0.17.output.0.DefaultFormat.bfloat16.npy\n')
)");
  const Ran ran = run(folder, "diff a b --format json");
  EXPECT_EQ(ran.exit, 1) << ran.err;
  const Json pairs = Json::parse(ran.out)["pairs"];
  ASSERT_EQ(pairs.size(), 1u);
  EXPECT_EQ(pairs[0]["elements"]["unequal"], 2) << ran.out << ran.err;
}

TEST(DiffCommand, SaysWhatCannotBeRead) {
  ScratchFolder folder;
  put(folder, "a.csv", dump({"1"}));
  put(folder, "broken.csv", "no heading\n");
  const Ran ran = run(folder, "diff a.csv missing");
  EXPECT_EQ(ran.exit, 3);
  EXPECT_TRUE(holds(ran.err, "missing: ")) << ran.err;
  EXPECT_EQ(run(folder, "diff a.csv broken.csv").exit, 3);
  EXPECT_EQ(run(folder, "diff a.csv").exit, 2);
  EXPECT_EQ(run(folder, "diff a.csv a.csv -o missing/out").exit, 5);
}

TEST(OriginCommand, TellsProducersFromPropagators) {
  ScratchFolder folder;
  put(folder, "dump/rank_0/net/0/7/statistic.csv", dump({"1", "2", "2", "nan", "nan", "nan"}));
  const Ran ran = run(folder, "origin dump --format json");
  EXPECT_EQ(ran.exit, 1) << ran.err;
  const Json found = Json::parse(ran.out);
  EXPECT_EQ(found["producers"], Json::parse(R"([{"op_type": "Exp", "op_name": "Default_net_Exp-op2", "rank": 0,
    "iteration": 7, "io": "output", "slot": 0, "nan": null, "inf": 0, "before": ["Default_net_Mul-op1"],
    "inputs": [{"slot": 0, "stats": {"max": 2, "min": -1, "l2norm": 2}}]}])"));
  ASSERT_EQ(found["propagators"].size(), 1u);
  EXPECT_EQ(found["propagators"][0]["op_name"], "Default_net_Sub-op3");
  EXPECT_EQ(found["entered"], Json::array());
  EXPECT_EQ(found["notes"], Json::array());
  const Json& verdict = found["verdict"];
  EXPECT_EQ(verdict["kind"], "produced");
  EXPECT_EQ(verdict["op_type"], "Exp");
  EXPECT_EQ(verdict["op_name"], "Default_net_Exp-op2");
  EXPECT_EQ(verdict["phase"], "forward");
  EXPECT_EQ(verdict["iteration"], 7);
  EXPECT_EQ(verdict["last_clean_iteration"], nullptr);
  EXPECT_EQ(verdict["file"], nullptr);
  EXPECT_EQ(verdict["sentence"], "NaN in Default_net_Exp-op2 (Exp), forward, iteration 7: made of finite inputs");
  EXPECT_EQ(run(folder, "origin dump").out,
            "NaN in Default_net_Exp-op2 (Exp), forward, iteration 7: made of finite inputs\n"
            "  input 0: float32 (2,3), max 2, min -1, l2norm 2\n"
            "  output 0: float32 (2,3), max nan, min -1, l2norm 2\n");
  const std::string all = run(folder, "origin dump --all").out;
  EXPECT_TRUE(all.ends_with("3 runs of operators, 1 produced NaN or Inf, 1 passed it on\n")) << all;
  EXPECT_TRUE(holds(all, "passed on  Sub Default_net_Sub-op3 output 0 (rank 0, iteration 7)  NaN")) << all;
}

TEST(OriginCommand, NamesWhoTurnedInfIntoNan) {
  ScratchFolder folder;
  put(folder, "dump.csv", dump({"1", "inf", "inf", "nan", "nan", "nan"}));
  const Ran ran = run(folder, "origin dump.csv --format json");
  EXPECT_EQ(ran.exit, 1) << ran.err;
  const Json found = Json::parse(ran.out);
  ASSERT_EQ(found["producers"].size(), 1u);
  EXPECT_EQ(found["producers"][0]["op_name"], "Default_net_Mul-op1");
  EXPECT_EQ(found["turned"], Json::parse(R"([{"op_type": "Exp", "op_name": "Default_net_Exp-op2", "rank": 0,
    "iteration": 0, "io": "output", "slot": 0, "nan": null, "inf": 0, "before": ["Default_net_Mul-op1"],
    "inputs": [{"slot": 0, "stats": {"max": "inf", "min": -1, "l2norm": 2}}]}])"));
  EXPECT_EQ(found["propagators"].size(), 2u);
  EXPECT_TRUE(holds(run(folder, "origin dump.csv --all").out, "turned Inf into NaN  Exp Default_net_Exp-op2 output 0"));
  EXPECT_TRUE(holds(run(folder, "origin dump.csv").out, "Default_net_Exp-op2 (Exp) made NaN of that Inf"));
  // If Inf is not a fault, the operator that makes NaN of it is a producer.
  const Json nan_only = Json::parse(run(folder, "origin dump.csv --nan-only --format json").out);
  EXPECT_EQ(nan_only["turned"], Json::array());
  ASSERT_EQ(nan_only["producers"].size(), 1u);
  EXPECT_EQ(nan_only["producers"][0]["op_name"], "Default_net_Exp-op2");
}

TEST(OriginCommand, KnowsInfAndWhatCameFromOutside) {
  ScratchFolder folder;
  put(folder, "clean.csv", dump({"1", "2"}));
  put(folder, "inf.csv", dump({"1", "inf"}));
  EXPECT_EQ(run(folder, "origin clean.csv").exit, 0);
  EXPECT_EQ(run(folder, "origin inf.csv").exit, 1);
  EXPECT_EQ(run(folder, "origin inf.csv --nan-only").exit, 0);
  put(folder, "outside.csv", dump({"nan", "nan"}));
  const Ran ran = run(folder, "origin outside.csv --format json");
  EXPECT_EQ(ran.exit, 1);
  const Json found = Json::parse(ran.out);
  EXPECT_EQ(found["producers"], Json::array());
  ASSERT_EQ(found["entered"].size(), 1u);
  EXPECT_EQ(found["entered"][0]["io"], "input");
  EXPECT_EQ(found["verdict"]["kind"], "entered");
  EXPECT_EQ(found["verdict"]["phase"], "input");
}

TEST(OriginCommand, OfWhatEndedIsANoteAndExitStatus0) {
  ScratchFolder folder;
  put(folder, "dump.csv", dump({"1", "-inf", "-inf", "2", "2", "3"}));
  const Ran ran = run(folder, "origin dump.csv");
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(ran.out,
            "Nothing wrong in 6 tensors\n"
            "note: Inf of Default_net_Mul-op1 (Mul) ended at Default_net_Exp-op2 (Exp): iteration 0\n");
  const Json found = Json::parse(run(folder, "origin dump.csv --format json").out);
  EXPECT_EQ(found["verdict"]["kind"], "none");
  EXPECT_EQ(found["verdict"]["op_name"], nullptr);
  EXPECT_EQ(found["notes"].size(), 1u);
  EXPECT_EQ(found["producers"], Json::array());  // what ended is no beginning
  EXPECT_EQ(run(folder, "origin dump.csv --inf").exit, 1);
  EXPECT_EQ(run(folder, "origin dump.csv --inf --nan-only").exit, 2);
  EXPECT_EQ(run(folder, "origin dump.csv --all --format json").exit, 2);
}

TEST(OriginCommand, SaysThatThereIsNoSuchPath) {
  ScratchFolder folder;
  std::filesystem::create_directory(folder / "empty");
  const Ran ran = run(folder, "origin nothere");
  EXPECT_EQ(ran.exit, 3);
  EXPECT_TRUE(holds(ran.err, "nothere: there is no such file or folder")) << ran.err;
  EXPECT_TRUE(holds(run(folder, "origin empty").err, "empty: there is nothing to compare"))
      << run(folder, "origin empty").err;
}

// From the overflowing operator to the line in Python.
TEST(OriginCommand, NamesTheLineThatTheGraphSays) {
  ScratchFolder folder;
  put(folder, "dump/rank_0/net/0/7/statistic.csv", dump({"1", "2", "2", "nan", "nan", "nan"}));
  put(folder, "dump/rank_0/graphs/ms_output_trace_code_graph_0.ir", R"(
  %20(equivoutput) = Exp(%17) {instance name: exp}
       : (<Tensor[Float32], (2, 3)>) -> (<Tensor[Float32], (2, 3)>)
       : full_name_with_scope: (Default/net/Exp-op2)
       # In file ./train.py(175)/        x = ops.exp(x)/
)");
  const Json verdict = Json::parse(run(folder, "origin dump --format json").out)["verdict"];
  EXPECT_EQ(verdict["file"], "./train.py");
  EXPECT_EQ(verdict["line"], 175);
  EXPECT_TRUE(holds(run(folder, "origin dump").out, "called at ./train.py:175"));
}

// msprobe's modules, with the files beside its dump.json.
TEST(OriginCommand, ReadsStacksAndParentsOfMsprobe) {
  ScratchFolder folder;
  const auto tensor = [](const std::string& max) {
    return R"({"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2, 3], "Max": )" + max +
           R"(, "Min": -1.0, "Mean": 0.5, "Norm": 2.0})";
  };
  const auto call = [&](const std::string& name, const std::string& given, const std::string& gave) {
    return "\"" + name + R"(": {"input_args": [)" + tensor(given) + R"(], "input_kwargs": {}, "output": [)" +
           tensor(gave) + "]}";
  };
  put(folder, "dump/step3/rank1/dump.json",
      R"({"task": "statistics", "level": "L0", "framework": "pytorch", "data": {)" +
          call("Module.block.Block.forward.0", "1.0", "NaN") + ", " +
          call("Module.block.fc.Linear.forward.0", "1.0", "2.0") + ", " +
          call("Functional.log.0.forward", "2.0", "NaN") + ", " +
          call("Module.block.act.GELU.forward.0", "NaN", "NaN") + "}}");
  put(folder, "dump/step3/rank1/construct.json",
      R"({"Module.block.Block.forward.0": null, "Functional.log.0.forward": "Module.block.Block.forward.0",
    "Module.block.fc.Linear.forward.0": "Module.block.Block.forward.0", "Module.block.act.GELU.forward.0": "Module.block.Block.forward.0"})");
  put(folder, "dump/step3/rank1/stack.json",
      R"({"0": [["Functional.log.0.forward"], ["File /usr/lib/python3/dist-packages/torch/x.py, line 2, in f, \n y",
    "File /home/me/model.py, line 54, in forward, \n x = log y"]]})");
  const Ran ran = run(folder, "origin dump --format json");
  EXPECT_EQ(ran.exit, 1) << ran.err;
  const Json verdict = Json::parse(ran.out)["verdict"];
  EXPECT_EQ(verdict["kind"], "produced");
  EXPECT_EQ(verdict["op_name"], "Functional.log.0.forward");
  EXPECT_EQ(verdict["inside"], Json::parse(R"(["Module.block.Block.forward.0"])"));
  EXPECT_EQ(verdict["iteration"], 3);
  EXPECT_EQ(verdict["rank"], 1);
  EXPECT_EQ(verdict["file"], "/home/me/model.py");
  EXPECT_EQ(verdict["line"], 54);
  // Broken companion files do no harm.
  for (const char* broken : {"{", "[]", R"({"Module.block.Block.forward.0": "Module.block.Block.forward.0"})",
                             R"({"0": [[5], {}], "1": 5, "2": []})"}) {
    put(folder, "dump/step3/rank1/construct.json", broken);
    put(folder, "dump/step3/rank1/stack.json", broken);
    EXPECT_EQ(run(folder, "origin dump").exit, 1);
  }
}

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

}  // namespace diff_command_test
}  // namespace tensorstat::test
