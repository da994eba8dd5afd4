// The arguments of a kernel. After a failed call the later ones do nothing.
#pragma once

#include <cstdint>

#include "kernels-cl/driver/cl.hpp"

namespace tensorstat::cl_engine {

inline void set_argument(cl_int& code, const cl::Kernel& kernel, cl_uint index, std::uint64_t value) {
  if (code == CL_SUCCESS) code = clSetKernelArg(kernel(), index, sizeof value, &value);
}
// If memory is null, offsets are addresses.
inline void set_argument(cl_int& code, const cl::Kernel& kernel, cl_uint index, cl_mem memory) {
  if (code == CL_SUCCESS) code = clSetKernelArg(kernel(), index, sizeof memory, memory == nullptr ? nullptr : &memory);
}

}  // namespace tensorstat::cl_engine
