#include "stats/show/cli/inputs.hpp"

#include <fnmatch.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <system_error>
#include <utility>

#include "stats/core/base/printable.hpp"
#include "stats/data/files/io/folders.hpp"
#include "stats/data/files/io/whole_file.hpp"
#include "stats/data/files/tensor_source.hpp"
#include "stats/data/rows/names/mindspore_file_name.hpp"
#include "stats/data/rows/row_source.hpp"
#include "stats/data/survey/row_files.hpp"
#include "stats/data/text/natural_order.hpp"

namespace tensorstat::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostListBytes = std::size_t{1} << 28;

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

// Splits a pattern at its slashes. Repeated ** become one.
std::vector<std::string> parts_of(const std::string& pattern) {
  std::vector<std::string> parts;
  for (const fs::path& part : fs::path(pattern).relative_path()) {
    const bool is_again = part == "**" && !parts.empty() && parts.back() == "**";
    if (!part.empty() && !is_again) parts.push_back(part.string());
  }
  return parts;
}

// Appends the paths below `folder` that match `parts`. An empty `folder` means the working directory.
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
  if (part == "**" && rest.empty()) return matches.push_back(here);  // the folder stands for all files below it
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

// Inputs, and the files that come from folders with rows but without tensors.
struct InputSearch : Inputs {
  std::vector<std::pair<std::string, std::string>> folders_of_rows;  // with the first file of each
  std::set<std::string> rows_of_folders;
};

Error without_tensors(const std::string& folder, const std::string& rows) {
  return {Code::kUnreadable, printable(folder) + ": no supported tensor file in it, such as .npy" +
                                 (rows.empty() ? "" : "; it has rows of statistics, such as " + printable(rows))};
}

// Counts the raw files (bits without a header) in a folder.
struct Bits {
  std::size_t count = 0;
  std::string first;

  std::string note(const std::string& folder) const {
    return printable(folder) + ": " + std::to_string(count) +
           (count == 1 ? " file holds the bits of a tensor without its shape and is left out: "
                       : " files hold the bits of tensors without their shapes and are left out, such as ") +
           printable(first) + "; name a file with --dtype and --shape to read it";
  }
};

void add(const std::string& path, InputSearch& inputs) {
  if (stored_path(path)) {
    for (RowFile& file : find_row_files({path}, inputs.faults)) inputs.files.push_back(std::move(file.path));
    return;
  }
  if (!is_folder(path)) return inputs.files.push_back(path);
  const std::size_t files = inputs.files.size(), faults = inputs.faults.size();
  std::string rows;  // the first file of rows
  Bits bits;
  std::vector<std::string> left;
  find_tensor_files(path, inputs.files, inputs.faults, [&](const std::string& other) {
    if (rows.empty() && has_name_of_rows(other)) rows = other;
    if (is_named_as_bits(other) && bits.count++ == 0) bits.first = other;
    if (!has_name_of_rows(other) && !is_named_as_bits(other)) left.push_back(other);
  });
  if (bits.count != 0) inputs.notes.push_back(bits.note(path));
  if (rows.empty()) inputs.left.insert(inputs.left.end(), left.begin(), left.end());  // else they belong to the rows
  if (inputs.files.size() != files) {
    if (rows.empty()) return;
    return inputs.notes.push_back(printable(path) + ": holds rows of statistics, too; name their files, such as " +
                                  printable(rows) + ", to see them");
  }
  std::vector<Error> again;  // already reported by the first walk
  for (RowFile& file : rows.empty() ? std::vector<RowFile>() : find_row_files({path}, again)) {
    inputs.rows_of_folders.insert(file.path);
    inputs.files.push_back(std::move(file.path));
  }
  if (inputs.files.size() != files) {
    inputs.folders_of_rows.emplace_back(path, rows);
  } else if (inputs.faults.size() == faults) {
    inputs.faults.push_back(without_tensors(path, rows));
  }
}

// If there are tensors, drops the rows that the user did not name.
void leave_rows(InputSearch& inputs) {
  std::erase_if(inputs.files, [&](const std::string& file) { return inputs.rows_of_folders.contains(file); });
  for (const auto& [folder, rows] : inputs.folders_of_rows) inputs.faults.push_back(without_tensors(folder, rows));
}

void add_glob(const std::string& pattern, InputSearch& inputs) {
  std::vector<std::string> matches;
  const std::size_t faults = inputs.faults.size();
  expand(pattern.starts_with('/') ? "/" : "", parts_of(pattern), matches, inputs.faults);
  std::ranges::sort(matches, natural_before);
  matches.erase(std::unique(matches.begin(), matches.end()), matches.end());  // a second ** can find a file twice
  for (const std::string& match : matches) add(match, inputs);
  if (matches.empty() && inputs.faults.size() == faults) {
    inputs.faults.push_back({Code::kUnreadable, printable(pattern) + ": matches nothing"});
  }
}

// 0 if stat() fails; reading the file will report why.
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

// FILE::TENSOR, as a table shows it: takes the tensor of a file that is there.
bool add_tensor(const std::string& path, InputSearch& inputs) {
  constexpr std::string_view kBetween = "::";
  for (std::size_t position = path.find(kBetween); position != path.npos;
       position = path.find(kBetween, position + 1)) {
    const std::string file = path.substr(0, position);
    if (!exists(file) || is_folder(file)) continue;
    auto& tensors = inputs.tensors_of[file];
    if (tensors.empty()) inputs.files.push_back(file);
    tensors.push_back(path.substr(position + kBetween.size()));
    return true;
  }
  return false;
}

