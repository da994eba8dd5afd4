// What `tensorstat diff` and `tensorstat origin` found, for people.
#pragma once

#include <string>

#include "stats/compare/compared.hpp"
#include "stats/compare/origin.hpp"

namespace tensorstat::cli {

// What differs, a line each, or all; then what has no partner; then the line that answers.
std::string text_of(const Compared& compared, bool with_all);

// Who made it and who passed it on, a line each with inputs and the operators before; then the line that answers.
std::string text_of(const Record& record, const Origin& origin);

}  // namespace tensorstat::cli
