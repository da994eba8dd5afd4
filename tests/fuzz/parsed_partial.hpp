// Checks the serialised form of partials, of one tensor or of a pair.
#pragma once

#include <algorithm>
#include <tensorstat/status.hpp>

#include "tests/fuzz/targets.hpp"

namespace tensorstat::fuzz {

template <class AnyPartial>
Result<AnyPartial> parsed(Input bytes) {
  auto partial = AnyPartial::parse(std::as_bytes(std::span(bytes)));
  if (!partial) {
    demand_message(partial.error().message, 200);
  } else {
    demand(std::ranges::equal(partial->serialize(), std::as_bytes(std::span(bytes))),
           "what is read is what was serialised");
  }
  return partial;
}

// Merges a valid partial with itself. Splits any other input into two halves and merges these. Calls `finish` before
// and after the merge.
template <class AnyPartial>
void parse_and_merge(Input bytes, void (*finish)(const AnyPartial&)) {
  const auto whole = parsed<AnyPartial>(bytes);
  auto first = whole ? whole : parsed<AnyPartial>(bytes.substr(0, bytes.size() / 2));
  const auto second = whole ? whole : parsed<AnyPartial>(bytes.substr(bytes.size() / 2));
  if (!first || !second) return;
  finish(*first);
  if (Status merged = first->merge(*second); !merged) return demand_message(merged.error().message, 300);
  finish(*first);
  const auto serialised = first->serialize();
  const auto again = AnyPartial::parse(serialised);
  demand(static_cast<bool>(again), "what was merged is read");
  demand(again->serialize() == serialised, "equal partials give equal bytes");
}

}  // namespace tensorstat::fuzz
