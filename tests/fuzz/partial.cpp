#include <cmath>
#include <tensorstat/partial.hpp>

#include "tests/fuzz/parsed_partial.hpp"

namespace tensorstat::fuzz {
namespace {

void finish(const Partial& partial) {
  Categories categories = all_categories();
  for (const Category category : usual_quantiles()) categories.push_back(category);
  for (const Category category : categories) {
    const Value value = partial.finish(category);
    static_cast<void>(partial.finish_binary32(category));
    const bool kept = partial.keeps(category);
    demand(kept || value.index() == 0, "there is no value of what was not kept");
    const bool is_element = category == Category::kMax || category == Category::kMin || category == Category::kAbsmin ||
                            is_quantile(category);
    const auto* real = std::get_if<double>(&value);
    const bool holds_float32 = real == nullptr || std::isnan(*real) || *real == static_cast<float>(*real);
    demand(!is_element || holds_float32 || partial.dtype() == Dtype::kFloat64, "an extremum is an element");
  }
}

}  // namespace

void partial(Input bytes) { parse_and_merge<Partial>(bytes, finish); }

}  // namespace tensorstat::fuzz