void add_argument(const std::string& path, InputSearch& inputs) {
  if (stored_path(path)) return add(path, inputs);
  if (!exists(path) && add_tensor(path, inputs)) return;
  const bool is_glob = path.find_first_of("*?[") != path.npos && !exists(path);
  is_glob ? add_glob(path, inputs) : add(path, inputs);
}

// Adds the lines of a file as paths. In there, @ does not begin another list.
void add_list(const std::string& list, InputSearch& inputs) {
  inputs.lists.push_back(list);
  const auto text = read_whole_file(list, kMostListBytes);
  if (!text) return inputs.faults.push_back(text.error());
  for (std::string_view rest = *text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) add_argument(std::string(line), inputs);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

}  // namespace

Inputs find_inputs(const std::vector<std::string>& paths, FileOrder order, Rows rows) {
  InputSearch inputs;
  for (const std::string& path : paths) {
    const bool is_list = path.starts_with('@') && !exists(path);
    is_list ? add_list(path.substr(1), inputs) : add_argument(path, inputs);
  }
  if (rows == Rows::kLeft || !std::ranges::all_of(inputs.files, is_row_file)) leave_rows(inputs);
  // A file that is named itself, too, is read whole, once for each of its names.
  std::erase_if(inputs.tensors_of,
                [&](const auto& entry) { return std::ranges::count(inputs.files, entry.first) > 1; });
  put_in_order(inputs.files, order);
  return inputs;
}

namespace {

// How many folders lie between `folder` and `path`: 0 if it is `folder` itself. nullopt if it does not lie there. Both
// without links.
std::optional<std::ptrdiff_t> levels_below(const fs::path& folder, const fs::path& path) {
  const auto [end, rest] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  if (end != folder.end()) return std::nullopt;
  return std::distance(rest, path.end());
}

// A file that `origin`, `report` and `diff` read beside the rows or tensors of a dump, by its name.
struct Companion {
  fs::path folder;            // the rows lie in it, or below
  std::ptrdiff_t levels = 0;  // how many folders below at most
};

std::optional<Companion> companion_of(const fs::path& file) {
  const std::string name = file.filename().string();
  const fs::path folder = file.parent_path();
  if (name == "mapping.csv") return Companion{folder, 0};
  if (name == "stack.json" || name == "construct.json") return Companion{folder, 1};
  if (name == "watch.ndjson") return Companion{folder, 3};
  const bool is_of_graph = (name.starts_with("ms_output_trace_code_graph_") && name.ends_with(".ir")) ||
                           (name.starts_with("ms_execution_order_graph_") && name.ends_with(".csv"));
  if (!is_of_graph) return std::nullopt;
  const bool is_inside = folder.filename() == "graphs" || folder.filename() == "execution_order";
  return Companion{is_inside ? folder.parent_path() : folder, 4};
}

}  // namespace

Status check_is_no_input(const std::string& output, std::span<const std::string> inputs) {
  struct stat replaced;
  if (output.empty() || ::stat(output.c_str(), &replaced) != 0 || !S_ISREG(replaced.st_mode)) return {};
  const auto is_output = [&](const std::string& path) {
    struct stat facts;
    const int fault = path == "-" ? ::fstat(STDIN_FILENO, &facts) : ::stat(path.c_str(), &facts);
    return fault == 0 && facts.st_dev == replaced.st_dev && facts.st_ino == replaced.st_ino;
  };
  const auto real_path = [](const std::string& path) {
    std::error_code ignored;
    return fs::weakly_canonical(path, ignored);
  };
  const fs::path real_output = real_path(output);
  const auto companion = companion_of(real_output);
  const auto is_part = [&](const std::string& part) {
    return is_folder(part) ? levels_below(real_path(part), real_output).has_value() : is_output(part);
  };
  const auto has_companion = [&](const std::string& file) {
    if (!companion || is_folder(file)) return false;
    const auto levels = levels_below(companion->folder, real_path(file).parent_path());
    return levels && *levels <= companion->levels;
  };
  for (const std::string& input : inputs) {
    const auto stored = stored_path(input);
    std::vector<std::string> files = {stored ? stored->store : input};
    std::vector<Error> ignored;  // reported when the file is read
    if (is_folder(input)) find_tensor_files(input, files, ignored);
    // Beside the rows of a store lies what lay beside the files that it was made of.
    const bool has_rows = is_folder(input) || (stored && companion);
    for (RowFile& rows : has_rows ? find_row_files({input}, ignored) : std::vector<RowFile>()) {
      auto in_store = stored_path(rows.path);
      files.push_back(std::move(in_store ? in_store->file : rows.path));
    }
    for (const std::string& file : files) {
      const std::vector<std::string> parts = is_folder(file) ? std::vector<std::string>() : tensorstat::parts_of(file);
      if (!is_output(file) && !has_companion(file) && std::ranges::none_of(parts, is_part)) continue;
      return Error{Code::kInvalid, "the output " + printable(output) + " is one of the inputs; name another file"};
    }
  }
  return {};
}

Result<std::string> path_of_run(const std::string& path, const std::string& run) {
  if (run.empty()) return path;
  if (!stored_path(path)) return Error{Code::kInvalid, "--run wants a store as DUMP"};
  return path + "//" + run;
}

}  // namespace tensorstat::cli
