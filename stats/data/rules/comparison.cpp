#include "stats/data/rules/comparison.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <compare>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace tensorstat {
namespace {

constexpr Operator kOperators[] = {
    // longer ones first: ">=" starts with ">"
    {">=", Comparison::kNotBelow}, {"<=", Comparison::kNotAbove}, {"==", Comparison::kEqual},
    {"!=", Comparison::kUnequal},  {">", Comparison::kAbove},     {"<", Comparison::kBelow},
};

template <typename Number>
bool parse_whole(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

std::partial_ordering order_of_numbers(double a, double b) { return a <=> b; }

// Exact: if the integral part of `b` is in the range of Whole, it is compared as an integer.
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
requires std::is_integral_v<A> && std::is_integral_v<B> std::partial_ordering order_of_numbers(A a, B b) {
  if (std::cmp_less(a, b)) return std::partial_ordering::less;
  return std::cmp_equal(a, b) ? std::partial_ordering::equivalent : std::partial_ordering::greater;
}

template <typename T>
constexpr bool kIsNumber = std::is_arithmetic_v<T>;

// Converts a text that parse_whole takes as a finite binary64: -12.50e3.
Decimal decimal_from(std::string_view text) {
  Decimal number;
  number.is_negative = text.starts_with('-');
  if (number.is_negative) text.remove_prefix(1);
  const std::size_t e = std::min(text.find_first_of("eE"), text.size());
  std::string_view exponent = text.substr(std::min(e + 1, text.size()));
  if (exponent.starts_with('+')) exponent.remove_prefix(1);
  std::int64_t power = 0;
  parse_whole(exponent, power);  // fits: binary64 took it, or every digit is 0
  const std::string_view mantissa = text.substr(0, e);
  const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
  number.digits = std::string(mantissa.substr(0, point)).append(mantissa.substr(std::min(point + 1, mantissa.size())));
  const std::size_t zeros = std::min(number.digits.find_first_not_of('0'), number.digits.size());
  number.digits.erase(0, zeros);
  number.digits.erase(number.digits.find_last_not_of('0') + 1);
  if (number.digits.empty()) return {};
  number.point = static_cast<std::int64_t>(point) - static_cast<std::int64_t>(zeros) + power;
  return number;
}

}  // namespace

Decimal Decimal::of(std::uint64_t number) { return decimal_from(std::to_string(number)); }
Decimal Decimal::of(std::int64_t number) { return decimal_from(std::to_string(number)); }

std::strong_ordering operator<=>(const Decimal& a, const Decimal& b) {
  const auto sign = [](const Decimal& number) { return number.digits.empty() ? 0 : number.is_negative ? -1 : 1; };
  if (sign(a) != sign(b) || sign(a) == 0) return sign(a) <=> sign(b);
  const auto magnitude = a.point != b.point ? a.point <=> b.point : a.digits <=> b.digits;
  return sign(a) > 0 ? magnitude : 0 <=> magnitude;
}

const Operator* operator_at(std::string_view text) {
  const auto* entry =
      std::ranges::find_if(kOperators, [&](const Operator& each) { return text.starts_with(each.text); });
  return entry == std::end(kOperators) ? nullptr : entry;
}

// A whole number that fits 64 bits stays an integer, also if written with .000: binary64 cannot represent all of them.
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

Bound bound_from(std::string_view text) {
  Bound bound{number_from(text)};
  const auto* real = std::get_if<double>(&bound.nearest);
  if (real != nullptr && std::isfinite(*real)) bound.exact = decimal_from(text);
  return bound;
}

std::optional<double> as_double(const Value& value) {
  return std::visit(
      []<typename T>(const T& number) -> std::optional<double> {
        if constexpr (kIsNumber<T>) return static_cast<double>(number);
        return std::nullopt;
      },
      value);
}

std::optional<std::partial_ordering> order_of(const Value& a, const Bound& b) {
  if (b.exact) {
    if (const auto* count = std::get_if<std::uint64_t>(&a)) return Decimal::of(*count) <=> *b.exact;
    if (const auto* whole = std::get_if<std::int64_t>(&a)) return Decimal::of(*whole) <=> *b.exact;
  }
  return order_of(a, b.nearest);
}

std::optional<std::partial_ordering> order_of(const Value& a, const Value& b) {
  // Most statistics: std::visit takes longer.
  const auto *const real_a = std::get_if<double>(&a), *const real_b = std::get_if<double>(&b);
  if (real_a != nullptr && real_b != nullptr) return *real_a <=> *real_b;
  return std::visit(
      []<typename A, typename B>(const A& x, const B& y) -> std::optional<std::partial_ordering> {
        if constexpr (kIsNumber<A> && kIsNumber<B>) return order_of_numbers(x, y);
        return std::nullopt;
      },
      a, b);
}

Value greater_size(const Value& a, const Value& b) {
  const auto size = []<typename T>(const T& x) -> Value {
    if constexpr (std::is_same_v<T, double>) return std::fabs(x);
    if constexpr (std::is_same_v<T, std::int64_t>) {
      return x < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(x) : static_cast<std::uint64_t>(x);
    }
    if constexpr (std::is_same_v<T, std::uint64_t>) return x;
    return {};
  };
  const Value of_a = std::visit(size, a), of_b = std::visit(size, b);
  if (const auto* real = std::get_if<double>(&of_a); real != nullptr && std::isnan(*real)) return of_a;
  const auto order = order_of(of_a, of_b);
  if (!order) return {};
  return *order > 0 ? of_a : of_b;  // b, if b is NaN
}

void add_absmax(Statistics& statistics) {
  const Value *max = statistics.find(Category::kMax), *min = statistics.find(Category::kMin);
  if (max == nullptr || min == nullptr || statistics.find(Category::kAbsmax) != nullptr) return;
  Value absmax = greater_size(*max, *min);
  statistics.categories.push_back(Category::kAbsmax);
  statistics.values.push_back(std::move(absmax));
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

}  // namespace tensorstat
