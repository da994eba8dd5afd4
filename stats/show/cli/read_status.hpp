// The exit status of what could not be read.
#pragma once

#include <tensorstat/status.hpp>

#include "stats/show/cli/exit_status.hpp"

namespace tensorstat::cli {

// Where there was nothing to measure, such as a text, nothing is missing.
inline Exit status_of(const Error& error) { return error.code == Code::kNoNumbers ? kDone : kNotRead; }

}  // namespace tensorstat::cli
