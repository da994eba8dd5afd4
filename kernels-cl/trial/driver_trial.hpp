// A driver that fails should return an error. Instead pocl may abort, exit, segfault or hang: if its cache on disk is
// damaged or full, if descriptors, address space or file size are limited, or if it finds no linker. That would end the
// caller's process. So the program tensorstat-preflight, which is installed with the library, makes each such call
// first, in a helper process. If the helper dies, the caller gets an error.
//
// A process tries the devices once, and each kernel once. No result is kept for the next process, because the cache may
// be damaged and the disk full by then. With TENSORSTAT_PREFLIGHT=once a passed trial is kept (passed_trials.hpp), and
// programs start sooner. A trial leaves the driver's cache and our own warm. The helper gets no more descriptors,
// address space and data than this process has left.
//
// The program lies in the libexec folder of the library's installation. It is looked for relative to the library (or to
// the program that the library is linked into), and then in the configured folder. It is looked for nowhere else,
// because it runs as this user. TENSORSTAT_PREFLIGHT names another program; 0 makes no trials. Each program must be a
// TrustedProgram.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <tensorstat/partial.hpp>
#include <tensorstat/status.hpp>
#include <vector>

#include "kernels-cl/driver/device.hpp"
#include "kernels-cl/program/program.hpp"
#include "kernels-cl/trial/trusted_program.hpp"

namespace tensorstat::cl_engine {

class StartedTrial;

// Whether a platform's driver needs a trial.
bool may_kill(std::string_view platform_name);

// Whether the devices of such platforms can be found. If the OpenCL loader's files name a driver that needs a trial,
// the trial begins here, while this process loads the drivers. If pocl is the only driver, it goes on to the kernel
// that the caller needs `soon`: a process of its own for that would load the driver once more.
class DevicesTrial {
 public:
  explicit DevicesTrial(const KernelKind* soon);
  ~DevicesTrial();
  DevicesTrial(const DevicesTrial&) = delete;
  DevicesTrial& operator=(const DevicesTrial&) = delete;

  // An error says how the trial ended, or why there was none.
  Status passed();

 private:
  bool is_kept_ = false, has_kernel_ = false;
  std::unique_ptr<StartedTrial> started_;
};

// Whether the kernel that `key` names (Recipe) can be built, loaded and run.
Status try_kernel(const Device& device, const std::string& key, const KernelKind& kind);

// Runs the program with these arguments behind the limits, at most once in a process: an error stays.
Status run_helper(const std::vector<std::string>& what);

// Runs one trial with this program, for at most `most`.
Status make_trial(const TrustedProgram& program, const std::vector<std::string>& what, std::chrono::milliseconds most);

// The program's last line if all went well. Before it stands the name of a kernel that was tried after the devices.
inline constexpr std::string_view kTrialPassed = "tensorstat-preflight: passed\n";
inline constexpr std::string_view kTriedKernel = "tensorstat-preflight: tried ";

}  // namespace tensorstat::cl_engine
