#include "stats/data/text/natural_order.hpp"

#include <algorithm>
#include <compare>

namespace tensorstat {
namespace {

bool is_decimal(char c) { return c >= '0' && c <= '9'; }

// Removes the number at the beginning of `text` and returns its digits without leading zeros.
std::string_view take_number(std::string_view& text) {
  const auto end = std::ranges::find_if_not(text, is_decimal);
  std::string_view digits(text.begin(), end);
  text.remove_prefix(digits.size());
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  return digits;
}

}  // namespace

bool natural_before(std::string_view a, std::string_view b) {
  for (std::string_view x = a, y = b;;) {
    if (x.empty() || y.empty()) return x.empty() && y.empty() ? a < b : x.empty();
    if (is_decimal(x.front()) && is_decimal(y.front())) {
      const std::string_view p = take_number(x), q = take_number(y);
      if (p.size() != q.size()) return p.size() < q.size();
      if (p != q) return p < q;
    } else {
      if (x.front() != y.front()) return static_cast<unsigned char>(x.front()) < static_cast<unsigned char>(y.front());
      x.remove_prefix(1);
      y.remove_prefix(1);
    }
  }
}

}  // namespace tensorstat
