// In every walk of the command a file of msprobe's dump_tensor_data is a tensor of a call, with dump.json and without
// it.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/support/command_run.hpp"
#include "tests/support/npy_files.hpp"

namespace tensorstat {
namespace msprobe_files_test {

using test::holds;
using test::Ran;
using test::run;
using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* kFolder = "step5/rank1/dump_tensor_data/";

// A float32 file of two elements. Files that are put later are written later, by their times.
class MsprobeFiles : public testing::Test {
 protected:
  void put(const std::string& name, float first, float second, const std::string& root = "d/") {
    const std::string path = folder / (root + kFolder + name + ".npy");
    fs::create_directories(fs::path(path).parent_path());
    const float values[] = {first, second};
    test::write_file(path, test::npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }",
                                     std::string_view(reinterpret_cast<const char*>(values), sizeof values)));
    fs::last_write_time(path, fs::file_time_type::clock::now() + std::chrono::seconds(++count_));
  }
  ScratchFolder folder;

 private:
  int count_ = 0;
};

TEST_F(MsprobeFiles, AreRowsOfTheirCall) {
  put("Functional.split.0.forward.input.0", 1, 2);
  put("Functional.split.0.forward.output.1", 3, 4);
  put("Module.fc.Linear.forward.0.parameters.weight", 5, 6);
  put("Module.fc.Linear.forward.0.input.0", 5, 6);
  const std::string csv = run(folder, "d --format csv --stats max --columns tensor,rank,iteration").out;
  for (const char* line : {
           "split,Functional.split.0.forward,0,0,",
           ",input,0,8,float32,\"(2)\",2,Functional.split.0.forward.input.0,1,5\n",
           ",output,1,8,float32,\"(2)\",4,Functional.split.0.forward.output.1,1,5\n",
           // A parameter has a name and no number: it comes behind the numbered inputs.
           "Linear,Module.fc.Linear.forward.0,0,0,",
           ",input,1,8,float32,\"(2)\",6,Module.fc.Linear.forward.0.parameters.weight,1,5\n",
       }) {
    EXPECT_PRED2(holds, csv, line);
  }
}

TEST_F(MsprobeFiles, ANanThatCameInIsNotTheCalls) {
  put("Functional.split.0.forward.input.0", NAN, 1);
  put("Functional.split.0.forward.output.0", NAN, 2);
  const Json verdict = Json::parse(run(folder, "origin d --format json").out)["verdict"];
  EXPECT_EQ(verdict["kind"], "entered") << verdict;
  EXPECT_EQ(verdict["op_name"], "Functional.split.0.forward");
  EXPECT_EQ(verdict["rank"], 1);
  EXPECT_EQ(verdict["iteration"], 5);
}

// By their names, Mint.log comes before Mint.zeros; by their times, it does not.
TEST_F(MsprobeFiles, ComeInTheOrderOfTheirTimesAndStackJsonSaysTheLine) {
  put("Mint.zeros.0.forward.input.0", 1, 1);
  put("Mint.zeros.0.forward.output.0", NAN, 2);
  put("Mint.log.0.forward.input.0", NAN, 2);
  put("Mint.log.0.forward.output.0", NAN, 2);
  test::write_file(folder / "d/step5/rank1/stack.json",
                   R"({"0": [["Mint.zeros.0.forward"], ["File /home/me/model.py, line 54, in f, \n y"]]})");
  const Json verdict = Json::parse(run(folder, "origin d --format json").out)["verdict"];
  EXPECT_EQ(verdict["kind"], "produced") << verdict;
  EXPECT_EQ(verdict["op_name"], "Mint.zeros.0.forward");
  EXPECT_EQ(verdict["line"], 54);
}

std::string leaf(const std::string& name, double max) {
  return R"({"type": "mindspore.Tensor", "dtype": "Float32", "shape": [2], "Max": )" + std::to_string(max) +
         R"(, "data_name": ")" + name + R"(.npy"})";
}

