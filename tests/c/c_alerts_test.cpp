// Through C: alerts call back with a line of alerts.ndjson, save tensors, and say what is wrong in a rule. A caller
// that was built before an option was there has its default.
#include <gtest/gtest.h>
#include <tensorstat/tensorstat.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/config_text.hpp"
#include "tests/support/json_text.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tensorstat {
namespace c_alerts_test {

class CAlerts : public testing::Test {
 protected:
  CAlerts() {
    const nlohmann::json keys = {{"path", folder.path()}, {"net_name", "Net"}, {"saved_data", "statistic"}};
    const tensorstat_session_options with = TENSORSTAT_SESSION_OPTIONS;
    EXPECT_EQ(tensorstat_session_from_json(config_text(keys.dump()).c_str(), &with, &session), TENSORSTAT_OK);
    options.on_alert = [](const char* alert, void* user) {
      static_cast<std::vector<nlohmann::json>*>(user)->push_back(test::parsed_json(alert));
    };
    options.user = &told;
  }
  ~CAlerts() override { tensorstat_session_close(session); }

  // Hands over a step with an input 1.0 and this output.
  std::uint32_t step(std::uint64_t number, float output, const char* differs_over = nullptr) {
    const float values[] = {1, output};
    const std::uint64_t shape[] = {1};
    tensorstat_tensor tensors[] = {TENSORSTAT_TENSOR, TENSORSTAT_TENSOR};
    tensorstat_dump_tensor handed[] = {TENSORSTAT_DUMP_TENSOR, TENSORSTAT_DUMP_TENSOR};
    std::uint32_t faults = 0;
    for (int i = 0; i < 2; ++i) {
      tensors[i].dtype = tensorstat_dtype_named("float32");
      tensors[i].element_count = 1;
      tensors[i].address = &values[i];
      handed[i].tensor = &tensors[i];
      handed[i].shape = shape;
      handed[i].dimension_count = 1;
      handed[i].io = i == 0 ? TENSORSTAT_INPUT : TENSORSTAT_OUTPUT;
    }
    handed[1].faults = &faults;
    handed[1].differs_over = differs_over;
    tensorstat_place place = TENSORSTAT_PLACE;
    place.iteration = number;
    const tensorstat_operator* const op = tensorstat_operator_named(session, "Op", "x", 0, 0, 0);
    EXPECT_EQ(tensorstat_collect(session, &place, op, handed, 2, 0), TENSORSTAT_OK) << tensorstat_last_error();
    tensorstat_step_end(session, &place);
    return faults;
  }

  const ScratchFolder folder;
  tensorstat_session* session = nullptr;
  tensorstat_alert_options options = TENSORSTAT_ALERT_OPTIONS;
  std::vector<nlohmann::json> told;
};

TEST_F(CAlerts, AreLinesOfJson) {
  options.rules = "nan, max > 2 * previous(max)";
  options.keep_steps = 2;
  options.save_tensors = 1;
  ASSERT_EQ(tensorstat_session_set_alerts(session, &options), TENSORSTAT_OK) << tensorstat_last_error();
  EXPECT_EQ(step(0, 2), TENSORSTAT_MEASURED);
  EXPECT_EQ(step(1, 5), TENSORSTAT_MEASURED | TENSORSTAT_IS_OF_ALERT);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(step(2, NAN), TENSORSTAT_MEASURED | TENSORSTAT_HAS_NAN | TENSORSTAT_IS_OF_ALERT);
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0]["condition"], "max > 2 * previous(max)");
  EXPECT_EQ(told[0]["step"], 1);
  EXPECT_EQ(told[0]["value"], 5);
  EXPECT_EQ(told[0]["limit"], 4);
  EXPECT_EQ(told[0]["steps"], (std::vector<int>{0, 1}));
  EXPECT_EQ(told[1]["event"], folder / "event_2");
  ASSERT_EQ(told[1]["saved"].size(), 2u);
  for (const auto& file : told[1]["saved"]) {
    EXPECT_TRUE(std::filesystem::exists(folder / ("event_2/" + file.get<std::string>()))) << file;
  }
  EXPECT_TRUE(told[1]["not_saved"].empty());
}

TEST_F(CAlerts, ReplicasThatDifferAreSaidByTheCaller) {
  options.rules = "differs over dp, differs over tp, differs over dp for 2 steps";
  ASSERT_EQ(tensorstat_session_set_alerts(session, &options), TENSORSTAT_OK) << tensorstat_last_error();
  char groups[16];
  EXPECT_EQ(tensorstat_session_alert_groups(session, groups, sizeof groups), 6u);
  EXPECT_STREQ(groups, "dp\ntp\n");
  step(0, 1, "");
  step(1, 1, "dp: rank 3 differs");
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0]["words"], "rank 3 differs");
}

TEST_F(CAlerts, AWrongRuleIsRefusedWithItsPlace) {
  for (const auto& [rules, words] : std::vector<std::pair<const char*, std::string>>{
           {"nan, max >", "a number should follow 'max >', and the end does; at character 11"},
           {"differs over", "a group of ranks should follow 'differs over', and the end does; at character 13"},
           {"differs from dp", "over and a group of ranks should follow 'differs', and 'from' does; at character 9"}}) {
    options.rules = rules;
    EXPECT_EQ(tensorstat_session_set_alerts(session, &options), TENSORSTAT_INVALID);
    EXPECT_EQ(tensorstat_last_error(), "alerts: " + words);
  }
}

TEST_F(CAlerts, ACallerFromBeforeAnOptionHasItsDefault) {
  options.rules = "nan";
  options.keep_steps = 1;
  options.save_tensors = 77;  // what lies behind such a caller's struct
  options.event_bytes = 0;
  options.size = offsetof(tensorstat_alert_options, save_tensors);
  ASSERT_EQ(tensorstat_session_set_alerts(session, &options), TENSORSTAT_OK) << tensorstat_last_error();
  step(0, NAN);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_TRUE(told[0]["saved"].empty());
  EXPECT_TRUE(std::filesystem::exists(folder / "event_0/rank_0/Net/0/0/statistic.csv"));
}

}  // namespace c_alerts_test
}  // namespace tensorstat
