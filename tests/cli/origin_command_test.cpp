// `tensorstat origin` for its users: the output in text and JSON, and the exit statuses.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/command_run.hpp"
#include "tests/support/npy_files.hpp"
#include "tests/support/rows_of_a_graph.hpp"

namespace tensorstat::test {
namespace origin_command_test {

using Json = nlohmann::json;

TEST(OriginCommand, TellsProducersFromPropagators) {
  ScratchFolder folder;
  put(folder, "dump/rank_0/net/0/7/statistic.csv", dump({"1", "2", "2", "nan", "nan", "nan"}));
  const Ran ran = run(folder, "origin dump --format json");
  EXPECT_EQ(ran.exit, 1) << ran.err;
  const Json answer = Json::parse(ran.out);
  EXPECT_EQ(answer["producers"], Json::parse(R"([{"op_type": "Exp", "op_name": "Default_net_Exp-op2", "rank": 0,
    "iteration": 7, "io": "output", "slot": 0, "nan": null, "inf": 0, "before": ["Default_net_Mul-op1"],
    "inputs": [{"slot": 0, "stats": {"max": 2, "min": -1, "l2norm": 2}}]}])"));
  ASSERT_EQ(answer["propagators"].size(), 1u);
  EXPECT_EQ(answer["propagators"][0]["op_name"], "Default_net_Sub-op3");
  EXPECT_FALSE(
      answer["propagators"][0].contains("inputs"));  // there may be many: only who made a fault is told with its inputs
  EXPECT_EQ(answer["entered"], Json::array());
  EXPECT_EQ(answer["notes"], Json::array());
  const Json& verdict = answer["verdict"];
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
  EXPECT_TRUE(all.ends_with("6 rows, 1 produced NaN or Inf, 1 passed it on\n")) << all;
  EXPECT_TRUE(holds(all, "passed on  Sub Default_net_Sub-op3 output 0 (rank 0, iteration 7)  NaN")) << all;
}

TEST(OriginCommand, OfACheckpointSaysHowToListItsTensors) {
  ScratchFolder folder;
  run_python(folder, "import numpy; numpy.savez('x.npz', w=numpy.array([1, numpy.inf]))");
  EXPECT_PRED2(holds, run(folder, "origin x.npz").out, "  next: tensorstat DUMP --where 'nan or inf' lists them\n");
}

// Read as one, each operator would run twice, and the answer would be another one.
TEST(OriginCommand, RefusesTwoRunsAsOne) {
  ScratchFolder folder;
  const std::string rows = dump({"1", "2", "2", "nan", "nan", "nan"});
  for (const char* place : {"runs/a/rank_0/net/0/7", "runs/b/rank_0/net/0/7", "parts/host0/rank_0/net/0/7",
                            "parts/host1/rank_1/net/0/7", "nets/rank_0/gen/0/7", "nets/rank_0/disc/0/7"}) {
    put(folder, std::string(place) + "/statistic.csv", rows);
  }
  const std::string words = folder / "runs/a" + " and " + (folder / "runs/b") + " are two runs: name one of them";
  for (const char* command : {"origin runs", "report runs", "diff runs runs/a"}) {
    const Ran ran = run(folder, command);
    EXPECT_EQ(ran.exit, 3) << command << ran.out;
    EXPECT_PRED2(holds, ran.err, words) << command;
  }
  EXPECT_EQ(run(folder, "store add runs.db runs/a runs/b").exit, 0);
  EXPECT_PRED2(holds, run(folder, "origin runs.db").err, "runs.db//a and runs.db//b are two runs: name one of them");
  EXPECT_EQ(run(folder, "store add one.db runs --run x").exit, 0);
  EXPECT_PRED2(holds, run(folder, "origin one.db").err, "one.db//x: " + (folder / "runs/a") + " and ");
  EXPECT_EQ(run(folder, "store add parts.db parts --run x").exit, 0);
  for (const char* one : {"runs/a", "runs.db//b", "parts", "parts.db", "nets"}) {
    EXPECT_EQ(run(folder, std::string("origin ") + one).exit, 1) << one;
  }
}

TEST(OriginCommand, NamesWhoTurnedInfIntoNan) {
  ScratchFolder folder;
  put(folder, "dump.csv", dump({"1", "inf", "inf", "nan", "nan", "nan"}));
  const Ran ran = run(folder, "origin dump.csv --format json");
  EXPECT_EQ(ran.exit, 1) << ran.err;
  const Json answer = Json::parse(ran.out);
  ASSERT_EQ(answer["producers"].size(), 1u);
  EXPECT_EQ(answer["producers"][0]["op_name"], "Default_net_Mul-op1");
  EXPECT_EQ(answer["turned"], Json::parse(R"([{"op_type": "Exp", "op_name": "Default_net_Exp-op2", "rank": 0,
    "iteration": 0, "io": "output", "slot": 0, "nan": null, "inf": 0, "before": ["Default_net_Mul-op1"],
    "inputs": [{"slot": 0, "stats": {"max": "inf", "min": -1, "l2norm": 2}}]}])"));
  EXPECT_EQ(answer["propagators"].size(), 2u);
  EXPECT_TRUE(holds(run(folder, "origin dump.csv --all").out, "turned Inf into NaN  Exp Default_net_Exp-op2 output 0"));
  EXPECT_TRUE(holds(run(folder, "origin dump.csv").out, "Default_net_Exp-op2 (Exp) made NaN of that Inf"));
  // If Inf is not a fault, the operator that makes NaN of it is a producer.
  const Json nan_only = Json::parse(run(folder, "origin dump.csv --nan-only --format json").out);
  EXPECT_EQ(nan_only["turned"], Json::array());
  ASSERT_EQ(nan_only["producers"].size(), 1u);
  EXPECT_EQ(nan_only["producers"][0]["op_name"], "Default_net_Exp-op2");
}

