// A condition on one row of statistics, as in --where, --fail-on and alerts.
//
//   rule       = all { "or" all }
//   all        = one { "and" one }
//   one        = ( "not" one | "(" rule ")" | "nan" | "inf" | comparison | differs ) [ "for" N "steps" ]
//   comparison = SUBJECT ( "<" | "<=" | ">" | ">=" | "==" | "!=" ) AMOUNT      if the subject is a number
//              | SUBJECT ( "==" | "!=" | "~" ) TEXT                            if it is a text; ~ is a glob
//   AMOUNT     = NUMBER | [ NUMBER "*" ] ( SUBJECT | WINDOW "(" SUBJECT [ "," N ] ")" )
//   differs    = "differs" "over" GROUP
//   WINDOW     = "median" | "mean" | "max" | "min" | "previous"                past.hpp says what each is
//
// SUBJECT is the name of a statistic ("nan count", nan-count) or of a fact (subject.hpp). NUMBER and TEXT are a word,
// or stand between quotes, ' or ". Numbers of all types are compared exactly; NUMBER * and windows are binary64. NaN
// meets only !=. A missing value meets nothing.
//
// A window is of the tensor's own last N rows, without the row that is judged; previous(x) is previous(x, 1). "for N
// steps" is met if the condition was met in this row and the N - 1 before it. While fewer rows are there, the answer is
// unknown, and so is its negation: an unknown rule is not met. "for N steps" is also unknown if the condition was
// unknown in one of these rows, and refuted in none. Only who sees a run's rows one step after another has earlier
// rows: alerts, top and attach.
//
// differs over GROUP is met if the bits of the tensor are not the same on all ranks of the group that have a replica of
// it: TensorRow::differs_over. It is unknown if they were not compared. Only alerts have it.
//
// nan and inf look at the counts of NaN and of both Inf. In a row without such a count, other statistics decide, such
// as max and l2norm (specials.hpp). As subjects, as in "nan > 10", they are these counts; without them 1 where NaN or
// Inf is seen.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tensorstat/statistics.hpp>
#include <tensorstat/status.hpp>
#include <vector>

#include "stats/data/rules/comparison.hpp"
#include "stats/data/rules/past.hpp"
#include "stats/data/rules/subject.hpp"

namespace tensorstat {

// Whether a rule may ask about earlier rows of the tensor, and about its replicas on other ranks.
enum class Earlier : std::uint8_t { kUnknown, kKept, kKeptWithReplicas };

class Rule {
 public:
  // kInvalid: the message gives the cause and the character.
  static Result<Rule> parse(std::string_view text, About about = About::kTensors, Earlier earlier = Earlier::kUnknown);
  // Parses rules separated by commas, at least one: "nan,inf,absmax > 65504 and dtype == float16".
  static Result<std::vector<Rule>> parse_list(std::string_view text, Earlier earlier = Earlier::kUnknown);
  static Rule nan();
  static Rule inf();

  const std::string& text() const { return text_; }  // as written

  // Whether it asks about earlier rows.
  bool keeps_rows() const { return keeps_rows_; }

  // The statistics that the rule needs, possibly repeated. `with_words` false: without those for the words nan and inf.
  Categories needed(bool with_words = true) const;

  // The subjects that the rule compares, possibly repeated, without the words nan and inf alone.
  std::vector<Subject> subjects() const;

  // A pair meets the words nan and inf if one side has them.
  bool is_met_by(const TensorRow& row) const { return judge(row, nullptr) == Answer::kYes; }

  // An empty memory for one tensor, to be passed with each of its rows in turn.
  RulePast new_past() const;
  // Whether the tensor's next row meets the rule. Adds the row to `past`.
  bool is_met_by(const TensorRow& row, RulePast& past) const;

  // The groups of "differs over GROUP", possibly repeated.
  std::vector<std::string> groups() const;
  // The row's words about replicas, if it meets the rule: "of 3 replicas rank 1 differs in a bit". May be empty.
  std::string words_of_replicas(const TensorRow& row) const;

  // The values by which a row meets the rule: "max is 70000, nan count is 1". Empty if only texts decide.
  std::string evidence(const TensorRow& row) const;

  // A hint for a rule that no row met: == with a glob, or ~ without one, is probably a mistake. Empty: no hint.
  std::string advice() const;

 private:
  enum class Kind : std::uint8_t { kAny, kAll, kNot, kFor, kCounts, kNumber, kText, kGlob, kDiffers };
  enum class Answer : std::uint8_t { kNo, kUnknown, kYes };
  class Parser;

  // The right side of a comparison, if it is not a number.
  struct Other {
    Subject subject;
    std::optional<double> factor;
    std::optional<std::size_t> window;  // its index in RulePast::windows
  };

  explicit Rule(Kind kind) : kind_(kind) {}
  static Rule word(std::string_view text, Categories counts);

  // All parts that keep earlier rows are judged, so that they see each row; nullptr: nothing is kept, and earlier rows
  // are unknown.
  Answer judge(const TensorRow& row, RulePast* past) const;
  Answer judge_parts(const TensorRow& row, RulePast* past) const;
  Answer judge_number(const TensorRow& row, RulePast* past) const;
  // For kCounts: the statistic by which the rule is met.
  std::optional<Category> met_count(const StatisticsView& statistics) const;
  void add_evidence(const TensorRow& row, std::string& text) const;

  Kind kind_;
  std::string text_;         // the text of the whole rule
  std::vector<Rule> parts_;  // for kAny, kAll, kNot and kFor
  Categories counts_;        // for kCounts: the count of NaN, or those of -Inf and Inf
  Subject subject_ = Category::kCount;
  Comparison comparison_ = Comparison::kAbove;
  Bound bound_;
  std::optional<Other> other_;  // takes the place of bound_
  std::string wanted_;          // a text, a glob or a group
  std::size_t steps_ = 0;       // for kFor, with the index in RulePast::in_a_row
  std::size_t row_count_at_ = 0;
  bool keeps_rows_ = false;  // a window or "for N steps" is in it

  // For the whole rule: the contents of a new RulePast.
  std::vector<Window> windows_;
  std::size_t for_count_ = 0;
};

}  // namespace tensorstat
