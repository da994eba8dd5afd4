#include "kernels-cl/trial/icd_files.hpp"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string_view>

#include "kernels-cl/driver/opencl.hpp"

namespace tensorstat::cl_engine {
namespace {

constexpr std::string_view kIcd = ".icd";

// Whether the loader reads the files of icd_files() and no others.
bool reads_these_files() {
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view each = *entry;
    if (each.starts_with("OCL_ICD_") || each.starts_with("OPENCL_")) return false;
  }
  // Another loader, such as one of conda, reads the files of another folder.
  const std::string loader = opencl_file();
  return loader.starts_with("/usr/lib") || loader.starts_with("/lib");
}

}  // namespace

bool is_pocl(const IcdFile& file) { return file.library.find("pocl") != file.library.npos; }

bool no_driver_is_installed() { return !has_opencl() || (icd_files().empty() && reads_these_files()); }

std::vector<IcdFile> icd_files() {
  const char* vendors = secure_getenv("OCL_ICD_VENDORS");
  const std::string folder = vendors != nullptr ? vendors : "/etc/OpenCL/vendors";
  std::vector<IcdFile> files;
  const auto add = [&](const std::string& path) {
    IcdFile& each = files.emplace_back(IcdFile{path, ""});
    std::ifstream file(path);
    std::getline(file, each.library);
  };
  if (folder.ends_with(kIcd)) add(folder);  // OCL_ICD_VENDORS may name one file
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(folder.c_str()), closedir);
  if (!entries) return files;
  while (const dirent* entry = readdir(entries.get())) {
    if (std::string_view(entry->d_name).ends_with(kIcd)) add(folder + "/" + entry->d_name);
  }
  std::ranges::sort(files, {}, &IcdFile::path);
  return files;
}

bool only_pocl_is_installed() {
  if (!reads_these_files()) return false;
  const std::vector<IcdFile> all = icd_files();
  return !all.empty() && std::ranges::all_of(all, [](const IcdFile& each) {
    const std::string_view library = each.library;
    return library.substr(library.rfind('/') + 1).starts_with("libpocl");
  });
}

}  // namespace tensorstat::cl_engine
