// A driver that fails should say so; pocl has been seen to abort, exit, segfault or hang instead:
// when its cache on disk is damaged or full, when descriptors, address space or file size are
// limited, when it finds no linker. That takes down the process that asked, which is somebody's
// training job. So whatever such a driver is about to be asked for is asked for in a process of its
// own first: the program tensorstat-preflight, which is installed beside the library. Its death is
// an error here, and no more.
//
// A trial is made once in a process for the devices and once for each kernel, never remembered
// longer: a cache that was whole and a disk that had room yesterday say nothing about today. It
// leaves the driver's cache and our own warm. It is given no more descriptors, address space and
// data than this process has left.
//
// The program lies in the libexec folder of the installation that this library is part of: it is sought from where the
// library lies (or the program that it is linked into), and then in the folder that was configured. Nowhere else:
// whoever can put a file where it is sought has it run as this user. TENSORSTAT_PREFLIGHT names another, and 0 does
// without any trial. Each must be a TrustedProgram.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <tensorstat/partial.hpp>
#include <tensorstat/status.hpp>
#include <vector>

#include "kernels-cl/driver/device.hpp"
#include "kernels-cl/trial/trusted_program.hpp"

namespace tensorstat::cl_engine {

// Whether a platform's driver wants a trial.
bool may_kill(std::string_view platform_name);

// Whether such platforms' devices can be found, and whether the kernel that `key` names
// (Programs::Recipe) can be built, loaded and run. An error says how the trial ended, or why there
// was none.
Status try_devices();
Status try_kernel(const Device& device, const std::string& key, Dtype dtype, Needs needs);

// One trial, by that program, which is given so long.
Status make_trial(const TrustedProgram& program, const std::vector<std::string>& what,
                  std::chrono::milliseconds most);

// What the program says last when all went well.
inline constexpr std::string_view kTrialPassed = "tensorstat-preflight: passed\n";

}  // namespace tensorstat::cl_engine
