// Which OpenCL this library calls: what the loader libOpenCL.so.1 leads to, the drivers themselves, or a given table.
#pragma once

#include <string>
#include <vector>

struct _cl_icd_dispatch;  // CL/cl_icd.h: its members differ with the version of OpenCL that a source asks for

namespace tensorstat::cl_engine {

// Whether there is an OpenCL to call. Loads the loader, which loads no driver yet. Without it every call returns
// CL_PLATFORM_NOT_FOUND_KHR.
bool has_opencl();

// The file of the loader that is called; empty if it is unknown.
std::string opencl_file();

// From now on the calls go to these drivers, without the loader: it would load every driver that is installed. A handle
// that the loader gave out before stays valid, because each handle leads to its driver's functions (cl_khr_icd). A
// library that cannot be loaded has no platform.
void call_drivers(const std::vector<std::string>& libraries);

// From now on the calls go to this table, which must outlive them: attach's layer is below OpenCL's loader.
void call_opencl(const _cl_icd_dispatch* table);

}  // namespace tensorstat::cl_engine
