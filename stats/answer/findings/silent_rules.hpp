// Rules about faults that leave no NaN: updates that are lost, parameters without a gradient, gradients that stay 0 or
// shrink before the step, modules left in eval mode.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "stats/answer/findings/finding_rules.hpp"
#include "stats/answer/findings/history.hpp"
#include "stats/answer/origin/hints.hpp"

namespace tensorstat {

struct SilentFault {
  FindingRule rule = FindingRule::kStuck;
  const HistorySeries* series = nullptr;
  std::uint64_t first_iteration = 0;
  double value = 0;
  std::string text;
};

// By place of the history: a gradient of smaller absmax is rounding noise, 2^-20 of the largest of its step.
std::vector<double> noise_of_steps(const History& history);

// The parameters that have noise as gradient in most steps: rank and HistoryTensor::op_name.
std::set<std::pair<std::uint32_t, std::uint32_t>> noisy_parameters(const History& history,
                                                                   const std::vector<double>& noise);

// `limits`: of all rules, by number of the rule. Adds the rules that had something to look at to `judged`. The pointers
// are valid while `history` is not changed.
std::vector<SilentFault> silent_faults(const History& history, const Hints& hints, const std::vector<double>& limits,
                                       const std::vector<double>& noise, std::set<FindingRule>& judged);

}  // namespace tensorstat
