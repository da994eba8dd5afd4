// The files with which the OpenCL loader finds drivers.
#pragma once

#include <string>
#include <vector>

namespace tensorstat::cl_engine {

struct IcdFile {
  std::string path;
  std::string library;  // of the driver, as the loader is to find it: its first line
};

// The files in /etc/OpenCL/vendors, or in the folder that OCL_ICD_VENDORS names, or the file that it names, in the
// order of their paths.
std::vector<IcdFile> icd_files();

bool is_pocl(const IcdFile& file);

// Whether the loader certainly finds no driver, or there is no loader.
bool no_driver_is_installed();

// Whether pocl is certainly the only driver that the loader finds. Loads no driver: loading pocl, with LLVM, takes some
// 25 ms. False if the environment or a loader outside the system's folders may lead to other drivers.
bool only_pocl_is_installed();

}  // namespace tensorstat::cl_engine
