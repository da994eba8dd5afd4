// An OpenCL driver without devices that ends its process, or hangs. DYING_DRIVER says where and how: "load:abort",
// "platforms:exit", "devices:ill". Without it the driver is sound. A second file of the loader may name it, too.
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace {

void come(std::string_view where) {
  const char* const text = std::getenv("DYING_DRIVER");
  const std::string_view how = text == nullptr ? "" : text;
  if (!how.starts_with(where) || how.substr(where.size(), 1) != ":") return;
  const std::string_view end = how.substr(where.size() + 1);
  if (end == "abort") std::abort();
  if (end == "exit") std::exit(0);
  if (end == "_exit") ::_exit(0);
  if (end == "ill") std::raise(SIGILL);
  if (end == "segv") std::raise(SIGSEGV);
  while (end == "hang") ::pause();
}

[[gnu::constructor]] void is_loaded() { come("load"); }

struct Platform {
  const cl_icd_dispatch* dispatch;
};

cl_int CL_API_CALL platform_info(cl_platform_id, cl_platform_info what, size_t room, void* to, size_t* needed) {
  const std::string text = what == CL_PLATFORM_EXTENSIONS       ? "cl_khr_icd"
                           : what == CL_PLATFORM_ICD_SUFFIX_KHR ? "DYING"
                           : what == CL_PLATFORM_VERSION        ? "OpenCL 1.2 dying"
                           : what == CL_PLATFORM_PROFILE        ? "FULL_PROFILE"
                                                                : "Dying";
  if (to != nullptr && room < text.size() + 1) return CL_INVALID_VALUE;
  if (to != nullptr) std::memcpy(to, text.c_str(), text.size() + 1);
  if (needed != nullptr) *needed = text.size() + 1;
  return CL_SUCCESS;
}

cl_int CL_API_CALL device_ids(cl_platform_id, cl_device_type, cl_uint, cl_device_id*, cl_uint* count) {
  come("devices");
  if (count != nullptr) *count = 0;
  return CL_DEVICE_NOT_FOUND;
}

Platform& platform() {
  static cl_icd_dispatch table = [] {
    cl_icd_dispatch made{};
    made.clGetPlatformInfo = &platform_info;
    made.clGetDeviceIDs = &device_ids;
    return made;
  }();
  static Platform one{&table};
  return one;
}

cl_int CL_API_CALL platform_ids(cl_uint room, cl_platform_id* to, cl_uint* count) {
  come("platforms");
  if (to != nullptr && room > 0) *to = reinterpret_cast<cl_platform_id>(&platform());
  if (count != nullptr) *count = 1;
  return CL_SUCCESS;
}

}  // namespace

extern "C" CL_API_ENTRY void* CL_API_CALL clGetExtensionFunctionAddress(const char* name) {
  const std::string_view wanted = name;
  if (wanted == "clIcdGetPlatformIDsKHR") return reinterpret_cast<void*>(&platform_ids);
  if (wanted == "clGetPlatformInfo") return reinterpret_cast<void*>(&platform_info);
  return nullptr;
}
