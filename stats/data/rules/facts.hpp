// The facts of rows, and of pairs of rows.
#pragma once

#include <span>
#include <string_view>

#include "stats/data/rules/subject.hpp"

namespace tensorstat {

std::span<const Fact> facts_of(About about);

// The fact with that name, in which - or _ may stand for a space. nullptr if it is unknown.
const Fact* fact_named(std::string_view name, About about);

// How many elements are NaN, or -Inf or Inf (specials.hpp). "some" if the row shows that there are any, but not how
// many; monostate if it has no statistic that would show them.
FactValue nan_of(const StatisticsView& statistics);
FactValue inf_of(const StatisticsView& statistics);

}  // namespace tensorstat
