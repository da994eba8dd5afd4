#include "stats/data/rows/names/dump_place.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

namespace tensorstat {
namespace {

namespace fs = std::filesystem;

// Patterns for the innermost folders of a file, the innermost last. {rank}, {device}, {graph} and {iteration} are
// numbers of the place. {time} is fourteen digits, {number} any number, {name} any text. Everything else is literal.
// The first pattern that fits counts.
constexpr std::string_view kLayouts[] = {
    // MindSpore O0 and O1, CPU, GPU; r1.5's dumps
    "rank_{rank}/{name}/{graph}/{iteration}",
    "rank_{rank}/{name}/{graph}/constants",
    // MindSpore O2
    "{number}/{time}/{device}/{name}/{graph}/{iteration}",
    // TorchAir
    "worldsize{number}_global_rank{rank}/{time}/{device}/{name}/{graph}/{iteration}",
    // CANN's acl.json: a model, and a single operator
    "{time}/{device}/{name}/{graph}/{iteration}",
    "{time}/{device}",
    // r1.5's asynchronous dump, as documented
    "{device}/{name}_graph_{number}/{graph}/{iteration}",
    // msprobe; before it knows its rank, and older versions
    "step{iteration}/rank{rank}/dump_tensor_data",
    "step{iteration}/rank/dump_tensor_data",
    "step{iteration}/proc{number}/dump_tensor_data",
    "step{iteration}/pid{number}/dump_tensor_data",
    // msprobe's rows of O2
    "rank_{rank}/{time}/step_{iteration}",
};

struct Match {
  DumpPlace place;
  bool has_rank = false, has_device = false;
  std::string name = {};         // of the model or network
  std::string_view layout = {};  // that fits
};

std::string_view take(std::string_view& text, std::string_view end) {
  const auto length = std::min(text.find(end), text.size());
  const std::string_view taken = text.substr(0, length);
  text.remove_prefix(length);
  return taken;
}

template <typename Number>
bool number_in(std::string_view text, Number& number) {
  const auto end = text.data() + text.size();
  const auto [stop, fault] = std::from_chars(text.data(), end, number);
  return fault == std::errc{} && stop == end && !text.empty();
}

bool accept(std::string_view field, std::string_view text, Match& match) {
  std::uint64_t number = 0;
  if (field == "{name}") match.name = text;
  if (field == "{name}") return !text.empty();
  if (field == "{rank}") return match.has_rank = number_in(text, match.place.rank);
  if (field == "{device}") return match.has_device = number_in(text, match.place.device);
  if (field == "{graph}") return number_in(text, match.place.graph);
  if (field == "{iteration}") return number_in(text, match.place.iteration);
  return number_in(text, number) && (field != "{time}" || text.size() == 14);
}

// A field extends to the last occurrence of the text that follows it in the pattern.
bool fits(std::string_view pattern, std::string_view folder, Match& match) {
  while (!pattern.empty()) {
    const std::string_view text = take(pattern, "{");
    if (!folder.starts_with(text)) return false;
    folder.remove_prefix(text.size());
    if (pattern.empty()) break;
    const std::string_view field = pattern.substr(0, pattern.find('}') + 1);
    pattern.remove_prefix(field.size());
    std::string_view ahead = pattern;
    const std::string_view behind = take(ahead, "{");
    const auto end = behind.empty() ? folder.size() : folder.rfind(behind);
    if (end == folder.npos || !accept(field, folder.substr(0, end), match)) return false;
    folder.remove_prefix(end);
  }
  return folder.empty();
}

std::size_t folder_count(std::string_view layout) {
  return static_cast<std::size_t>(std::ranges::count(layout, '/')) + 1;
}

std::optional<Match> found_by(std::string_view layout, const std::vector<std::string>& folders) {
  Match match;
  match.layout = layout;
  const std::size_t count = folder_count(layout);
  if (folders.size() < count) return std::nullopt;
  for (auto folder = folders.end() - static_cast<std::ptrdiff_t>(count); folder != folders.end(); ++folder) {
    const std::string_view pattern = take(layout, "/");
    layout.remove_prefix(std::min<std::size_t>(layout.size(), 1));
    if (!fits(pattern, *folder, match)) return std::nullopt;
    if (pattern == "constants") match.place.constants = true;
  }
  if (match.has_rank && !match.has_device) match.place.device = match.place.rank % 8;
  if (match.has_device && !match.has_rank) match.place.rank = match.place.device;
  return match;
}

// The innermost folders of a file, the innermost last.
std::vector<std::string> folders_of(const std::string& path) {
  constexpr std::size_t kMostFolders = 6;
  std::vector<std::string> folders;
  std::error_code ignored;
  for (auto folder = fs::absolute(path, ignored).lexically_normal().parent_path();
       folder.has_relative_path() && folders.size() < kMostFolders; folder = folder.parent_path()) {
    folders.push_back(folder.filename().string());
  }
  std::ranges::reverse(folders);
  return folders;
}

std::optional<Match> find_in_dump(const std::string& path) {
  const auto folders = folders_of(path);
  for (const std::string_view layout : kLayouts) {
    if (auto match = found_by(layout, folders)) return match;
  }
  return std::nullopt;
}

// A path in the folder of the tensors: msprobe keeps them in a folder beside dump.json.
std::string beside_tensors(const std::string& path) {
  const fs::path file(path), name = file.filename();
  const bool is_of_msprobe = name == "dump.json" || name == "debug.json";
  return is_of_msprobe ? (file.parent_path() / "dump_tensor_data" / name).string() : path;
}

}  // namespace

std::optional<DumpPlace> place_in_dump(const std::string& path) {
  const auto match = find_in_dump(path);
  return match ? std::optional(match->place) : std::nullopt;
}

std::string model_in_dump(const std::string& path) {
  const auto match = find_in_dump(path);
  return match && match->layout.find("{time}/{device}/{name}") != match->layout.npos ? match->name : std::string();
}

std::optional<DumpPlace> place_of_rows(const std::string& path) { return place_in_dump(beside_tensors(path)); }

DumpPlace place_of_file(const std::string& path) { return place_in_dump(path).value_or(DumpPlace{}); }

const std::optional<DumpPlace>& FolderPlaces::of(const std::string& path) {
  const std::string_view folder = std::string_view(path).substr(0, path.rfind('/') + 1);  // npos + 1 is 0
  if (folder_ != folder) {
    place_ = place_in_dump(path);
    folder_ = folder;
  }
  return place_;
}

std::string_view name(Execution execution) {
  constexpr std::string_view kNames[] = {"", "pynative", "graph"};
  return kNames[static_cast<int>(execution)];
}

Execution execution_of_file(const std::string& path) {
  std::error_code ignored;
  Execution above = Execution::kUnknown, execution = Execution::kUnknown;
  for (const fs::path& part : fs::absolute(path, ignored).lexically_normal()) {
    const std::string folder = part.string();
    Match step;
    if (above != Execution::kUnknown && fits("step{iteration}", folder, step)) execution = above;
    above = folder == name(Execution::kGraph)      ? Execution::kGraph
            : folder == name(Execution::kPynative) ? Execution::kPynative
                                                   : Execution::kUnknown;
  }
  return execution;
}

std::optional<FileOfRun> file_of_run(const std::string& path) {
  const auto match = find_in_dump(beside_tensors(path));
  if (!match) return std::nullopt;
  std::error_code ignored;
  const fs::path file = fs::absolute(path, ignored).lexically_normal();
  fs::path run = fs::path(beside_tensors(file.string())).parent_path();
  std::size_t above = folder_count(match->layout);
  if (execution_of_file(path) != Execution::kUnknown) ++above;
  for (; above != 0; --above) run = run.parent_path();
  return FileOfRun{run.string(), file.lexically_relative(run).string()};
}

void add_place(const std::string& path, const std::optional<DumpPlace>& place, Identity& identity) {
  const auto add = [&](std::string_view name, Cell cell) {
    if (identity.find(name) == nullptr) identity.set(name, std::move(cell));
  };
  add("path", path);
  if (!place) return;
  add("rank", std::uint64_t{place->rank});
  add("graph", std::uint64_t{place->graph});
  if (!place->constants) add("iteration", place->iteration);
}

}  // namespace tensorstat
