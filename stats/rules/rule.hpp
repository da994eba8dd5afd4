// A question about one row of statistics, as --where and --fail-on ask it.
//
//   rule       = all { "or" all }
//   all        = one { "and" one }
//   one        = "not" one | "(" rule ")" | "nan" | "inf" | comparison
//   comparison = SUBJECT ( "<" | "<=" | ">" | ">=" | "==" | "!=" ) NUMBER      of a subject that is a number
//              | SUBJECT ( "==" | "!=" | "~" ) TEXT                            of one that is a text; ~ is a glob
//
// SUBJECT is the name of a statistic ("nan count", nan-count) or of a fact (subject.hpp). NUMBER and TEXT are a word,
// or stand between quotes, ' or ". Numbers are compared exactly, whatever their types. NaN meets != alone, and a value
// that does not exist meets nothing.
//
// nan and inf ask the counts of NaN and of both Inf. Rows that have no such count are asked for a NaN or Inf among
// max, min, avg and l2norm.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tensorstat/statistics.hpp>
#include <tensorstat/status.hpp>
#include <vector>

#include "stats/rules/comparison.hpp"
#include "stats/rules/subject.hpp"

namespace tensorstat {

// The statistics that tell of NaN and Inf in rows without a count of them.
inline constexpr Category kTelling[] = {Category::kMax, Category::kMin, Category::kAvg, Category::kL2norm};

class Rule {
 public:
  // The errors (kInvalid) say what is wrong, and at which character.
  static Result<Rule> parse(std::string_view text);
  // Rules between commas, one at least: "nan,inf,absmax > 65504 and dtype == float16".
  static Result<std::vector<Rule>> parse_list(std::string_view text);
  static Rule nan();
  static Rule inf();

  const std::string& text() const { return text_; }  // as it was written

  // The statistics that have to be known for it, some perhaps twice. Without `with_words`: but not for the words nan
  // and inf.
  Categories needed(bool with_words = true) const;

  bool is_met_by(const TensorRow& row) const;

  // The statistics by which a row meets it, "max is 70000, nan count is 1". Empty where only texts decide.
  std::string evidence(const TensorRow& row) const;

  // Whether a text with a glob's characters is compared by ==, which takes them as they are.
  bool takes_glob_for_text() const;

 private:
  enum class Kind : std::uint8_t { kAny, kAll, kNot, kCounts, kNumber, kText, kGlob };
  class Parser;

  explicit Rule(Kind kind) : kind_(kind) {}
  static Rule word(std::string_view text, Categories counts);

  // The statistic that says of a rule of kind kCounts that it is met; nullptr where none does.
  const Category* met_count(const StatisticsView& statistics) const;
  void add_evidence(const TensorRow& row, std::string& text) const;

  Kind kind_;
  std::string text_;         // of a whole rule
  std::vector<Rule> parts_;  // of kAny, kAll and kNot
  Categories counts_;        // of kCounts: one of them is above 0
  Subject subject_ = Category::kCount;
  Comparison comparison_ = Comparison::kAbove;
  Bound bound_;
  std::string wanted_;  // a text or a glob
};

}  // namespace tensorstat
