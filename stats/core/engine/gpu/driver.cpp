#include "stats/core/engine/gpu/driver.hpp"

#include <dlfcn.h>

#include <array>
#include <span>
#include <string>
#include <string_view>

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
  const auto load = [&](auto& function, const char* name, const char*& lacks) {
    function.address = reinterpret_cast<decltype(function.address)>(::dlsym(library, name));
    function.name = name;
    if (function.address == nullptr) lacks = name;
  };
#define TENSORSTAT_GPU_LOAD(member, cuda, rocm, ...) load(driver.member, is_cuda ? cuda : rocm, missing);
  TENSORSTAT_GPU_FUNCTIONS(TENSORSTAT_GPU_LOAD)
#undef TENSORSTAT_GPU_LOAD
#define TENSORSTAT_CUDA_LOAD(member, cuda, ...) load(driver.member, cuda, driver.launches_miss);
  TENSORSTAT_CUDA_FUNCTIONS(TENSORSTAT_CUDA_LOAD)
#undef TENSORSTAT_CUDA_LOAD
  Dl_info facts{};
  if (missing == nullptr && ::dladdr(reinterpret_cast<const void*>(driver.device_get.address), &facts) != 0) {
    const std::string_view file = facts.dli_fname;
    driver.folder = file.substr(0, file.rfind('/') + 1);
  }
  if (missing == nullptr) return driver;
  return Error{Code::kUnsupported, std::string(files.front()) + " has no " + missing +
                                       ": update the driver, or copy the tensor to the host"};
}

std::string Driver::words(const Called& called) const {
  const char* text = nullptr;
  const bool is_named = error_name.address(called.outcome, &text) == kSuccess && text != nullptr;
  return std::string(called.function) + ": " + (is_named ? text : "error " + std::to_string(called.outcome));
}

Status Driver::status(const Called& called) const {
  if (called) return {};
  return Error{Code::kDevice, std::string(name) + " memory cannot be read: " + words(called)};
}

}  // namespace tensorstat::gpu
