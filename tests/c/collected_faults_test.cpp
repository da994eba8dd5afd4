// Through C: if a session measures a tensor when it takes it, it reports at once whether the tensor has NaN or Inf.
#include <gtest/gtest.h>
#include <tensorstat/tensorstat.h>

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "tests/support/scratch_folder.hpp"

namespace tensorstat {
namespace collected_faults_test {

TEST(CollectedFaults, WhoHandsTensorsOverIsToldOfNanAndInf) {
  const float values[] = {1, std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity(), 2};
  const ScratchFolder folder;
  const std::pair<std::pair<std::size_t, std::uint64_t>, std::uint32_t> cases[] = {
      {{0, 1}, 0},
      {{0, 2}, TENSORSTAT_HAS_NAN},
      {{2, 2}, TENSORSTAT_HAS_INF},
      {{0, 4}, TENSORSTAT_HAS_NAN | TENSORSTAT_HAS_INF}};
  for (const auto& categories :
       {nlohmann::json{"nan count", "positive inf count", "negative inf count"}, nlohmann::json{"max", "min"}}) {
    const nlohmann::json config = {{"common_dump_settings",
                                    {{"dump_mode", 0},
                                     {"path", folder.path()},
                                     {"net_name", "Net"},
                                     {"iteration", "all"},
                                     {"input_output", 0},
                                     {"kernels", nlohmann::json::array()},
                                     {"support_device", {0}},
                                     {"saved_data", "statistic"},
                                     {"statistic_category", categories}}},
                                   {"e2e_dump_settings", {{"enable", true}}}};
    const tensorstat_session_options options = TENSORSTAT_SESSION_OPTIONS;
    tensorstat_session* session = nullptr;
    ASSERT_EQ(tensorstat_session_from_json(config.dump().c_str(), &options, &session), TENSORSTAT_OK)
        << tensorstat_last_error();
    const tensorstat_operator* const op = tensorstat_operator_named(session, "Op", "x", 0, 0, 0);
    const tensorstat_place place = TENSORSTAT_PLACE;
    for (const auto& [part, wanted] : cases) {
      tensorstat_tensor tensor = TENSORSTAT_TENSOR;
      tensor.dtype = tensorstat_dtype_named("float32");
      tensor.element_count = part.second;
      tensor.address = values + part.first;
      std::uint32_t faults = 0;
      tensorstat_dump_tensor handed = TENSORSTAT_DUMP_TENSOR;
      handed.tensor = &tensor;
      handed.shape = &part.second;
      handed.dimension_count = 1;
      handed.faults = &faults;
      ASSERT_EQ(tensorstat_collect(session, &place, op, &handed, 1, 0), TENSORSTAT_OK) << tensorstat_last_error();
      // If there is a NaN, max and min do not show an Inf.
      const bool is_hidden = categories.size() == 2 && (wanted & TENSORSTAT_HAS_NAN) != 0;
      EXPECT_EQ(faults, TENSORSTAT_MEASURED | (is_hidden ? wanted & ~TENSORSTAT_HAS_INF : wanted));
    }
    tensorstat_session_close(session);
  }
}

}  // namespace collected_faults_test
}  // namespace tensorstat
