#include <algorithm>
#include <cmath>
#include <tensorstat/partial.hpp>

#include "tests/fuzz/targets.hpp"

namespace tensorstat::fuzz {
namespace {

Result<Partial> parsed(Input bytes) {
  auto partial = Partial::parse(std::as_bytes(std::span(bytes)));
  if (!partial) {
    demand_message(partial.error().message, 200);
  } else {
    demand(std::ranges::equal(partial->serialize(), std::as_bytes(std::span(bytes))),
           "what is read is what was serialised");
  }
  return partial;
}

void finish(const Partial& partial) {
  for (const Category category : all_categories()) {
    const Value value = partial.finish(category);
    static_cast<void>(partial.finish_binary32(category));
    const bool kept = (needs(category) & ~partial.needs()) == 0;
    demand(kept || value.index() == 0, "there is no value of what was not kept");
    const bool is_element = category == Category::kMax || category == Category::kMin || category == Category::kAbsmin;
    const auto* real = std::get_if<double>(&value);
    demand(!is_element || real == nullptr || std::isnan(*real) || partial.dtype() == Dtype::kFloat64 || *real == static_cast<float>(*real),
           "an extremum is an element");
  }
}

}  // namespace

void partial(Input bytes) {
  // A sound partial is merged with itself; of any other input, one half with the other.
  const auto whole = parsed(bytes);
  auto first = whole ? whole : parsed(bytes.substr(0, bytes.size() / 2));
  const auto second = whole ? whole : parsed(bytes.substr(bytes.size() / 2));
  if (!first || !second) return;
  finish(*first);
  if (Status merged = first->merge(*second); !merged) {
    return demand_message(merged.error().message, 300);
  }
  finish(*first);
  const auto serialised = first->serialize();
  const auto again = Partial::parse(serialised);
  demand(static_cast<bool>(again), "what was merged is read");
  demand(again->serialize() == serialised, "equal partials give equal bytes");
}

}  // namespace tensorstat::fuzz
