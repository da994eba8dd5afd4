#include "stats/show/cli/report/fault_count.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "stats/core/base/printable.hpp"
#include "stats/show/cli/terminal/console.hpp"

namespace tensorstat::cli {
namespace {

// "746 MB": three digits and a unit of a power of 1,000
std::string bytes_text(std::uint64_t bytes) {
  if (bytes < 1000) return std::to_string(bytes) + " bytes";
  double amount = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; amount >= 999.5; amount /= 1000) ++unit;
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, amount, std::chars_format::general, 3).ptr;
  return std::string(digits, end) + " " + "\0kMGTPE"[unit] + "B";
}

}  // namespace

FaultCount::FaultCount(std::vector<Rule> fail_on)
    : fail_on_(std::move(fail_on)), nan_(Rule::nan()), inf_(Rule::inf()) {}

Categories FaultCount::needed(bool with_summary, bool with_words) const {
  Categories categories;
  const auto add = [&](const Rule& rule) {
    const Categories more = rule.needed(with_words);
    categories.insert(categories.end(), more.begin(), more.end());
  };
  std::ranges::for_each(fail_on_.rules(), add);
  if (with_summary) add(nan_), add(inf_);
  return categories;
}

// Uses the time of the dump if the name or the row has it, else the time of the file.
void FaultCount::Group::add(const TensorRow& entry, const std::string& words) {
  const std::uint64_t time_us = entry.row.identity.timestamp_us;
  if (count++ != 0 && time_us >= first_us) return;
  first = words;
  first_us = time_us;
}

void FaultCount::add(const TensorRow& entry, const std::string& tensor, std::uint64_t step) {
  const std::uint64_t time_us = entry.row.identity.timestamp_us;
  if (tensors_ != 0) have_times_ |= time_us != last_us_ || (time_us != 0 && entry.path != last_path_);
  if (entry.path != last_path_) last_path_ = entry.path;
  last_us_ = time_us;
  tensors_ += 1;
  are_rows_ = entry.index.has_value();
  bytes_ += entry.row.data_size_bytes;
  const bool has_nan = nan_.is_met_by(entry), has_inf = inf_.is_met_by(entry);
  with_nan_ += has_nan;
  with_inf_ += has_inf;
  if (has_nan || has_inf) alarming_.add(entry, printable_name(entry.label()));
  const auto met = fail_on_.ask(entry, tensor, step);
  if (!met) return;
  const std::string words = printable_name(entry.label()) + " (" + met->rule->text() +
                            (met->evidence.empty() ? "" : ": " + met->evidence) + ")";
  found_.add(entry, words);
  if (named_.size() <= kMostNames) named_.push_back(words);
}

std::string FaultCount::counted(std::uint64_t count) const {
  return grouped(count) + (are_rows_ ? " row" : " tensor") + (count == 1 ? "" : "s");
}

std::string FaultCount::words() const {
  return counted(found_.count) + (found_.count == 1 ? " meets" : " meet") + " --fail-on" + the_first() + found_.first;
}

std::vector<std::string> FaultCount::others() const {
  std::vector<std::string> others = named_;
  std::erase(others, found_.first);
  others.resize(std::min(others.size(), kMostNames));
  const std::uint64_t unnamed = found_.count - 1 - std::min<std::uint64_t>(found_.count - 1, others.size());
  if (unnamed != 0) others.push_back("and " + grouped(unnamed) + " more: --where lists them");
  return others;
}

std::string FaultCount::the_first() const { return have_times_ ? ", the first in time: " : ", the first: "; }

std::string FaultCount::summary(bool with_specials) const {
  std::string text = counted(tensors_) + ", " + bytes_text(bytes_);
  if (!with_specials) return text;
  if (alarming_.count == 0) return text + ", none with NaN or Inf";
  if (with_nan_ != 0) text += ", " + grouped(with_nan_) + " with NaN";
  if (with_inf_ != 0) text += ", " + grouped(with_inf_) + " with Inf";
  return text + the_first() + alarming_.first;
}

}  // namespace tensorstat::cli
