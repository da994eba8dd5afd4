// A tree of dumped tensors replayed through a config leaves what a dump with that config leaves.
#include "stats/dump/replay.hpp"

#include <cmath>
#include <regex>

#include "tests/support/dump_session.hpp"

namespace tensorstat {
namespace {

class Replay : public SessionTest {
 protected:
  // Two iterations of three operators, in every odd type, dumped by `session`.
  void train(DumpSession& session) {
    const std::vector<float> floats{1, -2, NAN}, more{5};
    const std::vector<std::uint16_t> brain{0x3f80, 0xc000, 0x7f80};
    const std::vector<std::uint8_t> packed{0x7f, 0x81};
    DumpTensor int4 = tensor(packed, Dtype::kUint8, Io::kInput, 1);
    int4.stored = Stored::kInt4;
    int4.shape = {4};
    DumpTensor bits = tensor(packed, Dtype::kUint8, Io::kInput, 2);
    bits.stored = Stored::kUint1;
    bits.shape = {16};
    const std::string long_name = "Default/" + std::string(250, 'l') + "-op9";
    for (std::uint64_t step = 0; step < 2; ++step) {
      const DumpPlace place{.rank = 1, .device = 1, .graph = 4, .iteration = step};
      collect(session, place, "Default/net.x/Zed-op1",
              {tensor(floats, Dtype::kFloat32, Io::kInput), int4, bits,
               tensor(brain, Dtype::kBfloat16)});
      collect(session, place, long_name, {tensor(more, Dtype::kFloat32)});
      collect(session, place, "Default/Add-op3", {tensor(more, Dtype::kFloat32)});
      session.step_end(place);
    }
    session.close();
  }

  DumpCounters replay_with(const std::string& common, const std::string& e2e = "{}") {
    auto keys = nlohmann::json{{"saved_data", "statistic"}};
    keys.merge_patch(nlohmann::json::parse(common));
    std::vector<std::string> paths;
    for (const auto& file : files()) {
      if (file.ends_with(".npy")) paths.push_back(folder / file);
    }
    DumpOptions replay_options = options;
    replay_options.path = replayed.path();
    const auto counters = replay(config_text(keys.dump(), e2e), paths, replay_options,
                                 {[&](const Error& error) { unreadable.push_back(error.message); },
                                  [](std::size_t, std::size_t) {}});
    EXPECT_TRUE(counters) << counters.error().message;
    return counters ? *counters : DumpCounters{};
  }

  ScratchFolder replayed;
  std::vector<std::string> unreadable;
  static constexpr const char* kCategories =
      R"("statistic_category": ["max", "min", "count", "nan count", "zero count", "md5", "l2norm"])";
};

TEST_F(Replay, GivesTheRowsThatTheRunItselfWouldHaveWritten) {
  auto session = open(R"({"saved_data": "full", )" + std::string(kCategories) + "}");
  train(session);
  const auto counters = replay_with("{" + std::string(kCategories) + "}");
  EXPECT_EQ(unreadable, std::vector<std::string>{});
  EXPECT_EQ(counters.row_count, 12u);
  for (const char* step : {"0", "1"}) {
    const std::string file = "/4/" + std::string(step) + "/statistic.csv";
    EXPECT_EQ(content_of(replayed / ("rank_1/ResNet50" + file)),
              content_of(folder / ("rank_1/Net" + file)));
  }
}

TEST_F(Replay, FiltersByTheConfig) {
  auto session = open(R"({"saved_data": "tensor"})");
  train(session);
  const struct {
    const char* common;
    std::uint64_t rows;
  } cases[] = {{R"({"iteration": "1"})", 6},
               {R"({"iteration": "2"})", 0},
               {R"({"input_output": 1})", 6},
               {R"({"input_output": 2})", 6},
               {R"({"support_device": [0]})", 0},
               {R"({"dump_mode": 1, "kernels": ["Default/net.x/Zed-op1"]})", 8},
               {R"({"dump_mode": 1, "kernels": ["Default/Add-op3"]})", 2},
               {R"({"dump_mode": 1, "kernels": ["OP"]})", 12},
               {R"({"dump_mode": 1, "kernels": ["net"]})", 0},
               {R"J({"dump_mode": 1, "kernels": ["name-regex(Default/[A-Z].+)"]})J", 2},
               {R"J({"dump_mode": 1, "kernels": ["name-regex(Default/net\\.x/.+)"]})J", 8},
               {R"({"dump_mode": 2})", 12},
               {R"({"op_debug_mode": 3})", 8},
               {R"({"op_debug_mode": 3, "overflow_number": 1})", 4},
               {R"({"initial_iteration": 1, "iteration": "1"})", 6}};
  for (const auto& one : cases) {
    EXPECT_EQ(replay_with(one.common).row_count, one.rows) << one.common;
  }
}

TEST_F(Replay, SavesTensorsAgainWithTheSameBytes) {
  auto session = open(R"({"saved_data": "tensor"})");
  train(session);
  replay_with(R"({"saved_data": "tensor"})");
  int compared = 0;
  for (const auto& file : files()) {
    const std::regex number("/[0-9]+\\.npy$");
    if (!file.ends_with(".npy") || std::regex_search(file, number)) continue;
    EXPECT_EQ(content_of(replayed / std::regex_replace(file, std::regex("/Net/"), "/ResNet50/")),
              content_of(folder / file))
        << file;
    ++compared;
  }
  EXPECT_EQ(compared, 10);
}

TEST_F(Replay, WhatCannotBeReadIsSaidAndTheRestIsDone) {
  auto session = open(R"({"saved_data": "tensor"})");
  train(session);
  const std::string broken =
      folder / "rank_1/Net/4/0/Op.bad.0.0.5.output.0.DefaultFormat.float32.npy";
  std::ofstream(broken) << "no npy";
  EXPECT_EQ(replay_with("{}").row_count, 12u);
  ASSERT_EQ(unreadable.size(), 1u);
  EXPECT_NE(unreadable[0].find(broken), std::string::npos);
}

TEST_F(Replay, PlacesAreReadFromFolders) {
  const auto by_rank = place_of_file("/a/rank_9/net/3/17/x.npy");
  EXPECT_EQ(by_rank.rank, 9u);
  EXPECT_EQ(by_rank.device, 1u);
  EXPECT_EQ(by_rank.graph, 3u);
  EXPECT_EQ(by_rank.iteration, 17u);
  EXPECT_TRUE(place_of_file("/a/rank_9/net/3/constants/x.npy").constants);
  const auto by_step = place_of_file("/a/17/20240131235959/5/net/3/17/x.npy");
  EXPECT_EQ(by_step.device, 5u);
  EXPECT_EQ(by_step.graph, 3u);
  EXPECT_EQ(by_step.iteration, 17u);
  for (const char* path : {"/x.npy", "x.npy", "/a/b/c/d/e/f/x.npy", "/rank_0/net/g/1/x.npy"}) {
    EXPECT_EQ(place_of_file(path).iteration, 0u) << path;
    EXPECT_EQ(place_of_file(path).rank, 0u) << path;
  }
}

}  // namespace
}  // namespace tensorstat
