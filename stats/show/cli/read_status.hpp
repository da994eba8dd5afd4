// The exit status of what could not be read.
#pragma once

#include "stats/data/files/without_numbers.hpp"
#include "stats/show/cli/exit_status.hpp"

namespace tensorstat::cli {

// Where there was nothing to measure, such as a text, nothing is missing.
inline Exit status_of(const Error& error) { return is_without_numbers(error) ? kDone : kNotRead; }

}  // namespace tensorstat::cli
