#include <algorithm>
#include <limits>
#include <tensorstat/tensor.hpp>

#include "stats/core/base/caught.hpp"

namespace tensorstat {

Result<std::uint64_t> element_count(const Shape& shape, std::uint64_t element_bytes) try {
  // A dimension of 0 makes an empty tensor, however large the others are.
  if (std::ranges::count(shape, 0u)) return std::uint64_t{0};
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  std::uint64_t room = kMost / std::max<std::uint64_t>(element_bytes, 1);
  std::uint64_t count = 1;
  for (const std::uint64_t dimension : shape) {
    if (dimension > room / count) {
      return Error{Code::kInvalid, "shape " + to_string(shape) + " of " + std::to_string(element_bytes) +
                                       "-byte elements exceeds 2^63-1 bytes"};
    }
    count *= dimension;
  }
  return count;
} catch (...) {
  return caught();
}

std::string to_string(const Shape& shape) {
  std::string text = "(";
  for (const std::uint64_t dimension : shape) {
    if (text.size() > 1) text += ',';
    text += std::to_string(dimension);
  }
  return text += ')';
}

}  // namespace tensorstat
