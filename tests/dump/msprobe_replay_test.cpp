// A tree of tensors replayed through msprobe's config leaves the dump.json that a dump with it leaves, and msprobe's own
// tree is replayed through any config.
#include "stats/dump/replay.hpp"

#include "tests/support/msprobe_session.hpp"

namespace tensorstat {
namespace {

class MsprobeReplay : public MsprobeSessionTest {
 protected:
  void train(DumpSession& session, const std::vector<const char*>& names) {
    const std::vector<float> floats{1, -2, NAN};
    const std::vector<std::uint16_t> brain{0x3f80, 0xc000};
    for (std::uint64_t step = 0; step < 2; ++step) {
      for (const char* name : names) {
        collect(session, {.rank = 1, .device = 1, .iteration = step}, name,
                {tensor(floats, Dtype::kFloat32, Io::kInput), tensor(brain, Dtype::kBfloat16), tensor(values, Dtype::kFloat32, Io::kOutput, 1)});
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
  EXPECT_NE(added.error().message.find("cannot be added to, only replaced"), std::string::npos) << added.error().message;
  EXPECT_TRUE(replay_tensors(kStatistics, Existing::kReplace));
}

}  // namespace
}  // namespace tensorstat
