// The texts of `tensorstat diff` and `tensorstat origin`.
#pragma once

#include <string>

#include "stats/compare/compared.hpp"
#include "stats/compare/origin.hpp"
#include "stats/compare/origin/verdict.hpp"

namespace tensorstat::cli {

// One line for each operator where the runs begin to differ or, if these are unknown, for each difference (with_all:
// for each pair). Then the rows without a partner, then the summary.
std::string text_of(const Compared& compared, bool with_all);

// The verdict, at most ten lines; `with_all` adds all of its notes instead of the first ones.
std::string text_of(const Answer& answer, bool with_all);

// The lists of an answer, a line for each operator. The verdict is the first.
std::string lists_of(const Record& record, const Answer& answer);

}  // namespace tensorstat::cli
