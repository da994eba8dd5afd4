#include "stats/answer/origin/run_facts.hpp"

#include "stats/data/rules/specials.hpp"

namespace tensorstat {

void RunFactsReader::add(std::string_view op_type, std::string_view op_name, bool is_input, bool is_of_file,
                         std::uint64_t iteration) {
  if (facts_.row_count++ == 0 || iteration != last_iteration_) iterations_.insert(iteration);
  last_iteration_ = iteration;
  // The rows of one call come one after another.
  if (facts_.row_count == 1 || op_type != last_type_ || op_name != last_name_) {
    last_type_ = op_type;
    last_name_ = op_name;
    last_kind_ = row_kind(op_type);
    // A checkpoint may have names that look like names of calls.
    if (!shown_) shown_ = form_shown_by(op_type, op_name, !is_of_file || op_type != "Tensor");
  }
  facts_.has_loss |= last_kind_ == RowKind::kLoss;
  if (last_kind_ != RowKind::kParameter) return;
  facts_.has_parameters = true;
  facts_.has_written |= !is_input;
}

void RunFactsReader::add(const StatisticsView& statistics) {
  if (facts_.tells) return;
  const Specials specials = specials_of(statistics);
  facts_.tells = specials.is_nan_known || specials.is_inf_known;
}

RunFacts RunFactsReader::facts(const Hints& hints) const {
  RunFacts facts = facts_;
  facts.iteration_count = iterations_.size();
  facts.form = hints.are_launches()  ? Form::kLaunches
               : hints.is_of_watch() ? Form::kWatch
                                     : shown_.value_or(Form::kGraph);
  return facts;
}

RunFacts facts_of(const Record& record, const Hints& hints) {
  RunFactsReader reader;
  for (const RecordRow& row : record.rows()) {
    reader.add(record.texts()[row.op_type], record.texts()[row.name], row.is_input, !record.texts()[row.file].empty(),
               row.iteration);
    reader.add(record.statistics(row));
  }
  return reader.facts(hints);
}

}  // namespace tensorstat
