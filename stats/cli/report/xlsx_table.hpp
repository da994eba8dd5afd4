// A table of msprobe's compare as a spreadsheet, through libxlsxwriter where the build has it.
#pragma once

#include <string>

#include "stats/compare/msprobe/comparison.hpp"

namespace tensorstat::cli {

// The bytes of the file: msprobe's columns, with rows of errors red and rows of warnings yellow. Above 1,048,500 rows
// there are several sheets. Numbers have the 16 digits that libxlsxwriter writes. Texts may hold any bytes: what XML cannot
// hold is shown as U+FFFD, and what is longer than 32,767 UTF-16 units is cut between characters. kUnsupported: this build
// has no libxlsxwriter; the message says what to install.
Result<std::string> xlsx_of(const msprobe::Comparison& comparison);

}  // namespace tensorstat::cli