TEST(OriginCommand, SaysNothingOfInfThatIsNoFault) {
  ScratchFolder folder;
  const std::string heading =
      "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,NaN Count,Positive Inf "
      "Count\n";
  put(folder, "dump.csv",
      heading +
          "Mul,op1,0,0,1,input,0,64,float32,\"(16)\",1,0,0\nMul,op1,0,0,1,output,0,64,float32,\"(16)\",inf,1,2\n");
  EXPECT_TRUE(run(folder, "origin dump.csv").out.starts_with("NaN and Inf in op1"));
  EXPECT_TRUE(run(folder, "origin dump.csv --nan-only").out.starts_with("NaN in op1"));
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
  const Json answer = Json::parse(ran.out);
  EXPECT_EQ(answer["producers"], Json::array());
  ASSERT_EQ(answer["entered"].size(), 1u);
  EXPECT_EQ(answer["entered"][0]["io"], "input");
  EXPECT_EQ(answer["verdict"]["kind"], "entered");
  EXPECT_EQ(answer["verdict"]["phase"], "input");
}

TEST(OriginCommand, OfWhatEndedIsANoteAndExitStatus0) {
  ScratchFolder folder;
  put(folder, "dump.csv", dump({"1", "-inf", "-inf", "2", "2", "3"}));
  const Ran ran = run(folder, "origin dump.csv");
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(ran.out,
            "Nothing wrong in 6 tensors\n"
            "note: Inf of Default_net_Mul-op1 (Mul) ended at Default_net_Exp-op2 (Exp): iteration 0\n");
  const Json answer = Json::parse(run(folder, "origin dump.csv --format json").out);
  EXPECT_EQ(answer["verdict"]["kind"], "none");
  EXPECT_EQ(answer["verdict"]["op_name"], nullptr);
  EXPECT_EQ(answer["notes"].size(), 1u);
  EXPECT_EQ(answer["producers"], Json::array());  // an ended fault is not a beginning
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

}  // namespace origin_command_test
}  // namespace tensorstat::test
