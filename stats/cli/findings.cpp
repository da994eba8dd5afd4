#include "stats/cli/findings.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace tensorstat::cli {
namespace {

// 4860 as "4,860"
std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

// "746 MB": three digits of a power of 1,000
std::string bytes_text(std::uint64_t bytes) {
  if (bytes < 1000) return std::to_string(bytes) + " bytes";
  double amount = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; amount >= 999.5; amount /= 1000) ++unit;
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, amount, std::chars_format::general, 3).ptr;
  return std::string(digits, end) + " " + "\0kMGTPE"[unit] + "B";
}

bool meets_any(const StatisticsView& statistics, const std::vector<Condition>& conditions) {
  return std::ranges::any_of(conditions, [&](const Condition& each) { return meets(statistics, each); });
}

}  // namespace

Findings::Findings(std::vector<Condition> conditions)
    : conditions_(std::move(conditions)), nan_(nan_conditions()), inf_(inf_conditions()) {}

Categories Findings::needed(bool with_summary) const {
  Categories categories;
  const auto add = [&](const std::vector<Condition>& conditions) {
    for (const Condition& each : conditions) categories.push_back(each.category);
  };
  add(conditions_);
  if (with_summary) add(nan_), add(inf_);
  return categories;
}

// The time is that of the dump, where the name or the row says it, else that of the file.
void Findings::Group::add(const Entry& entry, const std::string& words) {
  const std::uint64_t time_us = entry.row.identity.timestamp_us;
  if (count++ != 0 && time_us >= first_us) return;
  first = words;
  first_us = time_us;
}

void Findings::add(const Entry& entry) {
  const StatisticsView statistics = entry.row.statistics;
  tensors_ += 1;
  are_rows_ = entry.index.has_value();
  bytes_ += entry.row.data_size_bytes;
  const bool has_nan = meets_any(statistics, nan_), has_inf = meets_any(statistics, inf_);
  with_nan_ += has_nan;
  with_inf_ += has_inf;
  if (has_nan || has_inf) alarming_.add(entry, entry.label());
  const auto met = std::ranges::find_if(conditions_, [&](const Condition& each) { return meets(statistics, each); });
  if (met == conditions_.end()) return;
  found_.add(entry, entry.label() + " (" + met->text + ": " + std::string(name(met->category)) + " is " +
             to_string(*statistics.find(met->category)) + ")");
}

std::string Findings::counted(std::uint64_t count) const {
  return grouped(count) + (are_rows_ ? " row" : " tensor") + (count == 1 ? "" : "s");
}

std::string Findings::words() const {
  return counted(found_.count) + (found_.count == 1 ? " meets" : " meet") + " --fail-on, the first in time: " +
         found_.first;
}

std::string Findings::summary(bool with_specials) const {
  std::string text = counted(tensors_) + ", " + bytes_text(bytes_);
  if (!with_specials) return text;
  if (alarming_.count == 0) return text + ", none with NaN or Inf";
  if (with_nan_ != 0) text += ", " + grouped(with_nan_) + " with NaN";
  if (with_inf_ != 0) text += ", " + grouped(with_inf_) + " with Inf";
  return text + ", the first in time: " + alarming_.first;
}

}  // namespace tensorstat::cli
