#include "stats/answer/compare/judge.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "stats/core/base/printable.hpp"
#include "stats/data/files/io/text_lines.hpp"
#include "stats/data/rules/comparison.hpp"
#include "stats/data/rules/specials.hpp"

namespace tensorstat {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool is_missing(const Value& value) { return std::holds_alternative<std::monostate>(value); }

bool are_equal(const Value& a, const Value& b) {
  if (a == b) return true;
  const auto x = as_double(&a), y = as_double(&b);
  if (!x || !y) return false;
  if (std::isnan(*x) && std::isnan(*y)) return true;
  // An integer that a file holds as a real is that integer. Two integers may be one binary64.
  if (std::holds_alternative<double>(a) || std::holds_alternative<double>(b)) return *x == *y;
  return *order_of(a, b) == 0;
}

// The least scale of an avg, by what else the row says.
double scale_of_terms(const StatisticsView& row, std::uint64_t element_count) {
  const auto magnitude = [&](Category category) {
    const auto number = as_double(row.find(category));
    return number && std::isfinite(*number) ? std::fabs(*number) : 0.0;
  };
  const double norm = magnitude(Category::kL2norm);
  if (norm > 0 && element_count > 0) return norm / std::sqrt(static_cast<double>(element_count));
  return std::max(magnitude(Category::kMax), magnitude(Category::kMin));
}

// |a - b|, exact before it is rounded: integers beyond 2^53 may be one binary64.
double distance(const Value& of_a, const Value& of_b, double a, double b) {
  if (std::holds_alternative<double>(of_a) || std::holds_alternative<double>(of_b)) return std::fabs(a - b);
  const auto bits = [](const Value& value) {
    const auto* whole = std::get_if<std::uint64_t>(&value);
    return whole ? *whole : static_cast<std::uint64_t>(std::get<std::int64_t>(value));
  };
  const bool is_ascending = *order_of(of_a, of_b) < 0;
  return static_cast<double>(is_ascending ? bits(of_b) - bits(of_a) : bits(of_a) - bits(of_b));
}

// Whether two different contents practically never share it. Words that are equal in pairs leave nothing of an xor64,
// so all tensors of one value and an even count share it.
bool tells_contents(const Digest& digest) { return digest.bytes().size() > 8; }

struct Sides {
  StatisticsView a, b;
  std::uint64_t element_count;
};

// How far the values are apart in units of their scale, and whether that is within the tolerance.
std::pair<double, bool> apart(Category category, const Value& of_a, const Value& of_b, const Sides& sides,
                              const Tolerance& tolerance) {
  const auto a = as_double(&of_a), b = as_double(&of_b);
  if (!a || !b || !std::isfinite(*a) || !std::isfinite(*b)) return {kInfinity, false};
  const double difference = distance(of_a, of_b, *a, *b);
  if (kind(category) == ValueKind::kCount) {
    const double relative = difference / static_cast<double>(std::max<std::uint64_t>(sides.element_count, 1));
    const bool is_exact = category == Category::kCount || counts_specials(category);
    return {relative, !is_exact && relative <= tolerance.rtol};
  }
  double scale = std::max(std::fabs(*a), std::fabs(*b));
  if (category == Category::kAvg) {
    scale =
        std::max({scale, scale_of_terms(sides.a, sides.element_count), scale_of_terms(sides.b, sides.element_count)});
  }
  return {difference / scale, difference <= tolerance.atol + tolerance.rtol * scale};
}

std::string both(const char* what, std::string_view a, std::string_view b) {
  return std::string(what) + " " + shown(a, 100) + " and " + shown(b, 100);
}

// A word of a line: its name and its number.
Status set_bound(std::string_view word, Tolerance& tolerance) {
  const auto number_after = [&](std::string_view name, double& number) {
    if (!word.starts_with(name)) return false;
    const std::string_view digits = word.substr(name.size());
    const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return fault == std::errc() && end == digits.data() + digits.size() && std::isfinite(number) && number >= 0;
  };
  if (word == "dtype=any") {
    tolerance.any_dtype = true;
    return {};
  }
  if (number_after("rtol=", tolerance.rtol) || number_after("atol=", tolerance.atol)) return {};
  return Error{Code::kInvalid, "\"" + shown(word) + "\" is none of rtol=NUMBER, atol=NUMBER and dtype=any"};
}

}  // namespace

std::string_view name(Verdict verdict) {
  constexpr std::string_view kNames[] = {"equal", "within", "different"};
  return kNames[static_cast<int>(verdict)];
}

