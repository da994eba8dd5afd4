// Replaying a tree of dumped tensors with a config writes the same files as a dump with that config.
#include "stats/job/dump/replay/replay.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "stats/job/dump/replay/dumped_runs.hpp"
#include "tests/support/dump_session.hpp"
#include "tests/support/json_text.hpp"
#include "tests/support/patterns.hpp"

namespace tensorstat {
namespace replay_test {

class Replay : public SessionTest {
 protected:
  // Dumps two iterations of three operators through `session`, with all unusual types.
  void train(DumpSession& session) {
    const std::vector<float> floats{1, -2, NAN}, more{5};
    const std::vector<std::uint16_t> brain{0x3f80, 0xc000, 0x7f80};
    const std::vector<std::uint8_t> packed{0x7f, 0x81}, three{0x7f, 0x01};
    DumpTensor int4 = tensor(three, Dtype::kUint8, Io::kInput, 1);
    int4.stored = Stored::kInt4;
    int4.shape = {3};
    DumpTensor bits = tensor(packed, Dtype::kUint8, Io::kInput, 2);
    bits.stored = Stored::kUint1;
    bits.shape = {16};
    const std::string long_name = "Default/" + std::string(250, 'l') + "-op9";
    for (std::uint64_t step = 0; step < 2; ++step) {
      const DumpPlace place{.rank = 1, .device = 1, .graph = 4, .iteration = step};
      collect(session, place, "Default/net.x/Zed-op1",
              {tensor(floats, Dtype::kFloat32, Io::kInput), int4, bits, tensor(brain, Dtype::kBfloat16)});
      collect(session, place, long_name, {tensor(more, Dtype::kFloat32)});
      collect(session, place, "Default/Add-op3", {tensor(more, Dtype::kFloat32)});
      session.step_end(place);
    }
    session.close();
  }

  DumpCounters replay_with(const std::string& common, Existing existing = Existing::kAppend) {
    const auto counters = try_replay_with(common, existing);
    EXPECT_TRUE(counters) << counters.error().message;
    return counters ? *counters : DumpCounters{};
  }

  Result<DumpCounters> try_replay_with(const std::string& common, Existing existing) {
    auto keys = nlohmann::json{{"saved_data", "statistic"}};
    keys.merge_patch(test::parsed_json(common));
    std::vector<std::string> paths;
    for (const auto& file : files()) {
      if (file.ends_with(".npy")) paths.push_back(folder / file);
    }
    DumpOptions replay_options = options;
    replay_options.path = replayed.path();
    return replay(config_text(keys.dump()), paths, replay_options, existing,
                  {[&](const Error& error) { unreadable.push_back(error.message); }, [](std::size_t, std::size_t) {}});
  }

  // The number of lines of a replayed statistic.csv, with its heading.
  std::size_t lines_of(const std::string& statistic_csv) {
    const std::string text = content_of(replayed / statistic_csv);
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
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
    EXPECT_EQ(content_of(replayed / ("rank_1/ResNet50" + file)), content_of(folder / ("rank_1/Net" + file)));
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
    if (!file.ends_with(".npy") || test::matches(file, ".*/[0-9]+\\.npy")) continue;
    EXPECT_EQ(content_of(replayed / test::replaced(file, "/Net/", "/ResNet50/")), content_of(folder / file)) << file;
    ++compared;
  }
  EXPECT_EQ(compared, 10);
}

TEST_F(Replay, AnOperatorThatRanThreeTimesHasThreeRuns) {
  auto session = open(R"({"saved_data": "full"})");
  const std::vector<float> fine{1, 2}, broken{INFINITY, 2};
  for (const auto* output : {&fine, &broken, &fine}) {
    collect(session, {}, "Default/While-op1",
            {tensor(fine, Dtype::kFloat32, Io::kInput), tensor(*output, Dtype::kFloat32)});
  }
  session.close();
  EXPECT_EQ(replay_with(R"({"net_name": "Overflow", "op_debug_mode": 3})").row_count, 2u) << "of one run of three";
  EXPECT_EQ(replay_with(R"({"net_name": "Net"})").row_count, 6u);
  EXPECT_EQ(content_of(replayed / "rank_0/Net/0/0/statistic.csv"), content_of(folder / "rank_0/Net/0/0/statistic.csv"))
      << "in the order of the runs";
}

TEST_F(Replay, ComplexTensorsThatASessionWroteAreRead) {
  auto session = open(R"({"saved_data": "tensor"})");
  const std::vector<float> single{1, 2, 3, 4, 5, 6};
  const std::vector<double> twice{1, 2};
  auto complex64 = tensor(single, Dtype::kFloat32, Io::kInput);
  complex64.stored = Stored::kComplex64;
  complex64.shape = {3};
  auto complex128 = tensor(twice, Dtype::kFloat64);
  complex128.stored = Stored::kComplex128;
  complex128.shape = {};
  collect(session, {}, "x", {complex64, complex128});
  session.close();
  EXPECT_EQ(replay_with(R"({"saved_data": "tensor", "net_name": "Net"})").file_count, 2u);
  EXPECT_EQ(unreadable, std::vector<std::string>{});
  for (const auto& file : files()) EXPECT_EQ(content_of(replayed / file), content_of(folder / file)) << file;
}

TEST_F(Replay, ASlotBeyond32BitsIsRefusedAndNotCut) {
  auto session = open(R"({"saved_data": "tensor"})");
  train(session);
  const std::string directory = folder / "rank_1/Net/4/0/";
  std::string add;
  for (const auto& file : files()) {
    if (file.find("/4/0/") != file.npos && file.find("Default_Add-op3") != file.npos) add = folder / file;
  }
  std::filesystem::copy(add, directory + "Op.Default_Add-op3.0.0.7.output.4294967296.DefaultFormat.float32.npy");
  EXPECT_EQ(replay_with("{}").row_count, 12u);
  ASSERT_EQ(unreadable.size(), 1u);
  EXPECT_NE(unreadable[0].find("slot 4294967296 is above 4294967295"), std::string::npos) << unreadable[0];
}

TEST_F(Replay, ASecondOneIsRefusedUnlessItIsToldWhatToDo) {
  auto session = open(R"({"saved_data": "tensor"})");
  train(session);
  const std::string csv = "rank_1/ResNet50/4/0/statistic.csv";
  replay_with("{}", Existing::kRefuse);
  const std::string once = content_of(replayed / csv);
  ASSERT_EQ(lines_of(csv), 7u);

  const auto refused = try_replay_with("{}", Existing::kRefuse);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnwritable);
  EXPECT_NE(refused.error().message.find(csv + ": is there already"), std::string::npos) << refused.error().message;
  EXPECT_EQ(content_of(replayed / csv), once);

