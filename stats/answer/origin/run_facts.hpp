// The facts about all rows of a run that the rules of origin need.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "stats/answer/compare/record.hpp"
#include "stats/answer/origin/hints.hpp"
#include "stats/answer/origin/model.hpp"
#include "stats/data/rows/names/row_kind.hpp"

namespace tensorstat {

struct RunFacts {
  Form form = Form::kGraph;
  bool has_loss = false, has_parameters = false;
  bool has_written = false;  // a parameter has a row behind a step
  bool tells = false;        // some row has a statistic that shows NaN or Inf
  std::uint64_t row_count = 0, iteration_count = 0;
};

// Collects them, row after row.
class RunFactsReader {
 public:
  // `is_of_file`: the row is a tensor of a file.
  void add(std::string_view op_type, std::string_view op_name, bool is_input, bool is_of_file, std::uint64_t iteration);
  void add(const StatisticsView& statistics);  // of the same row
  RunFacts facts(const Hints& hints) const;    // of all rows so far

 private:
  RunFacts facts_;
  std::optional<Form> shown_;  // by the first row that shows one
  std::string last_type_, last_name_;
  RowKind last_kind_ = RowKind::kOfCall;
  std::set<std::uint64_t> iterations_;
  std::uint64_t last_iteration_ = 0;
};

RunFacts facts_of(const Record& record, const Hints& hints);

}  // namespace tensorstat
