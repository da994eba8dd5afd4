// A driver that fails should return an error. Instead pocl may abort, exit, segfault or hang: if its cache on disk is
// damaged or full, if descriptors, address space or file size are limited, or if it finds no linker. Any other driver
// may, too. That would end the caller's process. So the program tensorstat-preflight, which is installed with the
// library, makes each such call first, in a helper process: it loads the drivers and finds their devices, and runs
// pocl's kernels. If the helper dies or hangs, each driver is tried alone, and this process loads only those that pass.
//
// A process tries the drivers once, and each kernel once. No result is kept for the next process, because the cache may
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
#include "kernels-cl/trial/icd_files.hpp"
#include "kernels-cl/trial/trusted_program.hpp"

namespace tensorstat::cl_engine {

class StartedTrial;

// Whether the kernels of a platform's driver need a trial, too.
bool may_kill(std::string_view platform_name);

struct RefusedDriver {
  IcdFile file;
  std::string why;
};

// The drivers that this process may load.
struct Drivers {
  bool all = true;                          // whatever OpenCL's loader finds, through the loader
  std::vector<RefusedDriver> refused = {};  // otherwise all but these, without the loader: it would load these, too
};

// Tries the drivers that are installed, once in a process. A driver that fails is never loaded here. If pocl is the
// only driver, the trial goes on to the kernel that the caller needs `soon`, while this process loads the driver: a
// process of its own for that kernel would load the driver once more. The destructor waits for that.
class DriversTrial {
 public:
  explicit DriversTrial(const KernelKind* soon);
  ~DriversTrial();
  DriversTrial(const DriversTrial&) = delete;
  DriversTrial& operator=(const DriversTrial&) = delete;

  const Drivers& drivers() const { return drivers_; }

 private:
  Drivers make(const KernelKind* soon);

  Drivers drivers_;
  std::unique_ptr<StartedTrial> goes_on_;
};

// Whether the kernel that `key` names (Recipe) can be built, loaded and run.
Status try_kernel(const Device& device, const std::string& key, const KernelKind& kind);

// Runs the program with these arguments behind the limits, at most once in a process: an error stays.
Status run_helper(const std::vector<std::string>& what);

// Runs one trial with this program, for at most `most`.
Status make_trial(const TrustedProgram& program, const std::vector<std::string>& what, std::chrono::milliseconds most);

// The program's last line if all went well. Before it stands the name of a kernel that was tried after the devices.
inline constexpr std::string_view kTrialPassed = "tensorstat-preflight: passed\n";
inline constexpr std::string_view kFoundDevices = "tensorstat-preflight: found the devices\n";
// Before a driver's library, in an argument of the program.
inline constexpr std::string_view kOnly = "only=";
inline constexpr std::string_view kTriedKernel = "tensorstat-preflight: tried ";

}  // namespace tensorstat::cl_engine
