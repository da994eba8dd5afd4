#include "stats/cli/inputs.hpp"

#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "stats/files/folders.hpp"

namespace tensorstat::cli {
namespace {

namespace fs = std::filesystem;

void add(const std::string& path, Inputs& inputs) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    inputs.files.push_back(path);
    return;
  }
  const std::size_t files = inputs.files.size(), faults = inputs.faults.size();
  find_npy_files(path, inputs.files, inputs.faults);
  if (inputs.files.size() == files && inputs.faults.size() == faults) {
    inputs.faults.push_back({Code::kUnreadable, path + ": holds no .npy file"});
  }
}

}  // namespace

Inputs find_inputs(const std::vector<std::string>& paths) {
  Inputs inputs;
  for (const std::string& path : paths) {
    std::error_code error;
    const bool is_glob = fs::symlink_status(path, error).type() == fs::file_type::not_found &&
                         path.find_first_of("*?[") != path.npos;
    glob_t matches{};
    if (is_glob && ::glob(path.c_str(), 0, nullptr, &matches) == 0) {
      std::for_each_n(matches.gl_pathv, matches.gl_pathc,
                      [&](const char* match) { add(match, inputs); });
    } else if (is_glob) {
      inputs.faults.push_back({Code::kUnreadable, path + ": matches nothing"});
    } else {
      add(path, inputs);
    }
    ::globfree(&matches);
  }
  return inputs;
}

}  // namespace tensorstat::cli
