// Files and members that have no statistics although nothing is wrong with them: texts, a model without tensors, an
// empty state dict, a dataset without elements. They are notes, not faults of reading.
#pragma once

#include <algorithm>
#include <string_view>
#include <tensorstat/status.hpp>

namespace tensorstat {

inline constexpr std::string_view kHoldsNoTensor = "holds no tensor";
inline constexpr std::string_view kNoStatistics = ", which have no statistics";
inline constexpr std::string_view kNoElements = "has no elements", kNoShape = "has no elements and no shape";

// Whether an error of reading says that there was nothing to measure. The words above end its message.
inline bool is_without_numbers(const Error& error) {
  const auto ends = [&](std::string_view words) { return std::string_view(error.message).ends_with(words); };
  return ends(kHoldsNoTensor) || ends(kNoStatistics) || ends(kNoElements) || ends(kNoShape);
}

}  // namespace tensorstat
