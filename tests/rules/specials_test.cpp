// Whether a row shows NaN or Inf has one answer, for every choice of statistics: the words nan and inf, origin, the
// history behind report, and a dump session say the same, and what they say is true of the tensor.
#include "stats/data/rules/specials.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tensorstat/dump.hpp>
#include <tensorstat/meter.hpp>

#include "stats/answer/findings/history.hpp"
#include "stats/answer/origin/verdict.hpp"
#include "stats/data/rules/rule.hpp"

namespace tensorstat {
namespace specials_test {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();

struct Content {
  const char* name;
  std::vector<float> values;
  bool has_nan, has_plus, has_minus;
};
const Content kContents[] = {
    {"finite", {1, -2, 0, 3}, false, false, false},    {"NaN", {1, kNan, -2}, true, false, false},
    {"+Inf", {1, kInf, -2}, false, true, false},       {"-Inf", {1, -kInf, -2}, false, false, true},
    {"both Inf", {kInf, 1, -kInf}, false, true, true}, {"NaN and Inf", {kInf, kNan, 1}, true, true, false},
    {"only NaN", {kNan, kNan}, true, false, false},    {"only -Inf", {-kInf, -kInf}, false, false, true}};

const Category kChoices[] = {Category::kMax,
                             Category::kMin,
                             Category::kAvg,
                             Category::kL2norm,
                             Category::kNanCount,
                             Category::kNegativeInfCount,
                             Category::kPositiveInfCount,
                             Category::kAbsmax,
                             Category::kStd,
                             Category::kFirstNanIndex};

// By the definitions of the statistics, without a look at specials.cpp.
bool shows_nan(const Content& content, const Categories& chosen) {
  const auto has = [&](Category category) { return std::ranges::count(chosen, category) != 0; };
  if (has(Category::kNanCount)) return content.has_nan;
  if (content.has_nan) {
    return has(Category::kMax) || has(Category::kMin) || has(Category::kAvg) || has(Category::kL2norm) ||
           has(Category::kAbsmax) || has(Category::kStd) || has(Category::kFirstNanIndex);
  }
  // These are NaN of Inf. That is told from NaN by a norm, by both extrema, and std by one extremum that is Inf or by
  // avg.
  const bool has_both = content.has_plus && content.has_minus, has_inf = content.has_plus || content.has_minus;
  if (has(Category::kL2norm) || (has_both && has(Category::kMax) && has(Category::kMin))) return false;
  if (has(Category::kAvg)) return has_both;
  const auto is_infinite = [](float value) { return std::isinf(value); };
  const bool is_max = content.has_plus || std::ranges::all_of(content.values, is_infinite),
             is_min = content.has_minus || std::ranges::all_of(content.values, is_infinite);
  if ((is_max && has(Category::kMax)) || (is_min && has(Category::kMin)) || has(Category::kAbsmax)) return false;
  return has(Category::kStd) && has_inf;
}

bool may_show_inf(const Content& content, const Categories& chosen) {
  const auto has = [&](Category category) { return std::ranges::count(chosen, category) != 0; };
  if (has(Category::kNegativeInfCount) && has(Category::kPositiveInfCount))
    return content.has_plus || content.has_minus;
  if (content.has_plus && has(Category::kPositiveInfCount)) return true;
  if (content.has_minus && has(Category::kNegativeInfCount)) return true;
  if (content.has_nan) return false;  // everything else is NaN
  const bool has_extremum = has(Category::kMax) || has(Category::kMin) || has(Category::kAbsmax);
  const bool is_all_minus = content.name == std::string("only -Inf");
  if (content.has_plus && has(Category::kMax)) return true;
  if (content.has_minus && has(Category::kMin)) return true;
  if (is_all_minus && has(Category::kMax)) return true;
  const bool has_inf = content.has_plus || content.has_minus;
  const bool is_counted = has(Category::kPositiveInfCount) || has(Category::kNegativeInfCount);
  if (has_inf && has(Category::kAbsmax)) return true;
  if (has_extremum || is_counted) return false;
  const bool has_one_sign = content.has_plus != content.has_minus;
  return has_inf && (has(Category::kL2norm) || (has(Category::kAvg) && has_one_sign));
}

class SpecialsOfRows : public testing::Test {
 protected:
  Statistics measured(const Content& content, const Categories& chosen) {
    const Tensor tensor{
        .dtype = Dtype::kFloat32, .element_count = content.values.size(), .address = content.values.data()};
    const auto measurements = meter_.measure({&tensor, 1}, {.categories = chosen});
    EXPECT_TRUE(measurements) << measurements.error().message;
    return Statistics((*measurements)[0].statistics);
  }

