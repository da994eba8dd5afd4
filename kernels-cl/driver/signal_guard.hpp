// Restores the signal handlers that an OpenCL driver replaces during one call.
#pragma once

#include <array>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "kernels-cl/driver/cl.hpp"

namespace tensorstat::cl_engine {

// The program or a shared object that is loaded in this process.
struct LoadedObject {
  std::uintptr_t begin = 0, end = 0;
  std::string name = {};                // without its folder
  std::vector<std::string> needs = {};  // the names of what it is linked with
};

// pocl replaces 15 handlers of the process when it is first asked for its devices. A guard exists around each call that
// may load or start a driver.
//
// A changed handler is restored only if it is the driver's. That is so if its code lies in a shared object that was
// loaded during the call, in the driver of `platform`, or in a library that this driver is linked with. All other
// handlers are the application's, which may install them in another thread at any time; they stay. A signal that was
// set to SIG_DFL or SIG_IGN meanwhile stays, too, because nobody can tell who set it.
//
// One case is lost: the application installs a handler during the call, and the driver replaces it in the same call.
// Then the handler from before the call is restored.
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
