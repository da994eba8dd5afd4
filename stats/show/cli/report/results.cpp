#include "stats/show/cli/report/results.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "stats/data/text/natural_order.hpp"

namespace tensorstat::cli {
namespace {

// Sorts NaN first, because users look for it, then numbers in descending order, then missing values.
bool greatest_first(const Value& a, const Value& b) {
  const auto group = [](const Value& value) {
    const auto* real = std::get_if<double>(&value);
    return real && std::isnan(*real) ? 0 : std::holds_alternative<std::monostate>(value) ? 2 : 1;
  };
  if (group(a) != group(b)) return group(a) < group(b);
  return holds(order_of(a, b), Comparison::kAbove);
}

// A counter of steps, or the state of a random generator: its values are not weights.
bool is_bookkeeping(const TensorRow& entry) {
  const std::string name = entry.label();
  if (entry.row.data_type == "uint8") return name.find("rng") != name.npos;
  constexpr std::string_view kCounters[] = {"step", "num_batches_tracked"};
  const std::string_view last = std::string_view(name).substr(name.find_last_of(".:/") + 1);
  return (entry.row.shape.empty() || entry.row.shape == Shape{1}) && std::ranges::count(kCounters, last) != 0;
}

}  // namespace

bool comes_before(const TensorRow& a, const TensorRow& b, const Sort& sort) {
  const TensorRow &first = sort.is_reversed ? b : a, &second = sort.is_reversed ? a : b;
  if (!is_text(sort.subject) && is_bookkeeping(a) != is_bookkeeping(b)) return is_bookkeeping(b);
  if (is_text(sort.subject)) return natural_before(text_of(first, sort.subject), text_of(second, sort.subject));
  return greatest_first(number_of(first, sort.subject), number_of(second, sort.subject));
}

Results::Results(const Arguments& arguments, const std::vector<std::string>& files, const Look& look, Console& console,
                 Write write, const Categories& more)
    : arguments_(arguments),
      console_(console),
      write_(std::move(write)),
      request_(arguments.request),
      faults_(arguments.fail_on),
      report_(make_report(arguments, look)),
      alike_(arguments.columns, files) {
  const auto need = [&](Category category) {
    if (!std::ranges::count(request_.categories, category)) request_.categories.push_back(category);
  };
  std::ranges::for_each(faults_.needed(arguments.format == Format::kTable && !arguments.head_only), need);
  if (arguments.where) std::ranges::for_each(arguments.where->needed(), need);
  std::ranges::for_each(more, need);
  if (arguments.sort) {
    std::ranges::for_each(needed_by(arguments.sort->subject), need);
  }
}

Survey::Line Results::line() const {
  const bool is_each_shown = !arguments_.where && !arguments_.sort && !arguments_.top;
  const bool is_whole = request_.categories.size() == arguments_.request.categories.size();
  return is_each_shown && is_whole ? report_->line() : Survey::Line();
}

void Results::begin() { write_(report_->begin()); }

void Results::add(SurveyedTensor&& entry) {
  ++judged_;
  if (arguments_.where && !arguments_.where->is_met_by(entry)) return;
  faults_.add(entry);
  if (arguments_.sort) return hold(std::move(entry));
  if (!arguments_.top || reported_ < *arguments_.top) report(std::move(entry));
}

bool Results::comes_before(const WaitingEntry& a, const WaitingEntry& b) const {
  if (cli::comes_before(a.entry, b.entry, *arguments_.sort)) return true;
  return !cli::comes_before(b.entry, a.entry, *arguments_.sort) && a.number < b.number;
}

void Results::hold(SurveyedTensor&& entry) {
  WaitingEntry result{std::move(entry), {}, arrived_++};
  const auto before = [&](const WaitingEntry& a, const WaitingEntry& b) { return comes_before(a, b); };
  const bool is_full = arguments_.top && held_.size() == *arguments_.top;
  if (is_full && (held_.empty() || !before(result, held_.front()))) return;
  for (const Decision& each : result.entry.placement) {
    result.placement.push_back(
        {each.category, *reasons_.emplace(each.engine).first, *reasons_.emplace(each.reason).first});
  }
  if (is_full) {
    std::ranges::pop_heap(held_, before);
    held_.pop_back();
  }
  held_.push_back(std::move(result));
  std::ranges::push_heap(held_, before);
}

void Results::report(SurveyedTensor&& entry) {
  // The statistics that are measured but not asked for come last. Tables choose among them; the others show all.
  const std::size_t shown_count = arguments_.request.categories.size();
  const bool is_table = arguments_.format == Format::kTable || arguments_.format == Format::kMarkdown;
  if (!is_table) {
    entry.row.statistics.categories.resize(shown_count);
    entry.row.statistics.values.resize(shown_count);
  }
  // rows read from a file have no placement
  entry.placement = entry.placement.first(std::min(shown_count, entry.placement.size()));
  ++reported_;
  write_(report_->add(entry));
  if (arguments_.format == Format::kCsv && alike_.are_met(entry.path, entry.row.identity)) {
    console_.say("rows of different folders are alike; --columns path,rank,iteration tells them apart");
  }
  // A table and JSON contain the explanation. The other formats have no place for it.
  const bool is_beside = arguments_.format == Format::kCsv || arguments_.format == Format::kMarkdown;
  if (arguments_.explain && is_beside) explanation_.add(entry);
}

void Results::end() {
  std::ranges::sort_heap(held_, [&](const WaitingEntry& a, const WaitingEntry& b) { return comes_before(a, b); });
  for (WaitingEntry& result : held_) {
    result.entry.placement = result.placement;
    report(std::move(result.entry));
  }
  held_.clear();
  write_(report_->end());
  for (const std::string& line : explanation_.lines()) console_.say(line);
}

void Results::say_findings(bool knows_specials) const {
  const bool has_summary = arguments_.format == Format::kTable && !arguments_.is_quiet;
  if (arguments_.where && judged_ != 0 && faults_.tensors() == 0 && has_summary) {
    const std::string advice = arguments_.where->advice();
    console_.say("none of " + std::to_string(judged_) + (judged_ == 1 ? " tensor" : " tensors") + " meets --where" +
                 (advice.empty() ? "" : "; ") + advice);
  }
  if (faults_.any()) {
    console_.say(faults_.words());
    for (const std::string& other : faults_.others()) console_.say("  " + other);
  }
  if (has_summary && faults_.tensors() > 1) console_.say(faults_.summary(knows_specials && !arguments_.head_only));
}

}  // namespace tensorstat::cli
