// A driver that fails should return an error. pocl has been seen to abort, exit, segfault or hang instead: when its
// cache on disk is damaged or full, when descriptors, address space or file size are limited, when it finds no linker.
// That would end the caller's process. So each call that may end so is made first in a helper process, by the program
// tensorstat-preflight, which is installed with the library. If the helper dies, the caller gets an error.
//
// The devices are tried once in a process, and each kernel once. No result is kept for the next process: a cache that
// was whole and a disk that had room yesterday say nothing about today. Who wants to start sooner all the same sets
// TENSORSTAT_PREFLIGHT=once: then a trial that passed is kept (passed_trials.hpp). A trial leaves the driver's cache
// and our own warm. The helper is given no more descriptors, address space and data than this process has left.
//
// The program lies in the libexec folder of the installation that this library is part of: it is sought from where the
// library lies (or the program that it is linked into), and then in the folder that was configured. Nowhere else:
// whoever can put a file where it is sought has it run as this user. TENSORSTAT_PREFLIGHT names another program, and 0
// makes no trials. Whichever it is, it must be a TrustedProgram.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <tensorstat/partial.hpp>
#include <tensorstat/status.hpp>
#include <vector>

#include "kernels-cl/driver/device.hpp"
#include "kernels-cl/launch/program.hpp"
#include "kernels-cl/trial/trusted_program.hpp"

namespace tensorstat::cl_engine {

class StartedTrial;

// Whether a platform's driver needs a trial.
bool may_kill(std::string_view platform_name);

// Whether such platforms' devices can be found. Where the OpenCL loader's files name a driver that needs it, the trial
// is under way from here on, while this process loads the drivers.
class DevicesTrial {
 public:
  DevicesTrial();
  ~DevicesTrial();
  DevicesTrial(const DevicesTrial&) = delete;
  DevicesTrial& operator=(const DevicesTrial&) = delete;

  // An error says how the trial ended, or why there was none.
  Status passed();

 private:
  bool is_kept_ = false;
  std::unique_ptr<StartedTrial> started_;
};

// The same of the kernel that `key` names (Recipe): whether it can be built, loaded and run.
Status try_kernel(const Device& device, const std::string& key, const KernelKind& kind);

// One trial by this program, which is ended after `most`.
Status make_trial(const TrustedProgram& program, const std::vector<std::string>& what, std::chrono::milliseconds most);

// What the program says last when all went well.
inline constexpr std::string_view kTrialPassed = "tensorstat-preflight: passed\n";

}  // namespace tensorstat::cl_engine
