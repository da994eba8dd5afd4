// Replaying a tree of tensors with msprobe's config writes the same dump.json as a dump with that config. msprobe's own
// tree can be replayed with any config.
#include <cmath>
#include <nlohmann/json.hpp>

#include "stats/job/dump/replay/replay.hpp"
#include "tests/support/json_text.hpp"
#include "tests/support/msprobe_session.hpp"
#include "tests/support/npy_files.hpp"

namespace tensorstat {
namespace msprobe_replay_test {

class MsprobeReplay : public MsprobeSessionTest {
 protected:
  void train(DumpSession& session, const std::vector<const char*>& names) {
    const std::vector<float> floats{1, -2, NAN};
    const std::vector<std::uint16_t> brain{0x3f80, 0xc000};
    for (std::uint64_t step = 0; step < 2; ++step) {
      for (const char* name : names) {
        collect(session, {.rank = 1, .device = 1, .iteration = step}, name,
                {tensor(floats, Dtype::kFloat32, Io::kInput), tensor(brain, Dtype::kBfloat16),
                 tensor(values, Dtype::kFloat32, Io::kOutput, 1)});
      }
      session.step_end({.rank = 1, .device = 1, .iteration = step});
    }
    session.close();
  }

  Result<DumpCounters> replay_tensors(const std::string& config, Existing existing = Existing::kRefuse) {
    std::vector<std::string> paths;
    for (const auto& file : files()) {
      if (file.ends_with(".npy")) paths.push_back(folder / file);
    }
    DumpOptions replay_options = options;
    replay_options.path = replayed.path();
    return replay(config, paths, replay_options, existing,
                  {[](const Error& error) { ADD_FAILURE() << error.message; }, [](std::size_t, std::size_t) {}});
  }

