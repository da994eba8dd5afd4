#include "kernels-cl/trial/icd_files.hpp"

#include <dirent.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string_view>

namespace tensorstat::cl_engine {

std::vector<IcdFile> icd_files() {
  const char* vendors = secure_getenv("OCL_ICD_VENDORS");
  const std::string folder = vendors != nullptr ? vendors : "/etc/OpenCL/vendors";
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(folder.c_str()), closedir);
  std::vector<IcdFile> found;
  if (!entries) return found;
  while (const dirent* entry = readdir(entries.get())) {
    if (!std::string_view(entry->d_name).ends_with(".icd")) continue;
    IcdFile& each = found.emplace_back(IcdFile{folder + "/" + entry->d_name, ""});
    std::ifstream file(each.path);
    std::getline(file, each.library);
  }
  std::ranges::sort(found, {}, &IcdFile::path);
  return found;
}

}  // namespace tensorstat::cl_engine
