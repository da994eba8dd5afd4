#include "stats/data/rules/rule.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <utility>

#include "stats/core/base/printable.hpp"
#include "stats/data/rules/facts.hpp"
#include "stats/data/rules/specials.hpp"

namespace tensorstat {
namespace {

const Value kNone;

// number_of(), without a copy of a statistic: alerts ask each row of a training.
const Value& number_at(const TensorRow& row, const Subject& subject, std::optional<Value>& room) {
  const auto* const category = std::get_if<Category>(&subject);
  if (category == nullptr) return room.emplace(number_of(row, subject));
  const Value* const statistic = row.row.statistics.find(*category);
  return statistic != nullptr ? *statistic : kNone;
}

// nullopt of a statistic that was not measured. A fact has a text in each row, which may be empty.
std::optional<std::string> known_text_of(const TensorRow& row, const Subject& subject) {
  FactValue value = value_of(row, subject);
  if (auto* const text = std::get_if<std::string>(&value)) return std::move(*text);
  if (std::holds_alternative<std::monostate>(std::get<Value>(value))) return std::nullopt;
  return to_string(std::get<Value>(value));
}

// The row's line about replicas over a group; nullopt if it does not name the group.
std::optional<std::string_view> words_of_group(const TensorRow& row, std::string_view group) {
  for (std::string_view rest = row.differs_over.value_or(""); !rest.empty();) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (!line.starts_with(group)) continue;
    line.remove_prefix(group.size());
    if (line.empty()) return line;
    if (line.starts_with(": ")) return line.substr(2);
  }
  return std::nullopt;
}

}  // namespace

Rule Rule::word(std::string_view text, Categories counts) {
  Rule word(Kind::kCounts);
  word.text_ = text;
  word.counts_ = std::move(counts);
  return word;
}

Rule Rule::nan() { return word("nan", {Category::kNanCount}); }
Rule Rule::inf() { return word("inf", {Category::kNegativeInfCount, Category::kPositiveInfCount}); }

