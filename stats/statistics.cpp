#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <tensorstat/statistics.hpp>
#include <type_traits>

namespace tensorstat {
namespace {

template <typename Number>
std::string digits(Number number) {
  std::array<char, 32> text;  // the longest, -2.2250738585072014e-308, has 24
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr};
}

}  // namespace

std::string to_string(const Value& value) {
  return std::visit(
      [](const auto& held) -> std::string {
        using Held = std::remove_cvref_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, std::monostate>) {
          return "";
        } else if constexpr (std::is_same_v<Held, std::string>) {
          return held;
        } else if constexpr (std::is_same_v<Held, double>) {
          return std::isnan(held) ? "nan" : digits(held);  // to_chars would write "-nan" too
        } else {
          return digits(held);
        }
      },
      value);
}

const Value* Statistics::find(Category category) const {
  const auto found = std::ranges::find(categories, category);
  return found == categories.end() ? nullptr : &values[found - categories.begin()];
}

}  // namespace tensorstat
