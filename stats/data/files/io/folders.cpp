#include "stats/data/files/io/folders.hpp"

#include <dirent.h>
#include <ftw.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <memory>
#include <set>
#include <system_error>

#include "stats/core/base/printable.hpp"
#include "stats/data/files/file_kind.hpp"
#include "stats/data/files/tensor_source.hpp"
#include "stats/data/text/natural_order.hpp"

namespace tensorstat {
namespace {

namespace fs = std::filesystem;

bool makes(const fs::path& folder) { return ::mkdir(folder.c_str(), 0777) == 0 || errno == EEXIST; }

}  // namespace

std::optional<FolderFault> make_folders(const std::string& folder) {
  std::vector<fs::path> missing;  // the innermost first
  for (fs::path path = folder; !path.empty() && !makes(path); path = path.parent_path()) {
    if (errno != ENOENT || path == path.parent_path()) return FolderFault{path.string(), errno};
    missing.push_back(path);
  }
  for (; !missing.empty(); missing.pop_back()) {
    if (!makes(missing.back())) return FolderFault{missing.back().string(), errno};
  }
  return std::nullopt;
}

// Not std::filesystem::directory_iterator: GCC's allocates in a noexcept function, so it ends the process if memory is
// exhausted.
std::vector<FolderEntry> entries_of(const std::string& folder, std::vector<Error>& faults) {
  const auto fault = [&](const std::string& path, std::string_view what, const std::error_code& error) {
    faults.push_back(
        {Code::kUnreadable, printable(path) + ": cannot be " + std::string(what) + ": " + error.message()});
  };
  const std::unique_ptr<DIR, int (*)(DIR*)> listed(::opendir(folder.c_str()), ::closedir);
  struct Listed {
    std::string name;
    unsigned char type;
  };
  std::vector<Listed> all;
  while (listed != nullptr) {
    errno = 0;
    const dirent* const entry = ::readdir(listed.get());
    if (entry == nullptr) break;
    const std::string_view name(entry->d_name);
    if (name != "." && name != "..") all.push_back({std::string(name), entry->d_type});
  }
  if (errno != 0) fault(folder, "listed", std::error_code(errno, std::generic_category()));
  std::ranges::sort(all, natural_before, &Listed::name);
  std::vector<FolderEntry> entries;
  for (const auto& [name, type] : all) {
    const std::string path = fs::path(folder) / name;
    // readdir gives the type. For a path longer than PATH_MAX, symlink_status below gives the error.
    if (type != DT_UNKNOWN && path.size() < PATH_MAX) {
      entries.push_back({path, type == DT_DIR, type == DT_LNK});
      continue;
    }
    std::error_code error;
    const fs::file_type looked_up = fs::symlink_status(path, error).type();
    if (looked_up == fs::file_type::none) {
      fault(path, "looked at", error);
    } else if (looked_up != fs::file_type::not_found) {
      entries.push_back({path, looked_up == fs::file_type::directory, looked_up == fs::file_type::symlink});
    }
  }
  return entries;
}

void remove_folder(const std::string& folder) noexcept {
  constexpr int kOpenFolders = 16;
  const auto remove_one = [](const char* path, const struct stat*, int, struct FTW*) {
    static_cast<void>(std::remove(path));
    return 0;
  };
  ::nftw(folder.c_str(), remove_one, kOpenFolders, FTW_DEPTH | FTW_PHYS);
}

void find_tensor_files(const std::string& folder, std::vector<std::string>& files, std::vector<Error>& faults,
                       const std::function<void(const std::string& path)>& other) {
  const std::vector<FolderEntry> entries = entries_of(folder, faults);
  std::set<std::string> parts;  // files and folders that are parts of a file in this folder
  for (const FolderEntry& entry : entries) {
    if (!entry.is_folder) std::ranges::move(parts_of(entry.path), std::inserter(parts, parts.end()));
  }
  for (const auto& [path, is_folder, is_link] : entries) {
    std::error_code ignored;
    if (is_folder) {
      if (parts.contains(path)) continue;
      find_tensor_files(path, files, faults, other);
    } else if (!parts.contains(path) && !(is_link && fs::is_directory(path, ignored)) &&
               (is_named_as_tensors(path) || begins_as_tensors(path))) {
      files.push_back(path);
    } else if (other && !parts.contains(path)) {
      other(path);
    }
  }
}

}  // namespace tensorstat
