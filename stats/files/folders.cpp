#include "stats/files/folders.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "stats/files/natural_order.hpp"
#include "stats/files/shown.hpp"
#include "stats/files/tensor_source.hpp"

namespace tensorstat {
namespace {

namespace fs = std::filesystem;

bool makes(const fs::path& folder) { return ::mkdir(folder.c_str(), 0777) == 0 || errno == EEXIST; }

}  // namespace

std::optional<FolderFault> make_folders(const std::string& folder) {
  std::vector<fs::path> missing;  // the innermost first
  for (fs::path at = folder; !at.empty() && !makes(at); at = at.parent_path()) {
    if (errno != ENOENT || at == at.parent_path()) return FolderFault{at.string(), errno};
    missing.push_back(at);
  }
  for (; !missing.empty(); missing.pop_back()) {
    if (!makes(missing.back())) return FolderFault{missing.back().string(), errno};
  }
  return std::nullopt;
}

std::vector<FolderEntry> entries_of(const std::string& folder, std::vector<Error>& faults) {
  const auto fault = [&](const fs::path& path, std::string_view what, const std::error_code& error) {
    faults.push_back({Code::kUnreadable,
                      printable(path.string()) + ": cannot be " + std::string(what) + ": " + error.message()});
  };
  std::error_code error;
  std::vector<fs::path> entries;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    entries.push_back(it->path());
  }
  if (error) fault(folder, "listed", error);
  std::ranges::sort(entries, natural_before, [](const fs::path& path) { return path.filename().string(); });
  std::vector<FolderEntry> found;
  for (const fs::path& path : entries) {
    const fs::file_type type = fs::symlink_status(path, error).type();
    if (type == fs::file_type::none) {
      fault(path, "looked at", error);
    } else if (type != fs::file_type::not_found) {
      found.push_back({path.string(), type == fs::file_type::directory});
    }
  }
  return found;
}

void find_tensor_files(const std::string& folder, std::vector<std::string>& files, std::vector<Error>& faults) {
  for (const auto& [path, is_folder] : entries_of(folder, faults)) {
    std::error_code ignored;
    if (is_folder) {
      find_tensor_files(path, files, faults);
    } else if (is_named_as_tensors(path) && !fs::is_directory(path, ignored)) {
      files.push_back(path);
    }
  }
}

}  // namespace tensorstat