// A is what remains after a crash: files alone. B has dump.json, in which a parameter's slot differs from the order of
// the names, and a call that stands in a list.
TEST_F(MsprobeFiles, PairWithTheRowsOfADumpJsonByTheNamesOfTheirArguments) {
  const auto put_all = [&](const std::string& root, const char* gradients) {
    put("Mint.cat.0.forward.input.0.0", 1, 1, root);
    put("Mint.cat.0.forward.input.0.1", 2, 2, root);
    put("Mint.cat.0.forward.input.dim", 7, 7, root);
    put("Cell.fc.Dense.forward.0.parameters.weight", 3, 3, root);
    put("Cell.fc.Dense.forward.0.parameters.bias", 4, 4, root);
    put(std::string("Cell.fc.Dense.") + gradients + ".weight", 5, 5, root);
    put(std::string("Cell.fc.Dense.") + gradients + ".bias", 6, 6, root);
  };
  put_all("a/", "parameters_grad");
  put_all("b/", "parameters_grad.0");
  const Ran same = run(folder, "diff a b");
  EXPECT_EQ(same.out, "7 tensors compared, 0 differ, 0 only in A, 0 only in B\n") << same.err;
  test::write_file(folder / "b/step5/rank1/dump.json",
                   R"({"task": "tensor", "level": "mix", "framework": "mindspore", "data": {
    "Mint.cat.0.forward": {"input_args": [[)" +
                       leaf("Mint.cat.0.forward.input.0.0", 1) + ", " + leaf("Mint.cat.0.forward.input.0.1", 2) +
                       R"(]], "input_kwargs": {"dim": )" + leaf("Mint.cat.0.forward.input.dim", 7) +
                       R"(}, "output": []},
    "Cell.fc.Dense.forward.0": {"input_args": [null], "input_kwargs": {}, "output": [], "parameters": {"weight": )" +
                       leaf("Cell.fc.Dense.forward.0.parameters.weight", 3) + R"(, "bias": )" +
                       leaf("Cell.fc.Dense.forward.0.parameters.bias", 4) + R"(}},
    "Cell.fc.Dense.parameters_grad.0": {"weight": [)" +
                       leaf("Cell.fc.Dense.parameters_grad.0.weight", 5) + R"(], "bias": [)" +
                       leaf("Cell.fc.Dense.parameters_grad.0.bias", 6) + "]}}}");
  for (const char* sides : {"a b", "b a"}) {
    const Ran ran = run(folder, std::string("diff ") + sides);
    EXPECT_EQ(ran.out, "7 tensors compared, 0 differ, 0 only in A, 0 only in B\n") << sides << ran.err;
  }
  // The files beside a dump.json have the slots that it says.
  const std::string csv = run(folder, "b --format csv --stats max --columns tensor").out;
  EXPECT_PRED2(holds, csv, ",input,1,8,float32,\"(2)\",3,Cell.fc.Dense.forward.0.parameters.weight\n");
  EXPECT_PRED2(holds, csv, ",input,2,8,float32,\"(2)\",4,Cell.fc.Dense.forward.0.parameters.bias\n");
}

std::string of_gradients(const std::string& key, const std::string& max) {
  return R"({"task": "statistics", "level": "L0", "framework": "mindspore", "data": {")" + key +
         R"(": {"weight": [{"type": "mindspore.Tensor", "dtype": "Float32", "shape": [2], "Max": )" + max + "}]}}}";
}

TEST_F(MsprobeFiles, GradientsWithACountPairWithThoseOfOlderVersions) {
  const std::string kNew = "Cell.conv1.Conv2d.parameters_grad.0", kOld = "Cell.conv1.Conv2d.parameters_grad";
  for (const char* side : {"old", "new", "second"}) fs::create_directories(folder / side);
  test::write_file(folder / "old/dump.json", of_gradients(kOld, "1.0"));
  test::write_file(folder / "new/dump.json", of_gradients(kNew, "1.0"));
  test::write_file(folder / "second/dump.json", of_gradients("Cell.conv1.Conv2d.parameters_grad.1", "1.0"));
  EXPECT_EQ(run(folder, "diff old/dump.json new/dump.json").out,
            "1 tensor compared, 0 differ, 0 only in A, 0 only in B\n");
  EXPECT_EQ(run(folder, "diff new/dump.json old/dump.json").exit, 0);
  EXPECT_PRED2(holds, run(folder, "diff old/dump.json second/dump.json").out, "0 tensors compared");
}

}  // namespace msprobe_files_test
}  // namespace tensorstat