  Meter meter_;
};

TEST_F(SpecialsOfRows, HaveOneAnswerForEveryChoiceOfStatistics) {
  for (std::uint32_t choice = 1; choice < 1u << std::size(kChoices); ++choice) {
    Categories chosen;
    for (std::size_t i = 0; i < std::size(kChoices); ++i) {
      if ((choice >> i & 1) != 0) chosen.push_back(kChoices[i]);
    }
    std::string names;
    for (const Category category : chosen) names.append(name(category)).append(", ");
    for (const Content& content : kContents) {
      SCOPED_TRACE(std::string(content.name) + " by " + names);
      TensorRow row;
      row.row.data_type = "float32";
      row.row.statistics = measured(content, chosen);
      const bool has_nan = specials_of(row.row.statistics).has_nan(),
                 has_inf = specials_of(row.row.statistics).has_inf();
      EXPECT_EQ(has_nan, shows_nan(content, chosen));
      EXPECT_EQ(has_inf, may_show_inf(content, chosen));

      EXPECT_EQ(Rule::nan().is_met_by(row), has_nan);
      EXPECT_EQ(Rule::inf().is_met_by(row), has_inf);
      EXPECT_EQ(Rule::parse("nan > 0")->is_met_by(row), has_nan);
      EXPECT_EQ(Rule::parse("inf > 0")->is_met_by(row), has_inf);
      EXPECT_EQ(is_fault(row.row.statistics, {.nan_only = true}), has_nan);
      EXPECT_EQ(is_fault(row.row.statistics, {}), has_nan || has_inf);
      History history;
      const HistoryCell cell = history
                                   .add({.op_type = "Op",
                                         .op_name = "a",
                                         .dtype = "float32",
                                         .shape = "(3)",
                                         .place = {},
                                         .statistics = row.row.statistics})
                                   .cells[0];
      EXPECT_EQ(history.has_nan(cell), has_nan);
      EXPECT_EQ(history.has_inf(cell), has_inf);
      if (testing::Test::HasFailure()) return;
    }
  }
}

// The faults that a watch gets when it hands a tensor over: its first_fault and its zoom go by this.
TEST_F(SpecialsOfRows, OfASessionAreThoseOfItsRows) {
  const Category choices[] = {Category::kMax, Category::kMin, Category::kAvg, Category::kL2norm, Category::kNanCount};
  for (std::uint32_t choice = 1; choice < 1u << std::size(choices); ++choice) {
    Categories chosen;
    std::string names;
    for (std::size_t i = 0; i < std::size(choices); ++i) {
      if ((choice >> i & 1) == 0) continue;
      chosen.push_back(choices[i]);
      names.append(names.empty() ? "\"" : ", \"").append(name(choices[i])).append("\"");
    }
    auto session = DumpSession::from_json(
        R"({"common_dump_settings": {"dump_mode": 0, "path": "/tmp", "net_name": "net", "iteration": "all",
            "saved_data": "statistic", "input_output": 0, "kernels": [], "support_device": [0], "statistic_category": [)" +
            names + R"(]}, "e2e_dump_settings": {"enable": true, "trans_flag": true}})",
        {.path = testing::TempDir() + "specials_test"});
    ASSERT_TRUE(session) << session.error().message;
    const DumpOperator* op = session->operator_named("Op", "a");
    for (const Content& content : kContents) {
      std::uint32_t faults = 0;
      const DumpTensor tensor{.tensor = {.dtype = Dtype::kFloat32,
                                         .element_count = content.values.size(),
                                         .address = content.values.data()},
                              .shape = {content.values.size()},
                              .faults = &faults};
      session->collect({}, op, {&tensor, 1});
      ASSERT_NE(faults & DumpTensor::kMeasured, 0u);
      const auto specials = specials_of(measured(content, chosen));
      EXPECT_EQ((faults & DumpTensor::kHasNan) != 0, specials.has_nan()) << content.name << " by " << names;
      EXPECT_EQ((faults & DumpTensor::kHasInf) != 0, specials.has_inf()) << content.name << " by " << names;
    }
  }
}

TEST_F(SpecialsOfRows, OfRowsThatOverflowedAreNone) {
  const auto specials = [](Categories categories, std::vector<Value> values) {
    return specials_of(Statistics(std::move(categories), std::move(values)));
  };
  const double inf = HUGE_VAL;
  EXPECT_FALSE(specials({Category::kMax, Category::kMin, Category::kL2norm}, {1e30, -1e30, inf}).any())
      << "a device adds squares in float32";
  EXPECT_FALSE(specials({Category::kMax, Category::kMin, Category::kAvg}, {1e30, -1e30, inf}).any());
  EXPECT_TRUE(specials({Category::kAvg}, {inf}).has_plus_inf);
  EXPECT_FALSE(specials({Category::kL2norm}, {inf}).has_plus_inf);
  EXPECT_FALSE(specials({Category::kMax, Category::kMin}, {Value(), Value()}).is_nan_known) << "an empty tensor";
}

}  // namespace specials_test
}  // namespace tensorstat
