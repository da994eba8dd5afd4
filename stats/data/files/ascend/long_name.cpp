#include "stats/data/files/ascend/long_name.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <random>

#include "stats/data/files/io/text_lines.hpp"
#include "stats/data/files/io/whole_file.hpp"

namespace tensorstat {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnds[] = {".npy", ".json", ".csv", ".bin"};

std::string_view end_of(std::string_view name) {
  const auto end = std::ranges::find_if(kEnds, [&](std::string_view each) { return name.ends_with(each); });
  return end == std::end(kEnds) ? std::string_view() : *end;
}

}  // namespace

std::string number_for(const std::string& folder, std::string_view long_name) {
  thread_local std::mt19937 random{std::random_device{}()};
  const std::string_view end = end_of(long_name);
  const bool is_mindspores = end == ".npy" || end == ".json";
  std::error_code ignored;
  for (;;) {
    std::string name;
    if (is_mindspores) {
      name = std::to_string(std::uniform_int_distribution<std::int32_t>(0)(random));
    } else {
      for (int i = 0; i < 32; ++i) name += static_cast<char>('0' + std::uniform_int_distribution<int>(0, 9)(random));
    }
    name += end;
    if (!fs::exists(folder + "/" + name, ignored)) return name;
  }
}

bool is_number(std::string_view file_name, std::size_t least_digits) {
  file_name.remove_suffix(end_of(file_name).size());
  return file_name.size() >= least_digits && file_name.find_first_not_of("0123456789") == file_name.npos;
}

std::string mapping_line(std::string_view number, std::string_view long_name) {
  return std::string(number).append(",").append(long_name);
}

std::vector<std::pair<std::string, std::string>> mapping_in(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> lines;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    const auto comma = line.find(',');
    if (comma != line.npos) lines.emplace_back(line.substr(0, comma), line.substr(comma + 1));
  }
  return lines;
}

Result<std::vector<std::pair<std::string, std::string>>> read_mapping(const std::string& folder) {
  constexpr std::size_t kMostBytes = std::size_t{64} << 20;
  const std::string path = folder + "/" + kMappingFile;
  std::error_code ignored;
  if (fs::symlink_status(path, ignored).type() == fs::file_type::not_found) {
    return std::vector<std::pair<std::string, std::string>>();
  }
  const auto text = read_whole_file(path, kMostBytes);
  if (!text) return text.error();
  return mapping_in(*text);
}

std::string LongNames::name_of(std::string_view path) {
  const auto slash = path.rfind('/');
  const std::string name(path.substr(slash + 1));  // npos + 1 is 0
  const std::string folder = slash == path.npos ? "." : std::string(path.substr(0, slash));
  constexpr std::size_t kMostFolders = 1024;
  if (folders_.size() == kMostFolders) folders_.clear();
  auto [entry, is_new] = folders_.try_emplace(folder);
  if (is_new) {
    auto lines = read_mapping(folder);
    if (!lines) unreadable_(lines.error());
    if (lines) entry->second.insert(lines->begin(), lines->end());
  }
  const auto mapped = entry->second.find(name);
  return mapped == entry->second.end() ? name : mapped->second;
}

}  // namespace tensorstat
