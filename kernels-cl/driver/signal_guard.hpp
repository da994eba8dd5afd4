// Puts back the signal handlers that an OpenCL driver replaces during one call.
#pragma once

#include <array>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "kernels-cl/driver/cl.hpp"

namespace tensorstat::cl_engine {

// The program or a shared object, as it lies in this process.
struct LoadedObject {
  std::uintptr_t begin = 0, end = 0;
  std::string name = {};                // without its folder
  std::vector<std::string> needs = {};  // the names of what it is linked with
};

// pocl replaces 15 handlers of the process when it is first asked for its devices. One of these objects lives around
// each call that may load or start a driver, and no longer.
//
// A handler that has changed is put back only if it is the driver's: if its code lies in a shared object that was
// loaded during the call, in the driver of `platform`, or in a library that this driver is linked with. All others
// are the application's, which may install handlers in another thread at any time, and stay. What cannot be told
// apart stays too: a signal that was set to SIG_DFL or SIG_IGN meanwhile.
//
// What is lost: a handler that the application installs during the call, and that the driver replaces in the same
// call, becomes what it was before the call.
class SignalGuard {
 public:
  // A null platform: no driver is loaded yet.
  explicit SignalGuard(cl_platform_id platform);
  ~SignalGuard();
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;

 private:
  const std::lock_guard<std::mutex> one_at_a_time_;  // or one guard would save what another's driver has installed
  const std::vector<LoadedObject> others_;           // what is loaded and not the driver's
  std::array<struct sigaction, NSIG> saved_{};
  std::array<bool, NSIG> known_{};
};

}  // namespace tensorstat::cl_engine
