// --where: which tensors are wanted.
//
//   wanted     = all { "or" all }
//   all        = one { "and" one }
//   one        = "not" one | "(" wanted ")" | "nan" | "inf" | comparison
//   comparison = FIELD ( "<" | "<=" | ">" | ">=" | "==" | "!=" ) NUMBER      of a field that is a number
//              | FIELD ( "==" | "!=" | "~" ) TEXT                            of one that is a text; ~ is a glob
//
// FIELD is the name of a statistic ("nan count", nan-count) or of a fact (field.hpp); NUMBER and TEXT are a word, or
// stand between quotes, ' or ". A number is compared as by --fail-on: exactly, and NaN meets != alone. A value that does
// not exist meets nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stats/cli/condition.hpp"
#include "stats/cli/field.hpp"

namespace tensorstat::cli {

class Where {
 public:
  static Result<Where> parse(std::string_view text);

  // The statistics that have to be measured for it, some perhaps twice. Without `with_words`: but not for the words nan
  // and inf.
  Categories needed(bool with_words = true) const;

  bool is_met_by(const Entry& entry) const;

  // Whether a text with a glob's characters is compared by ==, which takes them as they are.
  bool takes_glob_for_text() const;

 private:
  enum class Kind : std::uint8_t { kAny, kAll, kNot, kWord, kNumber, kText, kGlob };
  struct Parser;

  explicit Where(Kind kind) : kind_(kind) {}
  static Where any_of(std::vector<Condition> conditions);  // of a word

  Kind kind_;
  std::vector<Where> parts_;  // of kAny, kAll and kNot
  std::vector<Condition> conditions_;  // of kWord
  Field field_ = Category::kCount;
  Comparison comparison_ = Comparison::kAbove;
  Bound bound_;
  std::string text_;  // or a glob
};

}  // namespace tensorstat::cli
