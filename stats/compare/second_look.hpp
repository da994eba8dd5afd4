// Tensors of unequal bits are read again and compared element by element.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "stats/compare/differences.hpp"
#include "stats/compare/elements.hpp"
#include "stats/compare/recorded.hpp"

namespace tensorstat {

using ElementFindings = std::unordered_map<std::uint32_t, ElementDifferences>;  // by Pair::in_a

struct ElementPass {
  ElementFindings found;
  bool is_whole = true;  // else a tensor could not be read again, which the listener has been told
};

// Reads both tensors of every pair again that is not equal, where both are in files, of one shape, and of dtypes that
// may be compared. The verdict of the elements takes the place of that of the statistics in `differences`: a tensor
// whose elements changed places has the same statistics.
ElementPass compare_elements(const Record& a, const Record& b, const Tolerances& tolerances, Differences& differences,
                             const ReadListener& listener);

}  // namespace tensorstat
