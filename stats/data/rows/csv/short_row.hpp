// Rows of CANN that have fewer fields than their heading.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "stats/data/rows/csv/csv_heading.hpp"

namespace tensorstat {

// Brings a row that was cut at its commas to the fields of its heading. CANN leaves fields out in two ways:
//   - A row without statistics has NA (of an AICPU operator: nothing) for each, and the Count behind Shape is missing,
//     or stands among the NA at another place. All its values are missing then, and the Count is the one that is there.
//   - Once a process has written the default heading, a heading of chosen statistics has a Count behind Shape that no
//     row has, and a second one before Nan Count, where the rows have it. The first is then what the second is.
// A row of any other length is left as it is.
void fill_short_row(std::span<const Field> fields, std::string_view missing, std::vector<std::string_view>& row);

}  // namespace tensorstat