  ScratchFolder replayed;
  static constexpr const char* kStatistics = R"({"task": "statistics", "dump_path": "/elsewhere"})";
  static constexpr const char* kOfModules = R"({"task": "statistics", "dump_path": "/elsewhere", "level": "mix"})";
};

TEST_F(MsprobeReplay, MsprobesTreeGivesTheDumpJsonOfTheRun) {
  const std::vector<const char*> names{"Functional.conv2d.0.forward", "Tensor.add.0.forward", "Tensor.add.0.backward"};
  auto session = open(R"({"task": "tensor"})");
  train(session, names);
  const auto counters = replay_tensors(kStatistics);
  ASSERT_TRUE(counters) << counters.error().message;
  EXPECT_EQ(counters->row_count, 18u);
  for (const char* step : {"step0", "step1"}) {
    const auto of_run = json_of(std::string(step) + "/rank1/dump.json");
    const std::string text = content_of(replayed / (std::string(step) + "/rank1/dump.json"));
    for (const char* name : names) {
      EXPECT_NE(text.find("\"" + std::string(name) + "\": {"), text.npos) << name;
    }
    EXPECT_NE(text.find("\"dtype\": \"Float32\""), text.npos);
  }
}

// A module's calls as msprobe writes them: nested lists, named arguments, parameters, and the parameters' gradients.
TEST_F(MsprobeReplay, PlacesAndOrderOfCallsAreThoseOfTheDumpJsonBesideTheTensors) {
  options.framework = "pytorch";
  auto session = open(R"({"task": "tensor", "level": "mix"})");
  const auto give = [&](const std::string& type, const std::string& name, std::vector<DumpTensor> tensors,
                        std::string layout) {
    for (char& c : layout) {
      if (c == '@') c = '\x01';
    }
    session.collect({}, session.operator_named(type, name), tensors, false, layout);
  };
  const auto tensor_of = [&](Io io, std::uint32_t slot, bool requires_grad = false) {
    DumpTensor one = tensor(values, Dtype::kFloat32, io, slot);
    one.requires_grad = requires_grad;
    return one;
  };
  give("Linear", "Module.fc.Linear.forward.0",
       {tensor_of(Io::kInput, 0), tensor_of(Io::kInput, 3), tensor_of(Io::kInput, 4, true),
        tensor_of(Io::kInput, 5, true), tensor_of(Io::kOutput, 1, true)},
       "{\n \"input_args\": [\n  [\n   @i0@,\n   2.5\n  ],\n  \"same\"\n ],\n \"input_kwargs\": {\n  \"mask\": @i3@\n "
       "},\n"
       " \"output\": [\n  null,\n  @o1@\n ],\n \"parameters\": {\n  \"weight\": @i4@,\n  \"bias\": @i5@\n }\n}");
  give("Linear", "Module.fc.Linear.backward.0", {tensor_of(Io::kInput, 0), tensor_of(Io::kOutput, 0)},
       "{\n \"input\": [\n  @i0@\n ],\n \"output\": [\n  @o0@\n ]\n}");
  give("Linear", "Module.fc.Linear.parameters_grad.0", {tensor_of(Io::kOutput, 0), tensor_of(Io::kOutput, 1)},
       "{\n \"weight\": [\n  @o0@\n ],\n \"bias\": [\n  @o1@\n ]\n}");
  give("add", "Functional.add.0.forward", {tensor_of(Io::kInput, 0), tensor_of(Io::kOutput, 0)},
       "{\n \"input_args\": [\n  @i0@,\n  3\n ],\n \"input_kwargs\": {},\n \"output\": [\n  @o0@\n ]\n}");
  session.close();
  const auto wanted = [&] {
    auto data = json_of("step0/rank0/dump.json").at("data");
    const std::function<void(nlohmann::ordered_json&)> forget_files = [&](nlohmann::ordered_json& value) {
      if (value.is_object()) value.erase("data_name");
      if (value.is_structured()) std::ranges::for_each(value, forget_files);
    };
    forget_files(data);
    return data;
  }();
  ASSERT_EQ(wanted.at("Module.fc.Linear.parameters_grad.0").at("weight").size(), 1u);
  ASSERT_TRUE(
      std::filesystem::exists(folder / "step0/rank0/dump_tensor_data/Module.fc.Linear.parameters_grad.0.weight.npy"));
  ASSERT_TRUE(
      std::filesystem::exists(folder / "step0/rank0/dump_tensor_data/Module.fc.Linear.forward.0.input.mask.npy"));

  // Times as after copying, with the last call first.
  auto time = std::filesystem::file_time_type::clock::now();
  for (const auto& file : files()) {
    if (file.ends_with(".npy")) std::filesystem::last_write_time(folder / file, time -= std::chrono::seconds(1));
  }
  ASSERT_TRUE(replay_tensors(kOfModules));
  EXPECT_EQ(test::parsed_in_order(content_of(replayed / "step0/rank0/dump.json")).at("data").dump(1), wanted.dump(1));

  // Without dump.json only the file names are used.
  std::filesystem::remove(folder / "step0/rank0/dump.json");
  ASSERT_TRUE(replay_tensors(kOfModules, Existing::kReplace));
  const auto by_names = test::parsed_in_order(content_of(replayed / "step0/rank0/dump.json")).at("data");
  EXPECT_TRUE(by_names.contains("Module.fc.Linear.parameters_grad.0"));

  // A damaged dump.json is reported. Its contents before the damage are used.
  test::write_file(folder / "step0/rank0/dump.json", "{\"data\": {\"Functional.add.0.forward\": {\"input_args\": [3");
  messages.clear();
  std::vector<std::string> unread;
  const auto counters =
      replay(kStatistics, {folder / "step0/rank0/dump_tensor_data/Functional.add.0.forward.input.0.npy"},
             {.path = replayed.path()}, Existing::kReplace,
             {[&](const Error& error) { unread.push_back(error.message); }, [](std::size_t, std::size_t) {}});
  ASSERT_TRUE(counters);
  EXPECT_EQ(counters->row_count, 1u);
  ASSERT_EQ(unread.size(), 1u);
  EXPECT_NE(unread[0].find("step0/rank0/dump.json, line 1"), std::string::npos) << unread[0];
}

TEST_F(MsprobeReplay, MindSporesTreeBecomesADumpJson) {
  const auto config = config_text(nlohmann::json{{"path", folder.path()}, {"net_name", "Net"}}.dump());
  auto session = DumpSession::from_json(config, options);
  ASSERT_TRUE(session) << session.error().message;
  train(*session, {"Default/net/Add-op1"});
  const auto counters = replay_tensors(kStatistics);
  ASSERT_TRUE(counters) << counters.error().message;
  EXPECT_EQ(counters->row_count, 6u);
  const std::string text = content_of(replayed / "step1/rank1/dump.json");
  EXPECT_NE(text.find(R"("Primitive.Default_net_Add-op1.Op.0.forward": {)"), text.npos) << text;
  EXPECT_NE(text.find(R"("dtype": "BFloat16")"), text.npos);
  EXPECT_NE(text.find("\"Max\": NaN"), text.npos);
}

TEST_F(MsprobeReplay, WhatIsThereIsNotWrittenOverUnasked) {
  auto session = open(R"({"task": "tensor"})");
  train(session, {"Tensor.add.0.forward"});
  ASSERT_TRUE(replay_tensors(kStatistics));
  const auto again = replay_tensors(kStatistics);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Code::kUnwritable);
  const auto added = replay_tensors(kStatistics, Existing::kAppend);
  ASSERT_FALSE(added);
  EXPECT_NE(added.error().message.find("cannot be added to, only replaced"), std::string::npos)
      << added.error().message;
  EXPECT_TRUE(replay_tensors(kStatistics, Existing::kReplace));
}

}  // namespace msprobe_replay_test
}  // namespace tensorstat
