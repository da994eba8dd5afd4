// Exponents of a run's tensors over its iterations, for the page.
#pragma once

#include <cstddef>
#include <map>
#include <utility>

#include "stats/show/page/contents.hpp"

namespace tensorstat {

struct PageSeries {
  const History* history;
  const HistorySeries* series;
};

// Fills `exponents` of the contents from series by tensor and lane, as long as there is room; a note says what had
// none. Of iterations that share a column, the last is shown.
void add_exponents(const std::map<std::pair<std::size_t, std::size_t>, PageSeries>& sources, PageContents& contents);

}  // namespace tensorstat
