// Trials that passed (driver_trial.hpp), kept for later processes of this user on this machine, where
// TENSORSTAT_PREFLIGHT=once asks for that. They lie beside the kernels on disk (binary_cache.hpp).
//
// A trial is another one where it is of another version of this library, on another machine, with other files of the
// OpenCL loader, another limit on file sizes, or with anything else in the environment that the loader, the driver or
// its linker look at. And it counts only for processes that have as much left of their limits as it had.
//
// What it does not see: a driver's cache that was damaged meanwhile, a disk that has become full, and a driver's
// library that was replaced while its loader's file stayed. (A kernel's trial sees the last of these: its key has the
// driver's version.)
#pragma once

#include <string>
#include <vector>

#include "kernels-cl/trial/limits.hpp"

namespace tensorstat::cl_engine {

// Whether the trial passed in a process that had no more left than this one has now.
bool has_passed(const std::vector<std::string>& what);

// `left` is what the trial had. What cannot be written is not kept.
void keep_passed(const std::vector<std::string>& what, const Limits& left);

}  // namespace tensorstat::cl_engine
