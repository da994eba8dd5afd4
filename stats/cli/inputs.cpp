#include "stats/cli/inputs.hpp"

#include <fnmatch.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

#include "stats/files/folders.hpp"
#include "stats/files/natural_order.hpp"
#include "stats/files/shown.hpp"

namespace tensorstat::cli {
namespace {

namespace fs = std::filesystem;

std::string joined(const std::string& folder, const std::string& name) {
  return folder + (folder.empty() || folder.ends_with('/') ? "" : "/") + name;
}

std::string name_of(const std::string& path) { return fs::path(path).filename().string(); }

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

bool exists(const std::string& path) {
  std::error_code ignored;
  return fs::symlink_status(path, ignored).type() != fs::file_type::not_found;
}

// The parts of a pattern between its slashes; one ** says as much as several in a row.
std::vector<std::string> parts_of(const std::string& pattern) {
  std::vector<std::string> parts;
  for (const fs::path& part : fs::path(pattern).relative_path()) {
    const bool is_again = part == "**" && !parts.empty() && parts.back() == "**";
    if (!part.empty() && !is_again) parts.push_back(part.string());
  }
  return parts;
}

// Appends to `matches` what `parts` match below `folder`, which is empty for the working directory.
void expand(const std::string& folder, std::span<const std::string> parts, std::vector<std::string>& matches,
            std::vector<Error>& faults) {
  if (parts.empty()) {
    if (exists(folder)) matches.push_back(folder);
    return;
  }
  const std::string& part = parts.front();
  const auto rest = parts.subspan(1);
  if (part.find_first_of("*?[\\") == part.npos) return expand(joined(folder, part), rest, matches, faults);
  const std::string here = folder.empty() ? "." : folder;
  if (!is_folder(here)) return;
  if (part == "**" && rest.empty()) return matches.push_back(here);  // all that is below it
  if (part == "**") expand(folder, rest, matches, faults);
  for (const FolderEntry& entry : entries_of(here, faults)) {
    const std::string name = name_of(entry.path), path = joined(folder, name);
    if (part == "**") {
      if (entry.is_folder && !name.starts_with('.')) expand(path, parts, matches, faults);
    } else if (::fnmatch(part.c_str(), name.c_str(), FNM_PERIOD) == 0 && (rest.empty() || is_folder(path))) {
      expand(path, rest, matches, faults);
    }
  }
}

void add(const std::string& path, Inputs& inputs) {
  if (!is_folder(path)) return inputs.files.push_back(path);
  const std::size_t files = inputs.files.size(), faults = inputs.faults.size();
  find_tensor_files(path, inputs.files, inputs.faults);
  if (inputs.files.size() == files && inputs.faults.size() == faults) {
    inputs.faults.push_back({Code::kUnreadable, printable(path) + ": holds no file of tensors, such as .npy"});
  }
}

void add_glob(const std::string& pattern, Inputs& inputs) {
  std::vector<std::string> matches;
  const std::size_t faults = inputs.faults.size();
  expand(pattern.starts_with('/') ? "/" : "", parts_of(pattern), matches, inputs.faults);
  std::ranges::sort(matches, natural_before);
  const auto again = std::ranges::unique(matches);  // a second ** may find a file in two ways
  matches.erase(again.begin(), again.end());
  for (const std::string& match : matches) add(match, inputs);
  if (matches.empty() && inputs.faults.size() == faults) {
    inputs.faults.push_back({Code::kUnreadable, printable(pattern) + ": matches nothing"});
  }
}

// What cannot be looked at has the number 0; reading it says why.
std::int64_t number_of(const std::string& path, FileOrder order) {
  struct stat facts = {};
  if (::stat(path.c_str(), &facts) != 0) return 0;
  return order == FileOrder::kSize ? -std::int64_t{facts.st_size}
                                   : facts.st_mtim.tv_sec * 1'000'000'000 + facts.st_mtim.tv_nsec;
}

void put_in_order(std::vector<std::string>& files, FileOrder order) {
  if (order == FileOrder::kGiven) return;
  std::vector<std::pair<std::int64_t, std::string>> numbered;
  for (std::string& file : files) {
    const std::int64_t number = order == FileOrder::kName ? 0 : number_of(file, order);
    numbered.emplace_back(number, std::move(file));
  }
  std::ranges::stable_sort(numbered, [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : natural_before(a.second, b.second);
  });
  for (std::size_t i = 0; i < files.size(); ++i) files[i] = std::move(numbered[i].second);
}

}  // namespace

Inputs find_inputs(const std::vector<std::string>& paths, FileOrder order) {
  Inputs inputs;
  for (const std::string& path : paths) {
    const bool is_glob = path.find_first_of("*?[") != path.npos && !exists(path);
    is_glob ? add_glob(path, inputs) : add(path, inputs);
  }
  put_in_order(inputs.files, order);
  return inputs;
}

}  // namespace tensorstat::cli
