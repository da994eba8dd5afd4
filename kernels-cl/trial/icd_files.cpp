#include "kernels-cl/trial/icd_files.hpp"

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dirent.h>
#include <dlfcn.h>
#include <unistd.h>

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

bool only_pocl_is_installed() {
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view each = *entry;
    if (each.starts_with("OCL_ICD_") || each.starts_with("OPENCL_")) return false;
  }
  // Another loader, such as one of conda, reads the files of another folder.
  Dl_info loader{};
  if (dladdr(reinterpret_cast<const void*>(&clGetPlatformIDs), &loader) == 0 || loader.dli_fname == nullptr)
    return false;
  const std::string_view path = loader.dli_fname;
  if (!path.starts_with("/usr/lib") && !path.starts_with("/lib")) return false;
  const std::vector<IcdFile> all = icd_files();
  return !all.empty() && std::ranges::all_of(all, [](const IcdFile& each) {
    const std::string_view library = each.library;
    return library.substr(library.rfind('/') + 1).starts_with("libpocl");
  });
}

}  // namespace tensorstat::cl_engine
