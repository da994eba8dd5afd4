// OpenCL's C++ bindings, without exceptions, at the version the kernels are written for.
#pragma once

// Debian's bindings do not compile when these two differ.
#define CL_HPP_TARGET_OPENCL_VERSION 120
#define CL_HPP_MINIMUM_OPENCL_VERSION 120
#define CL_TARGET_OPENCL_VERSION 120
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wignored-attributes"
#include <CL/opencl.hpp>
#pragma GCC diagnostic pop

#include <string>

#include <tensorstat/status.hpp>

namespace tensorstat::cl_engine {

// "CL_OUT_OF_RESOURCES (-5)"; the number alone where OpenCL has no such code.
std::string code_words(cl_int code);

// "building a kernel: clBuildProgram returned CL_OUT_OF_RESOURCES (-5)".
Error error(const std::string& doing, const char* call, cl_int code);

}  // namespace tensorstat::cl_engine
