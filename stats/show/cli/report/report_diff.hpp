// The texts of `tensorstat diff` and `tensorstat origin`.
#pragma once

#include <string>

#include "stats/answer/compare/compared.hpp"
#include "stats/answer/origin/run_search.hpp"

namespace tensorstat::cli {

// A line for each operator where the runs begin to differ.
std::string beginnings_of(const Compared& compared);

// The rows without a partner: a few of them, or all.
std::string unmatched_of(const Compared& compared, bool with_all);

// "98 tensors compared, 29 differ, 0 only in A, 0 only in B; the first that differs: ..."
std::string summary_of(const Compared& compared);

// The verdict, at most ten lines; `with_all` adds all of its notes instead of the first ones.
std::string text_of(const Answer& answer, bool with_all);

// The lists of an answer, a line for each operator. The verdict is the first.
std::string lists_of(const SearchedRun& searched);

}  // namespace tensorstat::cli
