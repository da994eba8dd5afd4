// The files by which the OpenCL loader finds drivers.
#pragma once

#include <string>
#include <vector>

namespace tensorstat::cl_engine {

struct IcdFile {
  std::string path;
  std::string library;  // of the driver, as the loader is to find it: its first line
};

// Those of /etc/OpenCL/vendors, or of the folder that OCL_ICD_VENDORS names; by their paths. Empty where there is none.
std::vector<IcdFile> icd_files();

}  // namespace tensorstat::cl_engine
