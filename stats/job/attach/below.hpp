// OpenCL as it is below this layer: the driver, or the next layer. All sources of this room but measured.cpp see OpenCL
// through this header.
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#include <CL/cl.h>
#include <CL/cl_icd.h>

namespace tensorstat::attach {

// Set by clInitLayer. A function that the loader does not have is null.
extern cl_icd_dispatch below;

}  // namespace tensorstat::attach
