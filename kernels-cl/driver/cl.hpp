// OpenCL's C++ bindings, without exceptions, at the version the kernels are written for. They are inline
// functions of namespace cl, and a program that uses them with exceptions has functions of the same names:
// the linker would let one stand for the other. So here they have a namespace of their own.
#pragma once

// Debian's bindings do not compile when these two differ.
#define CL_HPP_TARGET_OPENCL_VERSION 120
#define CL_HPP_MINIMUM_OPENCL_VERSION 120
#define CL_TARGET_OPENCL_VERSION 120
#undef CL_HPP_ENABLE_EXCEPTIONS
// What they include must not be renamed with them.
#include <CL/opencl.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "kernels-cl/driver/opencl_calls.hpp"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wignored-attributes"
#define cl tensorstat_private_cl
#include <CL/opencl.hpp>
#undef cl
#pragma GCC diagnostic pop

#include <tensorstat/status.hpp>

namespace tensorstat {
namespace cl = ::tensorstat_private_cl;
}

namespace tensorstat::cl_engine {

// "CL_OUT_OF_RESOURCES (-5)", or only the number if OpenCL has no such code.
std::string code_words(cl_int code);

// "building a kernel: clBuildProgram returned CL_OUT_OF_RESOURCES (-5)". Code::kDevice, except for device memory that
// is exhausted at the moment (kOverBudget) and for a cl_mem that cannot be used (kInvalid).
Error error(const std::string& doing, const char* call, cl_int code);

}  // namespace tensorstat::cl_engine
