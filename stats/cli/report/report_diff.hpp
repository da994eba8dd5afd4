// What `tensorstat diff` and `tensorstat origin` found, for people.
#pragma once

#include <string>

#include "stats/compare/compared.hpp"
#include "stats/compare/origin.hpp"
#include "stats/compare/origin/verdict.hpp"

namespace tensorstat::cli {

// What differs, a line each, or all; then what has no partner; then the line that answers.
std::string text_of(const Compared& compared, bool with_all);

// The verdict, at most ten lines; with all of its notes, or with the first of them.
std::string text_of(const Answer& answer, bool with_all);

// The lists of an answer, the verdict first.
std::string lists_of(const Record& record, const Answer& answer);

}  // namespace tensorstat::cli
