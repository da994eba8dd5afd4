// What msprobe's config chooses: the calls of a list and of a scope, ranks, steps, directions, and tensors that are
// saved.
#include "tests/support/msprobe_session.hpp"

namespace tensorstat {
namespace msprobe_choice_test {

class MsprobeChoice : public MsprobeSessionTest {};

TEST_F(MsprobeChoice, ListAndScopeChooseCalls) {
  const auto run = [&](const std::string& task) {
    std::filesystem::remove_all(folder / "step0");
    auto session = open("{}", task);
    for (int call = 0; call < 3; ++call) {
      for (const char* api : {"conv2d", "relu"}) {
        collect(session, {}, "Functional." + std::string(api) + "." + std::to_string(call) + ".forward",
                {tensor(values, Dtype::kFloat32)});
        collect(session, {}, "Default/" + std::string(api), {tensor(values, Dtype::kFloat32)});
      }
    }
    session.close();
    return keys();
  };
  EXPECT_EQ(run("{}").size(), 12u);
  EXPECT_EQ(run(R"({"list": ["Functional.relu.1.forward", "relu.Op.2"]})"),
            (Keys{"Functional.relu.1.forward", "Primitive.Default_relu.Op.2.forward"}));
  EXPECT_EQ(run(R"({"scope": ["Functional.relu.0.forward", "Functional.relu.1.forward"]})"),
            (Keys{"Functional.relu.0.forward", "Primitive.Default_relu.Op.0.forward", "Functional.conv2d.1.forward",
                  "Primitive.Default_conv2d.Op.1.forward", "Functional.relu.1.forward"}));
  EXPECT_EQ(run(R"({"scope": ["Functional.relu.0.forward", "Functional.relu.1.forward"], "list": ["conv2d"]})"),
            (Keys{"Functional.conv2d.1.forward", "Primitive.Default_conv2d.Op.1.forward"}));
}

TEST_F(MsprobeChoice, RanksStepsAndDirections) {
  auto session = open(R"({"rank": [1], "step": ["2-3"]})", R"({"data_mode": ["backward", "input"]})");
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    for (std::uint64_t step = 0; step < 5; ++step) {
      for (const char* name : {"Tensor.add.0.forward", "Tensor.add.0.backward"}) {
        collect(session, {.rank = rank, .device = 77, .iteration = step}, name,
                {tensor(values, Dtype::kFloat32, Io::kInput), tensor(values, Dtype::kFloat32)});
      }
      session.step_end({.rank = rank, .device = 77, .iteration = step});
    }
  }
  session.close();
  EXPECT_EQ(files(), (Keys{"step2/rank1/construct.json", "step2/rank1/dump.json", "step2/rank1/stack.json",
                           "step3/rank1/construct.json", "step3/rank1/dump.json", "step3/rank1/stack.json"}));
  EXPECT_EQ(keys("step2/rank1/dump.json"), Keys{"Tensor.add.0.backward"});
  EXPECT_EQ(json_of("step2/rank1/dump.json")["data"]["Tensor.add.0.backward"].size(), 1u) << "no output";
}

TEST_F(MsprobeChoice, TensorsOfAListAreSaved) {
  auto session = open("{}", R"({"tensor_list": ["relu"]})");
  collect(session, {}, "Functional.relu.0.forward",
          {tensor(values, Dtype::kFloat32, Io::kInput), tensor(values, Dtype::kFloat32)});
  collect(session, {}, "Functional.gelu.0.forward", {tensor(values, Dtype::kFloat32)});
  session.close();
  EXPECT_EQ(files(),
            (Keys{"step0/rank0/construct.json", "step0/rank0/dump.json",
                  "step0/rank0/dump_tensor_data/Functional.relu.0.forward.input.0.npy",
                  "step0/rank0/dump_tensor_data/Functional.relu.0.forward.output.0.npy", "step0/rank0/stack.json"}));
  const auto root = json_of("step0/rank0/dump.json");
  EXPECT_EQ(root["dump_data_dir"], folder / "step0/rank0/dump_tensor_data");
  EXPECT_EQ(root["data"]["Functional.relu.0.forward"]["output"][0]["data_name"],
            "Functional.relu.0.forward.output.0.npy");
  EXPECT_FALSE(root["data"]["Functional.gelu.0.forward"]["output"][0].contains("data_name"));
  EXPECT_EQ(session.counters().file_count, 2u);
}

}  // namespace msprobe_choice_test
}  // namespace tensorstat
