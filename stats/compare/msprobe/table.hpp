// A comparison as msprobe's table, and as its csv.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "stats/compare/msprobe/comparison.hpp"

namespace tensorstat::msprobe {

std::vector<std::string> headings_of(const Comparison& comparison);

// The cells of a row, as many as there are headings.
std::vector<PythonValue> cells_of(const Comparison& comparison, const ComparedRow& row);

// The csv, in pieces: with quotes only where they are needed, and a space before an infinite number, which keeps a
// spreadsheet from taking it for a name. Stops at the first piece that `write` refuses.
Status write_csv(const Comparison& comparison, const std::function<Status(std::string_view)>& write);

}  // namespace tensorstat::msprobe
