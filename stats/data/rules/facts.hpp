// The facts of rows, and of pairs of rows.
#pragma once

#include <span>
#include <string_view>

#include "stats/data/rules/subject.hpp"

namespace tensorstat {

std::span<const Fact> facts_of(About about);

// - or _ may stand for a space. nullptr if there is none of that name.
const Fact* fact_named(std::string_view name, About about);

// How many elements are NaN, or -Inf or Inf (specials.hpp). "some" if the row shows it and not how many; monostate if
// the row has nothing that would show it.
FactValue nan_of(const StatisticsView& statistics);
FactValue inf_of(const StatisticsView& statistics);

}  // namespace tensorstat
