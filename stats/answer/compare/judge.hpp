// Whether two rows of statistics say the same.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tensorstat/status.hpp>
#include <vector>

#include "stats/answer/compare/record.hpp"
#include "stats/data/rules/specials.hpp"
#include "stats/data/text/regex.hpp"

namespace tensorstat {

enum class Verdict : std::uint8_t { kEqual, kWithin, kDifferent };
std::string_view name(Verdict verdict);  // "equal"

// How far two values may be apart and be "within": |a - b| <= atol + rtol * scale.
struct Tolerance {
  double rtol = 0, atol = 0;
  bool any_dtype = false;  // dtypes may differ
};

// The tolerance for a dtype, by its name. float16 and bfloat16 have the relative tolerances of msprobe's check of
// single operators (2^-10 and 2^-8). float32 and float64 have 1e-5, because MindSpore's csv has six digits. float8 has
// one step of its mantissa. Other dtypes have none.
Tolerance default_tolerance(std::string_view dtype);

// A file of tolerances, a line each: NAME_PATTERN rtol=1e-3 atol=1e-6 dtype=any. The pattern is a regular expression
// for the whole name. The first line that matches counts; a missing tolerance is 0. A # at the beginning of a line, or
// after a blank, begins a comment.
class Tolerances {
 public:
  static Result<Tolerances> parse(std::string_view text);

  // Takes the place of the defaults where no line matches.
  void set_default(const Tolerance& given) { default_ = given; }
  Tolerance of(std::string_view name, std::string_view dtype) const;

 private:
  struct Line {
    Regex pattern;
    Tolerance tolerance;
  };
  std::vector<Line> lines_;
  std::optional<Tolerance> default_;
};

// The judgement of two rows of one tensor. If they cannot be judged, they are different.
struct Judgement {
  Verdict verdict = Verdict::kEqual;
  // The greatest relative difference of a statistic: infinite where one has no number, as for NaN against a number.
  double difference = 0;
  // For kDifferent, the first statistic that differs, such as "max", or the reason why the rows cannot be compared,
  // such as "shape (2,3) and (3,2)".
  std::string why = {};
};

// The scale of a value is the greater magnitude of the two. The terms of avg cancel, so its scale is at least the root
// mean square, or if that is not known, the greatest magnitude of an element. Counts of NaN and Inf, and `count`, must
// be equal; other counts may differ by rtol times the elements. NaN equals NaN. Equal digests of the same dtype and
// shape are enough. If digests are unequal, bits differ, and the other statistics decide if there are any.
Judgement judge(const Record& a, const RecordRow& in_a, const Record& b, const RecordRow& in_b,
                const Tolerance& tolerance);

}  // namespace tensorstat