Categories Rule::needed(bool with_words) const {
  if (kind_ == Kind::kDiffers) return {};
  if (kind_ == Kind::kCounts) return with_words ? counts_ : Categories();
  Categories all;
  const auto add = [&](const Subject& subject) {
    if (!with_words && is_word(subject)) return;
    const Categories more = needed_by(subject);
    all.insert(all.end(), more.begin(), more.end());
  };
  if (parts_.empty()) add(subject_);
  if (other_) add(other_->subject);
  for (const Rule& part : parts_) {
    const Categories more = part.needed(with_words);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

std::vector<Subject> Rule::subjects() const {
  std::vector<Subject> all;
  if (kind_ == Kind::kNumber || kind_ == Kind::kText || kind_ == Kind::kGlob) all.push_back(subject_);
  if (other_) all.push_back(other_->subject);
  for (const Rule& part : parts_) {
    const std::vector<Subject> more = part.subjects();
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

std::vector<std::string> Rule::groups() const {
  std::vector<std::string> all;
  if (kind_ == Kind::kDiffers) all.push_back(wanted_);
  for (const Rule& part : parts_) {
    const std::vector<std::string> more = part.groups();
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

std::string Rule::words_of_replicas(const TensorRow& row) const {
  if (kind_ == Kind::kDiffers) return std::string(words_of_group(row, wanted_).value_or(""));
  for (const Rule& part : parts_) {
    if (std::string words = part.words_of_replicas(row); !words.empty()) return words;
  }
  return {};
}

std::string Rule::advice() const {
  const bool has_wildcard = wanted_.find_first_of("*?[") != wanted_.npos;
  if (kind_ == Kind::kText && comparison_ == Comparison::kEqual && has_wildcard)
    return "== compares whole texts, and ~ takes a glob";
  if (kind_ == Kind::kGlob && !has_wildcard) return "~ wants a glob of the whole text: \"*" + shown(wanted_) + "*\"";
  for (const Rule& part : parts_) {
    if (std::string advice = part.advice(); !advice.empty()) return advice;
  }
  return {};
}

std::optional<Category> Rule::met_count(const StatisticsView& statistics) const {
  const Specials specials = specials_of(statistics);
  return counts_.front() == Category::kNanCount ? specials.nan_by : specials.inf_by;
}

RulePast Rule::new_past() const { return {.windows = windows_, .in_a_row = std::vector<RulePast::InARow>(for_count_)}; }

bool Rule::is_met_by(const TensorRow& row, RulePast& past) const {
  past.met.reset();
  ++past.row_count;
  return judge(row, &past) == Answer::kYes;
}

Rule::Answer Rule::judge(const TensorRow& row, RulePast* past) const {
  const auto answer = [](bool is_met) { return is_met ? Answer::kYes : Answer::kNo; };
  switch (kind_) {
    case Kind::kAny:
    case Kind::kAll:
    case Kind::kNot:
    case Kind::kFor:
      return judge_parts(row, past);
    case Kind::kCounts: {
      const auto met = met_count(row.row.statistics);
      if (met && past != nullptr && !past->met) {
        past->met = {*met, *row.row.statistics.find(*met), std::nullopt};
      }
      return answer(met || (row.paired != nullptr && met_count(row.paired->statistics)));
    }
    case Kind::kNumber:
      return judge_number(row, past);
    case Kind::kText: {
      const auto text = known_text_of(row, subject_);
      return answer(text && (*text == wanted_) == (comparison_ == Comparison::kEqual));
    }
    case Kind::kGlob: {
      const auto text = known_text_of(row, subject_);
      return answer(text && ::fnmatch(wanted_.c_str(), text->c_str(), 0) == 0);
    }
    case Kind::kDiffers:
      return row.differs_over ? answer(words_of_group(row, wanted_).has_value()) : Answer::kUnknown;
  }
  return Answer::kNo;
}

Rule::Answer Rule::judge_parts(const TensorRow& row, RulePast* past) const {
  const bool was_met = past != nullptr && past->met;
  Answer all = Answer::kYes, any = Answer::kNo;
  for (const Rule& part : parts_) {
    const bool is_decided = kind_ == Kind::kAny ? any == Answer::kYes : all == Answer::kNo;
    if (is_decided && !(past != nullptr && part.keeps_rows_)) continue;
    const Answer one = part.judge(row, past);
    all = std::min(all, one);
    any = std::max(any, one);
  }
  Answer answer = kind_ == Kind::kAny ? any : all;
  if (kind_ == Kind::kNot && all != Answer::kUnknown) answer = all == Answer::kYes ? Answer::kNo : Answer::kYes;
  if (kind_ == Kind::kFor) {
    if (past == nullptr) return Answer::kUnknown;
    auto& [met, not_refuted] = past->in_a_row[row_count_at_];
    const auto next = [](std::uint32_t count) { return std::min(count + 1, Window::kMostSteps); };
    met = all == Answer::kYes ? next(met) : 0;
    not_refuted = all != Answer::kNo ? next(not_refuted) : 0;
    const bool is_open = not_refuted >= std::min<std::uint64_t>(steps_, past->row_count);
    answer = met >= steps_ ? Answer::kYes : is_open ? Answer::kUnknown : Answer::kNo;
  }
  // A part that was met does not explain a whole that is not.
  if (past != nullptr && !was_met && (answer != Answer::kYes || kind_ == Kind::kNot)) past->met.reset();
  return answer;
}

Rule::Answer Rule::judge_number(const TensorRow& row, RulePast* past) const {
  std::optional<Value> room, other_room;
  const Value& value = number_at(row, subject_, room);
  std::optional<double> limit;
  bool is_met = false;
  if (!other_) {
    is_met = holds(order_of(value, bound_), comparison_);
    if (past != nullptr && is_met) limit = as_double(bound_.nearest);
  } else if (const Value& now = number_at(row, other_->subject, other_room); !other_->window && !other_->factor) {
    is_met = holds(order_of(value, now), comparison_);
    if (past != nullptr && is_met) limit = as_double(now);
  } else {
    limit = as_double(now);
    if (other_->window) {
      if (past == nullptr) return Answer::kUnknown;
      Window& window = past->windows[*other_->window];
      const auto earlier = window.value();
      if (limit) window.push(*limit);
      if (!earlier) return Answer::kUnknown;
      limit = earlier;
    }
    if (!limit) return Answer::kNo;
    *limit *= other_->factor.value_or(1);
    is_met = holds(order_of(value, Value(*limit)), comparison_);
  }
  if (is_met && past != nullptr && !past->met) past->met = {subject_, value, limit};
  return is_met ? Answer::kYes : Answer::kNo;
}

std::string Rule::evidence(const TensorRow& row) const {
  std::string text;
  add_evidence(row, text);
  return text;
}

void Rule::add_evidence(const TensorRow& row, std::string& text) const {
  if (!is_met_by(row)) return;
  const auto add = [&](std::string_view name, const Value& value) {
    text.append(text.empty() ? "" : ", ").append(name).append(" is ").append(to_string(value));
  };
  if (kind_ == Kind::kCounts) {
    const auto in_a = met_count(row.row.statistics);
    const StatisticsView shown = in_a ? StatisticsView(row.row.statistics) : row.paired->statistics;
    const Category by = in_a ? *in_a : *met_count(shown);
    add(name(by), *shown.find(by));
  } else if (kind_ == Kind::kNumber) {
    add(name_of(subject_), number_of(row, subject_));
  } else if (kind_ != Kind::kNot) {
    for (const Rule& part : parts_) part.add_evidence(row, text);
  }
}

}  // namespace tensorstat