Tolerance default_tolerance(std::string_view dtype) {
  struct Default {
    std::string_view dtype;
    double rtol;
  };
  constexpr Default kDefaults[] = {{"float64", 1e-5},          {"float32", 1e-5},           {"float16", 0x1p-10},
                                   {"bfloat16", 0x1p-8},       {"complex64", 1e-5},         {"complex128", 1e-5},
                                   {"float8_e4m3fn", 0x1p-3},  {"float8_e4m3fnuz", 0x1p-3}, {"float8_e5m2", 0x1p-2},
                                   {"float8_e5m2fnuz", 0x1p-2}};
  for (const Default& row : kDefaults) {
    if (row.dtype == dtype) return {.rtol = row.rtol};
  }
  return {};
}

Result<Tolerances> Tolerances::parse(std::string_view text) {
  constexpr std::size_t kMostLines = 10'000;
  Tolerances tolerances;
  Status read = for_each_line(text, [&](std::string_view line) -> Status {
    if (tolerances.lines_.size() == kMostLines) return Error{Code::kInvalid, "there are more than 10,000 patterns"};
    auto pattern = Regex::compile(take_word(line));
    if (!pattern) return Error{Code::kInvalid, pattern.error().message};
    Tolerance tolerance;
    for (std::string_view word = take_word(line); !word.empty(); word = take_word(line)) {
      if (Status set = set_bound(word, tolerance); !set) return set;
    }
    tolerances.lines_.push_back({*std::move(pattern), tolerance});
    return {};
  });
  if (!read) return read.error();
  return tolerances;
}

Tolerance Tolerances::of(std::string_view name, std::string_view dtype) const {
  for (const Line& line : lines_) {
    if (line.pattern.matches(name)) return line.tolerance;
  }
  return default_ ? *default_ : default_tolerance(dtype);
}

Judgement judge(const Record& a, const RecordRow& in_a, const Record& b, const RecordRow& in_b,
                const Tolerance& tolerance) {
  const std::string_view shape_a = a.texts()[in_a.shape], shape_b = b.texts()[in_b.shape];
  const std::string_view dtype_a = a.texts()[in_a.dtype], dtype_b = b.texts()[in_b.dtype];
  if (shape_a != shape_b) return {Verdict::kDifferent, kInfinity, both("shape", shape_a, shape_b)};
  const bool is_same_dtype = dtype_a == dtype_b;
  if (!is_same_dtype && !tolerance.any_dtype) return {Verdict::kDifferent, kInfinity, both("dtype", dtype_a, dtype_b)};

  const Sides sides{a.statistics(in_a), b.statistics(in_b), in_a.element_count};
  Judgement judgement;
  bool is_judged = false, has_same_digest = false, has_other_digest = false, has_other_place = false;
  for (std::size_t i = 0; i < sides.a.categories.size(); ++i) {
    const Category category = sides.a.categories[i];
    const Value& of_a = sides.a.values[i];
    const Value* of_b = sides.b.find(category);
    if (of_b == nullptr || (is_missing(of_a) && is_missing(*of_b))) continue;
    if (kind(category) == ValueKind::kIndex || kind(category) == ValueKind::kList) {
      has_other_place |= of_a != *of_b;  // elements within the tolerance may change places, and binades
      continue;
    }
    if (kind(category) == ValueKind::kDigest) {
      if (!is_same_dtype || is_missing(of_a) || is_missing(*of_b)) continue;
      const bool is_same = of_a == *of_b;
      if (is_same && tells_contents(std::get<Digest>(of_a))) return {};
      (is_same ? has_same_digest : has_other_digest) = true;
      continue;
    }
    is_judged = true;
    if (are_equal(of_a, *of_b)) continue;
    const auto [difference, is_within] = apart(category, of_a, *of_b, sides, tolerance);
    judgement.difference = std::max(judgement.difference, difference);
    if (judgement.verdict == Verdict::kDifferent) continue;
    judgement.verdict = is_within ? Verdict::kWithin : Verdict::kDifferent;
    if (!is_within) judgement.why = name(category);
  }
  if (judgement.verdict == Verdict::kDifferent) return judgement;
  if (!is_judged && (has_other_digest || !has_same_digest) && in_a.element_count != 0) {
    return {Verdict::kDifferent, kInfinity, has_other_digest ? "digest" : "no statistic is in both"};
  }
  if (has_other_digest || has_other_place) judgement.verdict = std::max(judgement.verdict, Verdict::kWithin);
  return judgement;
}

}  // namespace tensorstat
