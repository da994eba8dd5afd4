// Rules that are asked of a run's rows one after another, also about earlier rows of the same tensor.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "stats/data/rules/rule.hpp"

namespace tensorstat {

class RuleSeries {
 public:
  explicit RuleSeries(std::vector<Rule> rules);

  const std::vector<Rule>& rules() const { return rules_; }

  struct Met {
    const Rule* rule;
    std::string evidence;  // "max is 70000"; empty if only texts decided
  };
  // The first rule that the row meets. `tensor` is a name of the row's tensor in all steps. If it has several rows in a
  // step, its n-th row is compared with its n-th rows before. If the steps go back, the run has begun again, and with
  // it the tensor's past.
  std::optional<Met> ask(const TensorRow& row, const std::string& tensor, std::uint64_t step);

 private:
  struct Tensor {
    std::optional<std::uint64_t> step = {};
    std::size_t row_count = 0;                      // in that step
    std::vector<std::vector<RulePast>> pasts = {};  // for each row of a step, for each rule
  };

  std::vector<RulePast>& pasts_of(const std::string& tensor, std::uint64_t step);

  std::vector<Rule> rules_;
  bool keeps_rows_;  // else nothing is kept
  std::map<std::string, Tensor> tensors_;
};

}  // namespace tensorstat
