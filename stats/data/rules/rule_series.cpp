#include "stats/data/rules/rule_series.hpp"

#include <algorithm>
#include <utility>

namespace tensorstat {

RuleSeries::RuleSeries(std::vector<Rule> rules)
    : rules_(std::move(rules)), keeps_rows_(std::ranges::any_of(rules_, &Rule::keeps_rows)) {}

std::vector<RulePast>& RuleSeries::pasts_of(const std::string& name, std::uint64_t step) {
  Tensor& tensor = tensors_[name];
  if (tensor.step && *tensor.step > step) tensor.pasts.clear();
  if (tensor.step != step) tensor.row_count = 0;
  tensor.step = step;
  if (tensor.row_count == tensor.pasts.size()) {
    std::vector<RulePast> made;
    for (const Rule& rule : rules_) made.push_back(rule.new_past());
    tensor.pasts.push_back(std::move(made));
  }
  return tensor.pasts[tensor.row_count++];
}

std::optional<RuleSeries::Met> RuleSeries::ask(const TensorRow& row, const std::string& tensor, std::uint64_t step) {
  std::optional<Met> met;
  if (!keeps_rows_) {
    const auto rule = std::ranges::find_if(rules_, [&](const Rule& each) { return each.is_met_by(row); });
    if (rule != rules_.end()) met = Met{&*rule, rule->evidence(row)};
    return met;
  }
  std::vector<RulePast>& pasts = pasts_of(tensor, step);
  for (std::size_t i = 0; i < rules_.size(); ++i) {  // each sees every row
    if (!rules_[i].is_met_by(row, pasts[i]) || met) continue;
    met = Met{&rules_[i], {}};
    if (pasts[i].met) met->evidence = name_of(pasts[i].met->subject) + " is " + to_string(pasts[i].met->value);
  }
  return met;
}

}  // namespace tensorstat
