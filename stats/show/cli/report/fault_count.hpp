// Counts the faults of tensors, for --fail-on and for the last lines on stderr.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stats/data/rules/rule.hpp"
#include "stats/data/rules/rule_series.hpp"

namespace tensorstat::cli {

// Counts the tensors (or their rows), and those that hold NaN, hold Inf or meet a rule of --fail-on.
class FaultCount {
 public:
  explicit FaultCount(std::vector<Rule> fail_on);

  // The statistics to measure beside the shown ones. `with_summary`: also those for summary(). `with_words`: also those
  // for the words nan and inf.
  Categories needed(bool with_summary, bool with_words = true) const;

  // `tensor` and `step`: of rules that ask about earlier rows (RuleSeries::ask).
  void add(const TensorRow& entry, const std::string& tensor = {}, std::uint64_t step = 0);

  bool any() const { return found_.count != 0; }  // whether a tensor meets a rule of --fail-on
  std::uint64_t tensors() const { return tensors_; }

  // "2 tensors meet --fail-on, the first in time: a.npy (absmax>65504: max is 70000)". Call it only if any().
  std::string words() const;
  // The others that meet one: "b.npy (nan: nan count is 1)", at most kMostNames and then "and 7 more".
  std::vector<std::string> others() const;
  // "4,860 tensors, 746 MB, 1,518 with NaN, 3 with Inf, the first in time: step_12/grad/layer3.weight"
  // Without `with_specials`: "4,860 tensors, 746 MB", because NaN and Inf were not counted.
  std::string summary(bool with_specials) const;

 private:
  struct Group {
    std::uint64_t count = 0;
    std::string first;  // the earliest; of equal times, the one added first
    std::uint64_t first_us = 0;
    void add(const TensorRow& entry, const std::string& words);
  };

  std::string counted(std::uint64_t count) const;  // "4,860 tensors"
  std::string the_first() const;                   // ", the first in time: "; ", the first: " if no times are known

  RuleSeries fail_on_;
  const Rule nan_, inf_;
  std::uint64_t tensors_ = 0, bytes_ = 0, with_nan_ = 0, with_inf_ = 0;
  bool are_rows_ = false;    // rows of tensors, by --by
  bool have_times_ = false;  // the tensors come from several files, or have several times
  std::string last_path_;
  std::uint64_t last_us_ = 0;
  static constexpr std::size_t kMostNames = 100;
  std::vector<std::string> named_;  // the first of those that meet a rule
  Group found_, alarming_;          // alarming_: tensors with NaN, Inf or both
};

}  // namespace tensorstat::cli
