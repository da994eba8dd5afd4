// From the tensors that were measured to those that are reported.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "stats/cli/options/arguments.hpp"
#include "stats/cli/options/columns.hpp"
#include "stats/cli/report/console.hpp"
#include "stats/cli/report/findings.hpp"
#include "stats/cli/report/report.hpp"

namespace tensorstat::cli {

// Takes each tensor, leaves out what --where does not want, counts what --fail-on and the summary want counted, puts
// the others in the order of --sort, and has the first of them reported, as many as --top says.
class Results {
 public:
  using Write = std::function<void(const std::string& text)>;

  // `more`: statistics to keep beside those that are shown or asked about.
  Results(const Arguments& arguments, const std::vector<std::string>& files, const Look& look, Console& console,
          Write write, const Categories& more = {});

  // With everything that has to be measured beside what is shown.
  const Request& request() const { return request_; }

  void begin();
  void add(SurveyedTensor&& entry);
  void end();

  bool any() const { return judged_ != 0; }           // whether a tensor was measured
  bool any_found() const { return findings_.any(); }  // whether one that is wanted meets --fail-on
  // The last lines on stderr. `knows_specials`: whether NaN and Inf are counted.
  void say_findings(bool knows_specials = true) const;

 private:
  struct Held {
    SurveyedTensor entry;
    std::vector<Decision> placement;
    std::uint64_t number;  // in the order of arrival
  };

  bool comes_before(const Held& a, const Held& b) const;
  void hold(SurveyedTensor&& entry);
  void report(SurveyedTensor&& entry);

  const Arguments& arguments_;
  Console& console_;
  const Write write_;
  Request request_;
  Findings findings_;
  const std::unique_ptr<Report> report_;
  AlikeRows alike_;
  Explanation explanation_;
  std::vector<Held> held_;         // a heap, the last of them at its front
  std::set<std::string> reasons_;  // that the placement of those held sees
  std::uint64_t judged_ = 0, arrived_ = 0, reported_ = 0;
};

}  // namespace tensorstat::cli
