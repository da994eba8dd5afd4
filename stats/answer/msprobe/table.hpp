// A comparison as msprobe's table and as its csv.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "stats/answer/msprobe/comparison.hpp"

namespace tensorstat::msprobe {

std::vector<std::string> headings_of(const Comparison& comparison);

// The cells of a row, one for each heading.
std::vector<PythonValue> cells_of(const Comparison& comparison, const ComparedRow& row);

// A line of a csv. Quotes are written only if needed. A space stands before an infinite number, or a spreadsheet would
// read it as a name.
void append_line(const std::vector<PythonValue>& cells, std::string& text);

// Writes the csv in pieces. Stops at the first piece that `write` refuses.
Status write_csv(const Comparison& comparison, const std::function<Status(std::string_view)>& write);

}  // namespace tensorstat::msprobe