  const std::string left_by_a_killed_one = replayed / (".replay-" + std::to_string(getpid()) + "/" + csv);
  std::filesystem::create_directories(std::filesystem::path(left_by_a_killed_one).parent_path());
  std::ofstream(left_by_a_killed_one) << "stale\n";
  // And the folder of a process that is still alive.
  const std::string left_by_another = replayed / ".replay-1000000001/x.npy",
                    in_use = replayed / ".replay-1000000002/x.npy";
  for (const std::string& file : {left_by_another, in_use}) {
    std::filesystem::create_directory(std::filesystem::path(file).parent_path());
    std::ofstream(file) << "half of it";
  }
  const int living = ::open((replayed / ".replay-1000000002").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(::flock(living, LOCK_EX | LOCK_NB), 0);
  replay_with("{}", Existing::kReplace);
  EXPECT_EQ(content_of(replayed / csv), once);
  EXPECT_FALSE(std::filesystem::exists(left_by_a_killed_one));
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(left_by_another).parent_path()));
  EXPECT_TRUE(std::filesystem::exists(in_use));
  ::close(living);
  EXPECT_EQ(replay_with(R"({"input_output": 1})", Existing::kReplace).row_count, 6u);
  EXPECT_EQ(lines_of(csv), 4u) << "the old file is gone as a whole";
  replay_with("{}", Existing::kAppend);
  EXPECT_EQ(lines_of(csv), 10u);
}

TEST_F(Replay, TensorsAreReplacedUnderTheNumbersTheyHave) {
  auto session = open(R"({"saved_data": "tensor"})");
  train(session);
  const auto tree = [&] {
    std::map<std::string, std::string> tree;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(replayed.path())) {
      if (entry.is_regular_file()) tree[entry.path()] = content_of(entry.path());
    }
    return tree;
  };
  const char* tensors = R"({"saved_data": "tensor"})";
  replay_with(tensors, Existing::kRefuse);
  const auto once = tree();
  EXPECT_FALSE(try_replay_with(tensors, Existing::kRefuse));
  replay_with(tensors, Existing::kReplace);
  EXPECT_EQ(tree(), once) << "with mapping.csv and the numbers in it";
}

TEST_F(Replay, NeverWritesOverTheTensorsThatItReads) {
  auto session = open(R"({"saved_data": "tensor"})");
  train(session);
  options.path = folder.path();
  const std::string text =
      config_text(R"({"saved_data": "tensor", "net_name": "Net"})", R"({"sample_mode": 1, "sample_num": 1})");
  std::vector<std::string> paths;
  for (const auto& file : files()) paths.push_back(folder / file);
  std::erase_if(paths, [](const std::string& path) { return !path.ends_with(".npy"); });
  const std::string before = content_of(paths[0]);
  for (const Existing existing : {Existing::kRefuse, Existing::kAppend, Existing::kReplace}) {
    const auto refused = replay(text, paths, options, existing, {[](const Error&) {}, [](std::size_t, std::size_t) {}});
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("would write over the tensors that it reads"), std::string::npos);
  }
  EXPECT_EQ(content_of(paths[0]), before);
}

TEST_F(Replay, AMappingThatIsNoFileIsSaid) {
  auto session = open(R"({"saved_data": "tensor"})");
  train(session);
  const std::string mapping = folder / "rank_1/Net/4/0/mapping.csv";
  std::filesystem::remove(mapping);
  ASSERT_EQ(mkfifo(mapping.c_str(), 0600), 0);
  EXPECT_EQ(replay_with("{}").row_count, 12u) << "a pipe that nobody writes is not waited for";
  ASSERT_EQ(unreadable.size(), 1u);
  EXPECT_NE(unreadable[0].find(mapping + ": is no regular file"), std::string::npos) << unreadable[0];
}

TEST_F(Replay, WhatCannotBeReadIsSaidAndTheRestIsDone) {
  auto session = open(R"({"saved_data": "tensor"})");
  train(session);
  const std::string broken = folder / "rank_1/Net/4/0/Op.bad.0.0.5.output.0.DefaultFormat.float32.npy";
  std::ofstream(broken) << "no npy";
  EXPECT_EQ(replay_with("{}").row_count, 12u);
  ASSERT_EQ(unreadable.size(), 1u);
  EXPECT_NE(unreadable[0].find(broken), std::string::npos);
}

}  // namespace replay_test
}  // namespace tensorstat
