// Which form of cl_khr_command_buffer a platform has.
#include <cstring>

#include "stats/job/attach/program/extensions.hpp"

namespace tensorstat::attach {
namespace {

constexpr const char* kExtension = "cl_khr_command_buffer";

// 0.9.0 to 0.9.4 are in OpenCL's headers of 2021 to 2023, 0.9.5 in the headers of 2024. 0.9.8 is the last one checked.
RecordingForm form_of(cl_version version) {
  const cl_uint major = version >> 22, minor = version >> 12 & 0x3ff, patch = version & 0xfff;
  if (major != 0 || minor != 9 || patch > 8) return RecordingForm::kUnknown;
  return patch < 5 ? RecordingForm::kWithoutProperties : RecordingForm::kWithProperties;
}

// nullopt: the device does not have the extension.
std::optional<RecordingForm> form_of(cl_device_id device) {
  size_t bytes = 0;
  if (below.clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS_WITH_VERSION, 0, nullptr, &bytes) == CL_SUCCESS) {
    std::vector<cl_name_version> all(bytes / sizeof(cl_name_version));
    if (below.clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS_WITH_VERSION, bytes, all.data(), nullptr) == CL_SUCCESS) {
      for (const cl_name_version& each : all) {
        if (std::strncmp(each.name, kExtension, sizeof each.name) == 0) return form_of(each.version);
      }
    }
  }
  // Devices before OpenCL 3.0 may tell names alone.
  if (below.clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, 0, nullptr, &bytes) != CL_SUCCESS) return std::nullopt;
  std::string names(bytes, '\0');
  if (below.clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, bytes, names.data(), nullptr) != CL_SUCCESS)
    return std::nullopt;
  for (char& c : names) c = c == '\0' ? ' ' : c;
  if ((" " + names + " ").find(std::string(" ") + kExtension + " ") == names.npos) return std::nullopt;
  return RecordingForm::kUnknown;
}

template <typename Handle, typename Ask>
std::vector<Handle> list_of(const Ask& ask) {
  cl_uint count = 0;
  if (ask(0, nullptr, &count) != CL_SUCCESS) return {};
  std::vector<Handle> all(count);
  if (ask(count, all.data(), nullptr) != CL_SUCCESS) return {};
  return all;
}

// pocl 7.1 of Debian has the functions and lists no extension. Its form was tried; other versions are not guessed.
bool has_tried_form_with_properties(cl_platform_id platform) {
  char version[256] = "";
  return below.clGetPlatformInfo(platform, CL_PLATFORM_VERSION, sizeof version, version, nullptr) == CL_SUCCESS &&
         std::strstr(version, " PoCL 7.1") != nullptr;
}

}  // namespace

RecordingForm recording_form_of(cl_platform_id platform) {
  std::vector<cl_platform_id> platforms{platform};
  if (platform == nullptr) platforms = list_of<cl_platform_id>(below.clGetPlatformIDs);
  std::optional<RecordingForm> all;
  for (const cl_platform_id each : platforms) {
    const auto ask = [&](cl_uint count, cl_device_id* to, cl_uint* there) {
      return below.clGetDeviceIDs(each, CL_DEVICE_TYPE_ALL, count, to, there);
    };
    std::optional<RecordingForm> untold;
    if (has_tried_form_with_properties(each)) untold = RecordingForm::kWithProperties;
    for (const cl_device_id device : list_of<cl_device_id>(ask)) {
      auto form = form_of(device);
      if (!form) form = untold;
      if (!form) continue;
      if (all.value_or(*form) != *form) return RecordingForm::kUnknown;
      all = form;
    }
  }
  return all.value_or(RecordingForm::kUnknown);
}

}  // namespace tensorstat::attach
