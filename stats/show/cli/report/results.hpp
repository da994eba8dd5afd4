// Selects, sorts and reports the measured tensors.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "stats/show/cli/options/arguments.hpp"
#include "stats/show/cli/options/columns.hpp"
#include "stats/show/cli/report/fault_count.hpp"
#include "stats/show/cli/report/report.hpp"
#include "stats/show/cli/terminal/console.hpp"

namespace tensorstat::cli {

// Whether a row is shown before another one: what --sort says.
bool comes_before(const TensorRow& a, const TensorRow& b, const Sort& sort);

// For each tensor: applies --where, counts for --fail-on and the summary, sorts by --sort, and reports the first --top.
class Results {
 public:
  using Write = std::function<void(const std::string& text)>;

  // The references must outlive it. `more`: statistics to keep beside those that are shown or that the rules need.
  Results(const Arguments& arguments, const std::vector<std::string>& files, const Look& look, Console& console,
          Write write, const Categories& more = {});

  // The request, with all statistics that have to be measured.
  const Request& request() const { return request_; }

  // Makes the text of a row before it is added, on any thread. Empty if that would be in vain or too early: rows are
  // left out or wait, or the format has no such text.
  Survey::Line line() const;

  void begin();
  void add(SurveyedTensor&& entry);
  void end();

  bool any() const { return judged_ != 0; }         // whether any tensor was measured
  bool any_found() const { return faults_.any(); }  // whether a selected tensor meets --fail-on
  // Writes the last lines to stderr. `knows_specials`: whether NaN and Inf were counted.
  void say_findings(bool knows_specials = true) const;

 private:
  struct WaitingEntry {
    SurveyedTensor entry;
    std::vector<Decision> placement;
    std::uint64_t number;  // in the order of arrival
  };

  bool comes_before(const WaitingEntry& a, const WaitingEntry& b) const;
  void hold(SurveyedTensor&& entry);
  void report(SurveyedTensor&& entry);

  const Arguments& arguments_;
  Console& console_;
  const Write write_;
  Request request_;
  FaultCount faults_;
  const std::unique_ptr<Report> report_;
  AlikeRows alike_;
  Explanation explanation_;
  std::vector<WaitingEntry> held_;  // a heap: the last in the order of --sort is at the front
  std::set<std::string> reasons_;   // the texts that the placements of held_ point to
  std::uint64_t judged_ = 0, arrived_ = 0, reported_ = 0;
};

}  // namespace tensorstat::cli
