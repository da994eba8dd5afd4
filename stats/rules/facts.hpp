// The facts of rows, and of pairs of rows.
#pragma once

#include <span>
#include <string_view>

#include "stats/rules/subject.hpp"

namespace tensorstat {

std::span<const Fact> facts_of(About about);

// - or _ may stand for a space. nullptr if there is none of that name.
const Fact* fact_named(std::string_view name, About about);

// Whether the value of `category` shows that an element is what `count` counts: NaN, -Inf or Inf.
bool tells(Category count, Category category, const Value& value);

// How many elements are NaN, or -Inf or Inf. Without their counts "some" if max, min, avg or l2norm shows one, and 0 if
// these show none. monostate if the row has none of all these.
FactValue nan_of(const StatisticsView& statistics);
FactValue inf_of(const StatisticsView& statistics);

}  // namespace tensorstat
