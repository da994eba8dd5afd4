#include <algorithm>
#include <tensorstat/pair.hpp>

#include "tests/fuzz/targets.hpp"

namespace tensorstat::fuzz {
namespace {

Result<PairPartial> parsed(Input bytes) {
  auto partial = PairPartial::parse(std::as_bytes(std::span(bytes)));
  if (!partial) {
    demand_message(partial.error().message, 200);
  } else {
    demand(std::ranges::equal(partial->serialize(), std::as_bytes(std::span(bytes))),
           "what is read is what was serialised");
  }
  return partial;
}

void finish(const PairPartial& partial) {
  for (int i = 0; i < kPairStatisticCount; ++i) {
    const auto statistic = static_cast<PairStatistic>(i);
    const Value value = partial.finish(statistic);
    if (value.index() == 0) continue;
    demand(std::holds_alternative<double>(value) == (kind(statistic) == PairValueKind::kReal), "a value is of its kind");
  }
}

}  // namespace

void pair_partial(Input bytes) {
  // A sound one is merged with itself; of any other input, one half with the other.
  const auto whole = parsed(bytes);
  auto first = whole ? whole : parsed(bytes.substr(0, bytes.size() / 2));
  const auto second = whole ? whole : parsed(bytes.substr(bytes.size() / 2));
  if (!first || !second) return;
  finish(*first);
  if (Status merged = first->merge(*second); !merged) return demand_message(merged.error().message, 300);
  finish(*first);
  const auto serialised = first->serialize();
  const auto again = PairPartial::parse(serialised);
  demand(static_cast<bool>(again), "what was merged is read");
  demand(again->serialize() == serialised, "equal partials give equal bytes");
}

}  // namespace tensorstat::fuzz
