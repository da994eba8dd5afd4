#include "stats/dump/dumped_runs.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>

#include "stats/dump/dump_place.hpp"
#include "stats/files/whole_file.hpp"

namespace tensorstat {
namespace {

namespace fs = std::filesystem;

// The names that files had before they were too long, by folder and number.
class Mappings {
 public:
  explicit Mappings(const std::function<void(const Error&)>& unreadable) : unreadable_(unreadable) {}

  std::string name_of(const fs::path& file) {
    const std::string folder = file.parent_path().string(), name = file.filename().string();
    auto [at, is_new] = folders_.try_emplace(folder);
    if (is_new) read(folder, at->second);
    const auto mapped = at->second.find(name);
    return mapped == at->second.end() ? name : mapped->second;
  }

 private:
  using Names = std::map<std::string, std::string>;

  void read(const std::string& folder, Names& names) {
    auto lines = read_mapping(folder);
    if (!lines) return unreadable_(lines.error());
    for (auto& [number, name] : *lines) names[std::move(number)] = std::move(name);
  }

  const std::function<void(const Error&)>& unreadable_;
  std::map<std::string, Names> folders_;
};

bool came_before(const DumpedFile& a, const DumpedFile& b) {
  const auto order = [](const Identity& who) { return std::tie(who.timestamp_us, who.io, who.slot); };
  return order(a.named.identity) < order(b.named.identity);
}

// Cuts the files of one operator in one iteration into its runs.
void add_runs(std::vector<DumpedFile>& files, std::vector<DumpedRun>& runs) {
  std::stable_sort(files.begin(), files.end(), came_before);
  std::set<std::pair<std::string, std::uint64_t>> seen;  // inputs and outputs of the run that is being filled
  for (DumpedFile& file : files) {
    const Identity& who = file.named.identity;
    if (seen.empty() || !seen.emplace(who.io, who.slot).second) {
      runs.emplace_back();
      seen = {{who.io, who.slot}};
    }
    runs.back().push_back(std::move(file));
  }
}

}  // namespace

Result<std::vector<std::pair<std::string, std::string>>> read_mapping(const std::string& folder) {
  constexpr std::size_t kMostBytes = std::size_t{64} << 20;
  std::vector<std::pair<std::string, std::string>> lines;
  const std::string path = folder + "/mapping.csv";
  std::error_code ignored;
  if (fs::symlink_status(path, ignored).type() == fs::file_type::not_found) return lines;
  const auto text = read_whole_file(path, kMostBytes);
  if (!text) return text.error();
  for (std::string_view rest = *text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const auto comma = line.find(',');
    if (comma != line.npos) lines.emplace_back(line.substr(0, comma), line.substr(comma + 1));
  }
  return lines;
}

std::vector<DumpedRun> dumped_runs(const std::vector<std::string>& files,
                                   const std::function<void(const Error&)>& unreadable) {
  Mappings mappings(unreadable);
  using Operator = std::tuple<std::string, std::string, std::string, std::uint64_t, std::uint64_t>;
  std::map<Operator, std::vector<DumpedFile>> operators;
  for (const std::string& path : files) {
    const NamedTensor named = named_tensor(mappings.name_of(path), 1);
    const Identity& who = named.identity;
    operators[{fs::path(path).parent_path().string(), who.op_type, who.op_name, who.task_id, who.stream_id}]
        .push_back({path, named, place_of_file(path)});
  }
  std::vector<DumpedRun> runs;
  for (auto& [key, of_operator] : operators) add_runs(of_operator, runs);
  std::stable_sort(runs.begin(), runs.end(), [](const DumpedRun& a, const DumpedRun& b) {
    return a[0].named.identity.timestamp_us < b[0].named.identity.timestamp_us;
  });
  return runs;
}

}  // namespace tensorstat
