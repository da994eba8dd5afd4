// Writes msprobe's comparison as a spreadsheet. Needs libxlsxwriter at build time.
#pragma once

#include <span>
#include <string>

#include "stats/answer/msprobe/comparison.hpp"
#include "stats/answer/msprobe/merged.hpp"

namespace tensorstat::cli {

// The bytes of the file: msprobe's columns, rows with errors red, rows with warnings yellow. More than 1,048,500 rows
// go to several sheets. libxlsxwriter writes numbers with 16 digits. Characters that XML cannot hold become U+FFFD. A
// text above 32,767 UTF-16 units is cut between characters. kUnsupported: this build has no libxlsxwriter; the message
// names the package to install.
Result<std::string> xlsx_of(const msprobe::Comparison& comparison);

// The same of merged tables: a sheet for each column.
Result<std::string> xlsx_of(std::span<const msprobe::MergedTables::Sheet> sheets);

}  // namespace tensorstat::cli
