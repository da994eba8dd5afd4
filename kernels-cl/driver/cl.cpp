#include "kernels-cl/driver/cl.hpp"

#include <CL/cl_ext.h>

#include <string_view>

namespace tensorstat::cl_engine {
namespace {

struct NamedCode {
  cl_int code;
  std::string_view name;
};

// The error codes of OpenCL 1.2 and of the ICD loader.
#define ROW(code) \
  NamedCode { code, #code }
constexpr NamedCode kCodes[] = {
    ROW(CL_SUCCESS),
    ROW(CL_DEVICE_NOT_FOUND),
    ROW(CL_DEVICE_NOT_AVAILABLE),
    ROW(CL_COMPILER_NOT_AVAILABLE),
    ROW(CL_MEM_OBJECT_ALLOCATION_FAILURE),
    ROW(CL_OUT_OF_RESOURCES),
    ROW(CL_OUT_OF_HOST_MEMORY),
    ROW(CL_PROFILING_INFO_NOT_AVAILABLE),
    ROW(CL_MEM_COPY_OVERLAP),
    ROW(CL_IMAGE_FORMAT_MISMATCH),
    ROW(CL_IMAGE_FORMAT_NOT_SUPPORTED),
    ROW(CL_BUILD_PROGRAM_FAILURE),
    ROW(CL_MAP_FAILURE),
    ROW(CL_MISALIGNED_SUB_BUFFER_OFFSET),
    ROW(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST),
    ROW(CL_COMPILE_PROGRAM_FAILURE),
    ROW(CL_LINKER_NOT_AVAILABLE),
    ROW(CL_LINK_PROGRAM_FAILURE),
    ROW(CL_DEVICE_PARTITION_FAILED),
    ROW(CL_KERNEL_ARG_INFO_NOT_AVAILABLE),
    ROW(CL_INVALID_VALUE),
    ROW(CL_INVALID_DEVICE_TYPE),
    ROW(CL_INVALID_PLATFORM),
    ROW(CL_INVALID_DEVICE),
    ROW(CL_INVALID_CONTEXT),
    ROW(CL_INVALID_QUEUE_PROPERTIES),
    ROW(CL_INVALID_COMMAND_QUEUE),
    ROW(CL_INVALID_HOST_PTR),
    ROW(CL_INVALID_MEM_OBJECT),
    ROW(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR),
    ROW(CL_INVALID_IMAGE_SIZE),
    ROW(CL_INVALID_SAMPLER),
    ROW(CL_INVALID_BINARY),
    ROW(CL_INVALID_BUILD_OPTIONS),
    ROW(CL_INVALID_PROGRAM),
    ROW(CL_INVALID_PROGRAM_EXECUTABLE),
    ROW(CL_INVALID_KERNEL_NAME),
    ROW(CL_INVALID_KERNEL_DEFINITION),
    ROW(CL_INVALID_KERNEL),
    ROW(CL_INVALID_ARG_INDEX),
    ROW(CL_INVALID_ARG_VALUE),
    ROW(CL_INVALID_ARG_SIZE),
    ROW(CL_INVALID_KERNEL_ARGS),
    ROW(CL_INVALID_WORK_DIMENSION),
    ROW(CL_INVALID_WORK_GROUP_SIZE),
    ROW(CL_INVALID_WORK_ITEM_SIZE),
    ROW(CL_INVALID_GLOBAL_OFFSET),
    ROW(CL_INVALID_EVENT_WAIT_LIST),
    ROW(CL_INVALID_EVENT),
    ROW(CL_INVALID_OPERATION),
    ROW(CL_INVALID_GL_OBJECT),
    ROW(CL_INVALID_BUFFER_SIZE),
    ROW(CL_INVALID_MIP_LEVEL),
    ROW(CL_INVALID_GLOBAL_WORK_SIZE),
    ROW(CL_INVALID_PROPERTY),
    ROW(CL_INVALID_IMAGE_DESCRIPTOR),
    ROW(CL_INVALID_COMPILER_OPTIONS),
    ROW(CL_INVALID_LINKER_OPTIONS),
    ROW(CL_INVALID_DEVICE_PARTITION_COUNT),
    ROW(CL_PLATFORM_NOT_FOUND_KHR),
};
#undef ROW

// Where the codes tell more than that the device failed.
Code code_of(cl_int code) {
  switch (code) {
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:  // others may hold the memory for a while
      return Code::kOverBudget;
    case CL_INVALID_MEM_OBJECT:  // the caller's cl_mem: released, or of OpenGL and not acquired
    case CL_INVALID_GL_OBJECT:
    case CL_INVALID_OPERATION:
      return Code::kInvalid;
    default:
      return Code::kDevice;
  }
}

}  // namespace

std::string code_words(cl_int code) {
  const std::string number = std::to_string(code);
  for (const NamedCode& each : kCodes) {
    if (each.code == code) return std::string(each.name) + " (" + number + ")";
  }
  return number;
}

Error error(const std::string& doing, const char* call, cl_int code) {
  return {code_of(code), doing + ": " + call + " returned " + code_words(code)};
}

}  // namespace tensorstat::cl_engine
