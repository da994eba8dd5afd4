#include "stats/meter/gpu/driver.hpp"

#include <dlfcn.h>

#include <array>
#include <span>
#include <string>

namespace tensorstat::gpu {
namespace {

constexpr std::array kCudaFiles = {"libcuda.so.1"};
// PyTorch's wheels have a copy without a number.
constexpr std::array kRocmFiles = {"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"};

}  // namespace

Result<Driver> Driver::find(Where where) {
  const bool is_cuda = where == Where::kCuda;
  const auto files = is_cuda ? std::span<const char* const>(kCudaFiles) : std::span<const char* const>(kRocmFiles);
  void* library = nullptr;
  for (const char* file : files) {
    if (library == nullptr) library = ::dlopen(file, RTLD_LAZY | RTLD_NOLOAD);  // kept for as long as the process lives
  }
  if (library == nullptr) {
    return Error{Code::kDevice, std::string("nothing in this process has loaded ") +
                                    (is_cuda ? "CUDA's driver, " : "ROCm's runtime, ") + files.front() +
                                    ": the address cannot be in its memory"};
  }
  Driver driver{.name = is_cuda ? "CUDA" : "ROCm"};
  const char* missing = nullptr;
  const auto load = [&](auto& function, const char* name) {
    function.address = reinterpret_cast<decltype(function.address)>(::dlsym(library, name));
    function.name = name;
    if (function.address == nullptr) missing = name;
  };
#define TENSORSTAT_GPU_LOAD(member, cuda, rocm, ...) load(driver.member, is_cuda ? cuda : rocm);
  TENSORSTAT_GPU_FUNCTIONS(TENSORSTAT_GPU_LOAD)
#undef TENSORSTAT_GPU_LOAD
  if (missing == nullptr) return driver;
  return Error{Code::kUnsupported, std::string(files.front()) + " has no " + missing +
                                       ": update the driver, or copy the tensor to the host"};
}

Status Driver::status(const Called& called) const {
  if (called) return {};
  const char* text = nullptr;
  const bool is_named = error_name.address(called.outcome, &text) == kSuccess && text != nullptr;
  return Error{Code::kDevice, std::string(name) + " memory cannot be read: " + called.function + ": " +
                                  (is_named ? std::string(text) : "error " + std::to_string(called.outcome))};
}

}  // namespace tensorstat::gpu
