// Tensors of unequal bits are read again and compared element by element.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <tensorstat/pair.hpp>
#include <unordered_map>

#include "stats/answer/compare/differences.hpp"
#include "stats/answer/compare/recorded.hpp"

namespace tensorstat {

// Every statistic of two tensors, in the order of <tensorstat/pair.inc>; the scale is the greater of |a| and |b|.
using ElementValues = std::array<Value, kPairStatisticCount>;
using ElementFindings = std::unordered_map<std::uint32_t, ElementValues>;  // by Pair::in_a

struct ElementPass {
  ElementFindings values;
  std::unordered_map<std::uint32_t, std::array<Value, 2>> greatest;  // of a and b where they differ most
  bool is_whole = true;  // else a tensor could not be read again, which the listener has been told
};

// Reads both tensors of every pair again that is not equal, or is complex, where both are in files, of one shape, and
// of dtypes that may be compared. In `differences` the verdict of the elements replaces the verdict of the statistics:
// a tensor may have the same statistics and its elements in another order.
ElementPass compare_elements(const Record& a, const Record& b, const Tolerances& tolerances,
                             const MeterOptions& options, Differences& differences, const ReadListener& listener);

// The statistics of a pair: measured, or derived for two tensors of equal bits, which are not read again. nullopt if
// neither is possible: rows without elements, with different or missing digests.
std::optional<ElementValues> element_values(const ElementPass& pass, const Record& a, const Record& b,
                                            const Pair& pair);

// The verdict on compared elements: all bits equal, all within the tolerance, or different.
Judgement judgement_of(const PairPartial& elements, std::string_view of_what = "elements");

}  // namespace tensorstat
