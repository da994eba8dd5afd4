#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <tensorstat/statistics.hpp>
#include <type_traits>

#include "stats/core/base/float_environment.hpp"

namespace tensorstat {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

template <typename Number>
std::string digits(Number number) {
  std::array<char, 32> text;  // the longest, -2.2250738585072014e-308, has 24
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr};
}

}  // namespace

Digest::Digest(std::span<const std::byte> bytes) : size_(static_cast<std::uint8_t>(bytes.size())) {
  std::ranges::copy(bytes, bytes_.begin());
}

std::optional<Digest> Digest::from(std::string_view hexadecimal) {
  constexpr std::size_t kSizes[] = {8, 16, 32, 40};
  if (std::ranges::find(kSizes, hexadecimal.size()) == std::end(kSizes)) return std::nullopt;
  std::array<std::byte, 20> bytes{};
  for (std::size_t i = 0; i < hexadecimal.size(); ++i) {
    const std::size_t digit = kDigits.find(hexadecimal[i]);
    if (digit == kDigits.npos) return std::nullopt;
    bytes[i / 2] = bytes[i / 2] << 4 | static_cast<std::byte>(digit);
  }
  return Digest(std::span(bytes).first(hexadecimal.size() / 2));
}

std::string to_string(const Digest& digest) {
  std::string text;
  for (const std::byte byte : digest.bytes()) {
    text += kDigits[std::to_integer<unsigned>(byte) >> 4];
    text += kDigits[std::to_integer<unsigned>(byte) & 15];
  }
  return text;
}

std::string to_string(const Exponents& exponents) {
  std::string text = "zero:" + digits(exponents->zero) + " subnormal:" + digits(exponents->subnormal);
  for (const auto& [exponent, count] : exponents->binades) text += " " + digits(exponent) + ":" + digits(count);
  return text + " inf:" + digits(exponents->inf) + " nan:" + digits(exponents->nan);
}

std::optional<Exponents> Exponents::from(std::string_view text) {
  // Consumes "name:count" and the separator after it.
  const auto number = [&](auto& to) {
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), to);
    if (fault != std::errc{}) return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
  };
  const auto take = [&](std::string_view what) {
    if (!text.starts_with(what)) return false;
    text.remove_prefix(what.size());
    return true;
  };
  ExponentCounts counts;
  if (!take("zero:") || !number(counts.zero) || !take(" subnormal:") || !number(counts.subnormal)) return std::nullopt;
  while (!take(" inf:")) {
    ExponentCounts::Binade binade;
    if (!take(" ") || !number(binade.exponent) || !take(":") || !number(binade.count)) return std::nullopt;
    if (!counts.binades.empty() && binade.exponent <= counts.binades.back().exponent) return std::nullopt;
    counts.binades.push_back(binade);
  }
  if (!number(counts.inf) || !take(" nan:") || !number(counts.nan) || !text.empty()) return std::nullopt;
  return Exponents(std::move(counts));
}

std::string to_string(const Value& value) {
  const FloatEnvironment ieee;
  return std::visit(
      [](const auto& alternative) -> std::string {
        using Alternative = std::remove_cvref_t<decltype(alternative)>;
        if constexpr (std::is_same_v<Alternative, std::monostate>) {
          return "";
        } else if constexpr (std::is_same_v<Alternative, Digest> || std::is_same_v<Alternative, Exponents>) {
          return to_string(alternative);
        } else if constexpr (std::is_same_v<Alternative, double>) {
          return std::isnan(alternative) ? "nan" : digits(alternative);  // to_chars may write "-nan"
        } else {
          return digits(alternative);
        }
      },
      value);
}

const Value* StatisticsView::find(Category category) const {
  const auto entry = std::ranges::find(categories, category);
  return entry == categories.end() ? nullptr : &values[static_cast<std::size_t>(entry - categories.begin())];
}

}  // namespace tensorstat
