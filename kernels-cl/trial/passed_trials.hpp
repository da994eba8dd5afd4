// With TENSORSTAT_PREFLIGHT=once, passed trials (driver_trial.hpp) are kept for later processes of this user on this
// machine. They lie beside the kernels on disk (binary_cache.hpp).
//
// A kept trial counts only for the same version of this library, machine, root and mounts of /sys, /proc and /dev,
// files of the OpenCL loader, limit on file sizes, and environment variables that the loader, the driver or its linker
// read. The process must also have as much left of its limits.
//
// A kept trial does not notice that the driver's cache was damaged, that the disk became full, or that the driver's
// library was replaced while the loader's file stayed. (A kernel's trial notices the last, because its key has the
// driver's version.)
#pragma once

#include <string>
#include <vector>

#include "kernels-cl/trial/limits.hpp"

namespace tensorstat::cl_engine {

// Whether the trial passed in a process that had no more left than this one now.
bool has_passed(const std::vector<std::string>& what);

// `left` is what the trial's process had left. If the trial cannot be written, it is not kept.
void keep_passed(const std::vector<std::string>& what, const Limits& left);

}  // namespace tensorstat::cl_engine
