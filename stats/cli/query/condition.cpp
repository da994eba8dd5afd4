#include "stats/cli/query/condition.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <compare>
#include <optional>
#include <utility>

#include "stats/base/printable.hpp"

namespace tensorstat::cli {
namespace {

constexpr Operator kOperators[] = {  // the longer ones first: >= begins like >
    {">=", Comparison::kNotBelow}, {"<=", Comparison::kNotAbove}, {"==", Comparison::kEqual},
    {"!=", Comparison::kUnequal},  {">", Comparison::kAbove},     {"<", Comparison::kBelow},
};

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

template <typename Number>
bool parse_whole(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

std::partial_ordering order_of_numbers(double a, double b) { return a <=> b; }

// Exact: the whole part of `b` is compared as an integer, where it is in the range of one.
template <typename Whole>
std::partial_ordering order_of_numbers(Whole a, double b) {
  constexpr double kEnd = std::is_signed_v<Whole> ? 0x1p63 : 0x1p64, kBegin = std::is_signed_v<Whole> ? -0x1p63 : 0;
  if (std::isnan(b)) return std::partial_ordering::unordered;
  if (b >= kEnd) return std::partial_ordering::less;
  if (b < kBegin) return std::partial_ordering::greater;
  const double floor = std::floor(b);
  const auto order = a <=> static_cast<Whole>(floor);
  return order == 0 && b > floor ? std::partial_ordering::less : std::partial_ordering(order);
}

template <typename Whole>
std::partial_ordering order_of_numbers(double a, Whole b) {
  return 0 <=> order_of_numbers(b, a);
}

template <typename A, typename B>
  requires std::is_integral_v<A> && std::is_integral_v<B>
std::partial_ordering order_of_numbers(A a, B b) {
  if (std::cmp_less(a, b)) return std::partial_ordering::less;
  return std::cmp_equal(a, b) ? std::partial_ordering::equivalent : std::partial_ordering::greater;
}

template <typename T>
constexpr bool kIsNumber = std::is_arithmetic_v<T>;

}  // namespace

Error invalid(std::string what) { return {Code::kInvalid, std::move(what)}; }

const Operator* operator_at(std::string_view text) {
  const auto* found = std::ranges::find_if(kOperators, [&](const Operator& each) { return text.starts_with(each.text); });
  return found == std::end(kOperators) ? nullptr : found;
}

// A whole number that fits stays one, with .000 behind it, too: binary64 does not hold all of them.
Value number_from(std::string_view text) {
  const std::size_t point = std::min(text.find('.'), text.size());
  const std::string_view whole_part = text.substr(0, point), fraction = text.substr(point);
  const bool is_whole = fraction.size() > 1 && fraction.find_first_not_of('0', 1) == fraction.npos &&
                        !whole_part.empty() &&
                        whole_part.find_first_not_of("0123456789", whole_part[0] == '-') == text.npos;
  if (is_whole && whole_part != "-") text = whole_part;
  std::uint64_t count = 0;
  if (parse_whole(text, count)) return count;
  std::int64_t whole = 0;
  if (parse_whole(text, whole)) return whole;
  double real = 0;
  if (parse_whole(text, real) && !std::isnan(real)) return real;
  return {};
}

std::optional<std::partial_ordering> order_of(const Value& a, const Value& b) {
  return std::visit(
      []<typename A, typename B>(const A& x, const B& y) -> std::optional<std::partial_ordering> {
        if constexpr (kIsNumber<A> && kIsNumber<B>) return order_of_numbers(x, y);
        return std::nullopt;
      },
      a, b);
}

namespace {

Result<Condition> comparison_from(std::string_view text) {
  const std::size_t at = text.find_first_of("<>=!");
  const Operator* const matching = at == text.npos ? nullptr : operator_at(text.substr(at));
  if (matching == nullptr) {
    return invalid(in_quotes(text) +
                   " is neither nan, inf nor a comparison such as absmax>65504, by > >= < <= == or !=");
  }
  const std::string_view name = trimmed(text.substr(0, at)), number = trimmed(text.substr(at + matching->text.size()));
  auto categories = categories_from(name);
  if (!categories) return categories.error();
  if (categories->size() != 1) return invalid(in_quotes(name) + " is not one statistic");
  const Category category = categories->front();
  if (kind(category) == ValueKind::kDigest) return invalid(in_quotes(name) + " is a digest, which no number is like");
  if (kind(category) == ValueKind::kList) return invalid(in_quotes(name) + " is a list, which no number is like");
  const Value bound = number_from(number);
  if (std::holds_alternative<std::monostate>(bound)) {
    const bool is_nan = number == "nan" || number == "-nan";
    return invalid(in_quotes(number) + (is_nan ? " is like no number: say nan alone, or nan-count>0"
                                               : " in " + in_quotes(text) + " is not a number"));
  }
  return Condition{std::string(text), category, matching->comparison, bound, false};
}

Condition counts(std::string_view text, Category category) {
  return {std::string(text), category, Comparison::kAbove, std::uint64_t{0}, true};
}

const Value* known(const StatisticsView& statistics, Category category) {
  const Value* value = statistics.find(category);
  return value != nullptr && *value != Value() ? value : nullptr;
}

// Whether this statistic tells that an element is NaN, -Inf or Inf, whichever `count` counts.
bool tells(Category count, Category category, const Value& value) {
  const auto* real = std::get_if<double>(&value);
  if (real == nullptr) return false;
  if (count == Category::kNanCount) return std::isnan(*real);
  if (count == Category::kPositiveInfCount) return category == Category::kMax && *real == HUGE_VAL;
  return category == Category::kMin && *real == -HUGE_VAL;
}

}  // namespace

std::vector<Condition> nan_conditions() { return {counts("nan", Category::kNanCount)}; }
std::vector<Condition> inf_conditions() {
  return {counts("inf", Category::kNegativeInfCount), counts("inf", Category::kPositiveInfCount)};
}

Result<std::vector<Condition>> conditions_from(std::string_view comma_separated) {
  std::vector<Condition> conditions;
  for (std::string_view rest = comma_separated;;) {
    const std::size_t comma = rest.find(',');
    const std::string_view part = trimmed(rest.substr(0, comma));
    if (part == "nan" || part == "inf") {
      const auto these = part == "nan" ? nan_conditions() : inf_conditions();
      conditions.insert(conditions.end(), these.begin(), these.end());
    } else {
      auto condition = comparison_from(part);
      if (!condition) return condition.error();
      conditions.push_back(*std::move(condition));
    }
    if (comma == rest.npos) return conditions;
    rest.remove_prefix(comma + 1);
  }
}

bool holds(std::optional<std::partial_ordering> order, Comparison comparison) {
  if (!order) return false;
  switch (comparison) {
    case Comparison::kAbove:
      return *order > 0;
    case Comparison::kNotBelow:
      return *order >= 0;
    case Comparison::kBelow:
      return *order < 0;
    case Comparison::kNotAbove:
      return *order <= 0;
    case Comparison::kEqual:
      return *order == 0;
    case Comparison::kUnequal:
      return *order != 0;
  }
  return false;
}

bool meets(const StatisticsView& statistics, const Condition& condition) {
  const Value* value = known(statistics, condition.category);
  if (value != nullptr) return holds(order_of(*value, condition.bound), condition.comparison);
  return condition.is_word && met_by(statistics, condition) != condition.category;
}

Category met_by(const StatisticsView& statistics, const Condition& condition) {
  if (!condition.is_word || known(statistics, condition.category) != nullptr) return condition.category;
  for (const Category category : kTelling) {
    const Value* value = statistics.find(category);
    if (value != nullptr && tells(condition.category, category, *value)) return category;
  }
  return condition.category;
}

}  // namespace tensorstat::cli
