// `tensorstat diff` for its users: the output in text and JSON, and the exit statuses.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/command_run.hpp"
#include "tests/support/npy_files.hpp"
#include "tests/support/rows_of_a_graph.hpp"

namespace tensorstat::test {
namespace diff_command_test {

using Json = nlohmann::json;

TEST(DiffCommand, SaysNothingDiffersAndEndsWith0) {
  ScratchFolder folder;
  put(folder, "a/rank_0/net/0/7/statistic.csv", dump({"1", "2", "2", "3"}));
  put(folder, "b/rank_0/net/0/7/statistic.csv", dump({"1", "2", "2", "3"}));
  const Ran ran = run(folder, "diff a b");
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(ran.out, "4 tensors compared, 0 differ, 0 only in A, 0 only in B\n");
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
  const Json diff = Json::parse(run(folder, "diff both both --format json").out);
  EXPECT_EQ(diff["pairs"][0]["execution"], "graph");
  EXPECT_EQ(diff["pairs"][1]["execution"], "pynative");
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
  const Json diff = Json::parse(ran.out);
  EXPECT_EQ(diff["schema_version"], 1);
  EXPECT_EQ(diff["compared"], 6);
  EXPECT_EQ(diff["different"], 3);
  EXPECT_EQ(diff["first"], Json::parse(R"([{"op_type": "Exp", "op_name": "Default_net_Exp-op2", "rank": 0,
    "iteration": 7, "io": "output", "slot": 0, "added": 0.5, "enters": false, "phase": "forward", "inside": [],
    "file": null, "line": null}])"));
  EXPECT_EQ(diff["pairs"][3]["verdict"], "different");
  EXPECT_EQ(diff["pairs"][3]["stats"]["max"], Json::parse(R"({"a": 3, "b": 6})"));
  EXPECT_EQ(diff["pairs"][0]["verdict"], "equal");
  EXPECT_EQ(diff["pairs"][0]["a"], "Default_net_Mul-op1.input.0");
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
    const Json diff = Json::parse(run(folder, "diff a b --first --format json").out);
    std::vector<std::string> names;
    for (const Json& each : diff["first"]) names.push_back(each["op_name"]);
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
  const Json diff = Json::parse(ran.out);
  EXPECT_EQ(diff["different"], 0);
  EXPECT_EQ(diff["unmatched_a"], Json::parse(R"(["Default_net_Exp-op2.input.0", "Default_net_Exp-op2.output.0"])"));
  EXPECT_EQ(diff["unmatched_b"], Json::array());
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
  const Json diff = Json::parse(ran.out);
  EXPECT_EQ(diff["compared"], 2);
  EXPECT_EQ(diff["different"], 1);
  EXPECT_EQ(diff["unmatched_a"], Json::parse(R"(["a/only.npy"])"));
  for (const Json& pair : diff["pairs"]) {
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
  EXPECT_TRUE(holds(ran.out, "\na.npy    3   4  0.966667     1  0   0.258199  ")) << ran.out;
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
            "                            max\n"
            "        in   in             abs           relative      max  outside  nan\n"
            "tensor   a    b    cosine  diff  at             l2      ulp    count    b  dtype    shape\n"
            "v       19  nan       nan   inf  (9,0)         inf        0        1    1  float32  (64,2)\n"
            "w       12   20  0.999955     8  (5,1)  0.00951088  6291456        1    0  float32  (64,2)\n"
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

// A watch has the inputs of the outermost call alone. What runs between two calls may then be what differs.
TEST(DiffCommand, FirstSaysThatTheInputsAreNotKnown) {
  ScratchFolder folder;
  for (const std::string name : {"a", "b"}) {
    const std::string heading =
        "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min Value\n";
    const auto row = [](const std::string& call, int time, const std::string& io, const std::string& max) {
      return "Linear," + call + ",0,0," + std::to_string(time) + "," + io + ",0,24,float32,\"(2,3)\"," + max + ",-1\n";
    };
    put(folder, name + "/rank_0/model/0/4/statistic.csv",
        heading + row("Net/forward", 1, "input", "1") + row("v/forward", 2, "output", "1") +
            row("o/forward", 3, "output", name == "a" ? "2" : "3"));
  }
  EXPECT_PRED2(
      holds, run(folder, "diff a b --first").out,
      "    the dump has no inputs of it: the difference may begin in code between v/forward and this call. Dump "
      "inputs, too\n");
  EXPECT_EQ(Json::parse(run(folder, "diff a b --first --format json").out)["first"][0]["since"], "v/forward");
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

}  // namespace diff_command_test
}  // namespace tensorstat::test
