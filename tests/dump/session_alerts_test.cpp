// DumpOptions::alerts: a rule that is met calls on_alert in its step, the event has the rows before it, and
// with save_tensors the tensor that the alert names and the inputs of its operator, to the bit.
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/support/dump_session.hpp"
#include "tests/support/patterns.hpp"

namespace tensorstat {
namespace session_alerts_test {

const float kNan = std::numeric_limits<float>::quiet_NaN();

class SessionAlerts : public SessionTest {
 protected:
  SessionAlerts() {
    options.alerts.on_alert = [this](const Alert& alert) { alerts.push_back(alert); };
  }

  // The bytes behind the header of the alert's only saved file that has `part` in its name.
  std::string saved(const Alert& alert, const std::string& part) {
    std::string bytes;
    for (const std::string& file : alert.saved) {
      if (file.find(part) == file.npos) continue;
      EXPECT_EQ(bytes, "") << part;
      bytes = content_of(alert.folder + "/" + file);
      header = bytes.substr(0, 128);
      bytes.erase(0, 128);
    }
    return bytes;
  }

  std::vector<Alert> alerts;
  std::string header;
};

template <typename T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

TEST_F(SessionAlerts, AreToldInTheirStepWithTheStepsBefore) {
  options.alerts.rules = "nan count > 0, max > 3 * median(max, 2)";
  options.alerts.keep_steps = 2;
  auto session = open(R"({"statistic_category": ["max"]})");
  for (const std::uint64_t step : {0, 1, 2, 3, 4}) {
    const std::vector<float> values{1, step == 3 ? kNan : step == 4 ? 9 : 2};
    collect(session, {.rank = 1, .iteration = step}, "Mul", {tensor(values, Dtype::kFloat32)});
    EXPECT_EQ(alerts.size(), step > 3 ? 1u : 0u) << "an alert is told when its step ends";
    session.step_end({.rank = 1, .iteration = step});
  }
  ASSERT_EQ(alerts.size(), 1u) << "a window with NaN meets nothing";
  const Alert& alert = alerts[0];
  EXPECT_EQ(std::tuple(alert.step, alert.rank, alert.op_name, alert.io), std::tuple(3u, 1u, "Mul", "output"));
  EXPECT_EQ(std::tuple(alert.condition, alert.statistic), std::tuple("nan count > 0", "nan count"));
  EXPECT_EQ(alert.value, Value(std::uint64_t{1}));
  EXPECT_EQ(alert.limit, 0.0);
  ASSERT_EQ(alert.history.size(), 3u);
  EXPECT_EQ(alert.history[0].first, 1u);
  EXPECT_EQ(alert.folder, folder / "event_3");
  EXPECT_TRUE(alert.saved.empty());
  session.close();
  EXPECT_EQ(rows("event_3/rank_1/Net/0/2/statistic.csv").size(), 1u);
  EXPECT_EQ(files(), (std::vector<std::string>{"alerts.ndjson", "event_3/rank_1/Net/0/1/statistic.csv",
                                               "event_3/rank_1/Net/0/2/statistic.csv",
                                               "event_3/rank_1/Net/0/3/statistic.csv", "rank_1/last_steps.ring"}));
}

TEST_F(SessionAlerts, SaveTheTensorAndTheInputsOfItsOperator) {
  options.alerts.rules = "nan and io == output";
  options.alerts.save_tensors = true;
  auto session = open(R"({"input_output": 2})");  // inputs have no row, and are saved nevertheless
  std::vector<std::uint16_t> half{0x3f80, 0xc000};
  std::vector<float> square{1, 2, 3, 4};
  const Strides across{.shape = {2, 2}, .bytes = {4, 8}};
  for (const std::uint64_t step : {0, 1, 2}) {
    const std::vector<float> result{1, step == 0 ? 2 : kNan};
    DumpTensor strided = tensor(square, Dtype::kFloat32, Io::kInput, 1);
    strided.shape = {2, 2};
    strided.tensor.strides = &across;
    std::uint32_t faults = 0;
    DumpTensor output = tensor(result, Dtype::kFloat32);
    output.faults = &faults;
    collect(session, {.iteration = step}, "Before", {tensor(square, Dtype::kFloat32, Io::kInput)});
    collect(session, {.iteration = step}, "Mul", {tensor(half, Dtype::kBfloat16, Io::kInput), strided, output});
    EXPECT_EQ((faults & DumpTensor::kIsOfAlert) != 0, step == 1) << "the same alert is told once";
    EXPECT_EQ(std::filesystem::exists(folder / ("event_" + std::to_string(step))), step == 1)
        << "they are saved before collect() returns, and nothing before";
    session.step_end({.iteration = step});
    if (step == 1) half[0] = 0, square[0] = 0;  // this changes no file
  }
  EXPECT_EQ(session.counters().most_held_bytes, 0u) << "no tensor was copied before";
  session.close();
  ASSERT_EQ(alerts.size(), 1u);
  EXPECT_EQ(alerts[0].folder, folder / "event_1");
  EXPECT_EQ(alerts[0].saved.size(), 3u);
  EXPECT_TRUE(alerts[0].not_saved.empty()) << alerts[0].not_saved[0];
  EXPECT_EQ(saved(alerts[0], ".output.0."), bytes_of(std::vector<float>{1, kNan}));
  EXPECT_EQ(saved(alerts[0], ".input.0.DefaultFormat.bfloat16"), bytes_of(std::vector<float>{1, -2}));
  EXPECT_EQ(saved(alerts[0], ".input.1."), bytes_of(std::vector<float>{1, 3, 2, 4})) << "in C order";
  EXPECT_NE(header.find("'shape': (2,2,)"), std::string::npos) << header;
  EXPECT_EQ(test::replaced(alerts[0].saved[2], "\\.[0-9]{16}\\.", ".T."),
            "rank_0/Net/0/1/Op.Mul.0.0.T.output.0.DefaultFormat.float32.npy");
  EXPECT_EQ(rows("rank_0/Net/0/1/statistic.csv").size(), 1u) << "the dump is what it was without them";
  EXPECT_EQ(session.counters().file_count, 0u);
}

TEST_F(SessionAlerts, InputsMayComeBehindTheAlert) {
  options.alerts.rules = "nan";
  options.alerts.keep_steps = 1;
  options.alerts.save_tensors = true;
  auto session = open();
  const std::vector<float> good{1, 2}, bad{kNan};
  DumpTensor input = tensor(good, Dtype::kFloat32, Io::kInput);
  input.is_for_event = true;
  collect(session, {}, "Mul", {input});  // no alert yet
  collect(session, {}, "Mul", {tensor(bad, Dtype::kFloat32)});
  collect(session, {}, "Other", {input});
  collect(session, {}, "Mul", {input});
  session.step_end({});
  collect(session, {.iteration = 1}, "Mul", {input});
  session.step_end({.iteration = 1});
  session.close();
  ASSERT_EQ(alerts.size(), 1u);
  EXPECT_EQ(alerts[0].saved.size(), 2u);
  EXPECT_EQ(saved(alerts[0], ".input.0."), bytes_of(good));
  EXPECT_EQ(rows("event_0/rank_0/Net/0/0/statistic.csv").size(), 1u) << "it has no row";
  EXPECT_EQ(session.counters().operator_count, 1u);
}

TEST_F(SessionAlerts, ALaterAlertOfTheSameStepLeavesWhatWasSaved) {
  options.alerts.rules = "nan";
  options.alerts.keep_steps = 3;
  options.alerts.save_tensors = true;
  auto session = open();
  const std::vector<float> good{1, 2}, bad{kNan};
  for (const std::uint64_t step : {0, 1, 0}) {  // iterations that begin anew
    for (const std::uint32_t graph : {0, 1, 2}) {
      const DumpPlace place{.graph = graph, .iteration = step};
      const bool is_bad = step == 0 && graph != 2;
      collect(session, place, "Mul" + std::to_string(graph), {tensor(is_bad ? bad : good, Dtype::kFloat32)});
      session.step_end(place);
    }
    EXPECT_EQ(rows("event_0/rank_0/Net/2/0/statistic.csv").size(), 1u)
        << "a graph without an alert belongs to the step";
  }
  session.close();
  ASSERT_EQ(alerts.size(), 4u);
  for (const Alert& alert : alerts) {
    ASSERT_EQ(alert.saved.size(), 1u);
    EXPECT_TRUE(std::filesystem::exists(alert.folder + "/" + alert.saved[0])) << alert.saved[0];
  }
}

TEST_F(SessionAlerts, AStepOfSeveralGraphsIsOneStepBehindAnEvent) {
  options.alerts.rules = "nan";
  options.alerts.keep_steps = 1;
  options.alerts.steps_after = 2;
  auto session = open();
  const std::vector<float> good{1, 2}, bad{kNan};
  for (const std::uint64_t step : {0, 1, 2, 3, 4, 5}) {
    for (const std::uint32_t graph : {0, 1}) {
      const DumpPlace place{.graph = graph, .iteration = step};
      collect(session, place, "Mul", {tensor(step == 1 && graph == 0 ? bad : good, Dtype::kFloat32)});
      session.step_end(place);
    }
  }
  session.close();
  std::string places;
  for (const std::string& file : files()) {
    if (file.starts_with("event_1/") && file.ends_with(".csv")) places += file.substr(19, 4);
  }
  EXPECT_EQ(places, "0/0/0/1/0/2/0/3/1/0/1/1/1/2/1/3/") << "graph and step";
}

TEST_F(SessionAlerts, WhatCannotBeSavedIsSaid) {
  options.alerts.rules = "nan";
  options.alerts.save_tensors = true;
  options.alerts.event_bytes = 300;
  auto session = open();
  const std::vector<float> bad{kNan}, large(100, 1.0f);
  collect(session, {}, "Alone", {tensor(bad, Dtype::kFloat32)});
  session.step_end({});
  collect(session, {.iteration = 1}, "Mul", {tensor(large, Dtype::kFloat32, Io::kInput), tensor(bad, Dtype::kFloat32)});
  session.step_end({.iteration = 1});
  session.close();
  ASSERT_EQ(alerts.size(), 2u);
  EXPECT_EQ(alerts[0].not_saved, std::vector<std::string>{"no input of its operator was handed over"});
  EXPECT_EQ(alerts[1].saved.size(), 1u);
  EXPECT_EQ(alerts[1].not_saved, std::vector<std::string>{"input 0 is not saved: its 528 bytes are beyond the limit of "
                                                          "the event or run"});
  EXPECT_NE(to_sentence(alerts[1]).find(", with 1 saved tensor; input 0 is not saved"), std::string::npos);
}

TEST_F(SessionAlerts, AnEventKeepsToItsLimit) {
  options.alerts.rules = "nan";
  options.alerts.keep_steps = 5;
  options.alerts.event_bytes = 600;  // of rows of some 180 bytes, with a heading
  auto session = open();
  for (const std::uint64_t step : {0, 1, 2, 3}) {
    const std::vector<float> values{step == 3 ? kNan : 1};
    collect(session, {.iteration = step}, "Mul", {tensor(values, Dtype::kFloat32)});
    session.step_end({.iteration = step});
  }
  session.close();
  EXPECT_TRUE(was_said("the event of step 3 is not written as a whole: its limit is 600 bytes, and "));
  std::uint64_t bytes = 0;
  bool has_last = false;
  for (const std::string& file : files()) {
    if (!file.starts_with("event_3/")) continue;
    bytes += content_of(folder / file).size();
    has_last |= file == "event_3/rank_0/Net/0/3/statistic.csv";
  }
  EXPECT_TRUE(has_last) << "the oldest steps are left out";
  EXPECT_GT(bytes, 300u);
  EXPECT_LE(bytes, 600u);
}

TEST_F(SessionAlerts, TheCallerSaysWhichReplicasDiffer) {
  options.alerts.rules =
      "op_name == w and differs over dp, max > 5 or differs over 'all of them' for 2 steps, "
      "not differs over dp and op_name == other";
  auto session = open();
  EXPECT_EQ(session.alert_groups(), (std::vector<std::string>{"dp", "all of them"}));
  const std::vector<float> values{1};
  const std::string_view said_of_w[] = {"", "dpx: no", "all of them\ndp: of 3 replicas rank 1 differs in a bit",
                                        "all of them", "dp"};
  for (std::uint64_t step = 0; step < std::size(said_of_w); ++step) {
    DumpTensor compared = tensor(values, Dtype::kFloat32);
    compared.differs_over = said_of_w[step];
    collect(session, {.iteration = step}, "w", {compared});
    collect(session, {.iteration = step}, "other", {tensor(values, Dtype::kFloat32)});  // was not compared: unknown
    session.step_end({.iteration = step});
  }
  session.close();
  ASSERT_EQ(alerts.size(), 3u);
  EXPECT_EQ(std::tuple(alerts[0].step, alerts[0].words), std::tuple(2u, "of 3 replicas rank 1 differs in a bit"));
  EXPECT_EQ(std::tuple(alerts[1].step, alerts[1].words), std::tuple(3u, ""));
  EXPECT_EQ(std::tuple(alerts[2].step, alerts[2].op_name), std::tuple(4u, "w")) << "it was the same in between";
}

TEST_F(SessionAlerts, ARuleThatNothingCanMeetIsSaid) {
  options.alerts.rules = "differs over dp";
  auto session = open();
  const std::vector<float> values{1};
  collect(session, {}, "w", {tensor(values, Dtype::kFloat32)});
  session.close();
  EXPECT_TRUE(was_said("alerts: 'differs over dp' was never met: no replicas were compared"));
}

}  // namespace session_alerts_test
}  // namespace tensorstat
