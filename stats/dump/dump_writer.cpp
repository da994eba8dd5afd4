#include "stats/dump/dump_writer.hpp"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "stats/rows/statistic_csv.hpp"

namespace tensorstat {
namespace {

constexpr std::size_t kMostOpenFiles = 64;

// Local time as 20240131235959.
std::string now_as_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y%m%d%H%M%S", &parts)};
}

std::uint64_t line_count(std::string_view text) {
  return static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
}

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

}  // namespace

DumpWriter::DumpWriter(const DumpConfig& config, const DumpOptions& options,
                       const Categories& columns, std::shared_ptr<Notices> notices)
    : config_(config),
      options_(options),
      header_(csv_header(columns, options.dialect)),
      notices_(std::move(notices)),
      folders_(config, options.layout, now_as_text()) {}

void DumpWriter::append_rows(const std::string& folder, std::string_view rows) {
  file_at(folder + "/statistic.csv", header_).append(rows);
  counters_.rows += line_count(rows);  // what the file drops is taken off when it retires
}

void DumpWriter::append_line(const std::string& path, std::string_view line) {
  file_at(path, "").append(std::string(line) + '\n');
}

DumpWriter::Destination DumpWriter::destination_of(const std::string& folder, const std::string& file_name) {
  if (file_name.size() <= kMostNameBytes) return {folder + "/" + file_name, ""};
  std::uniform_int_distribution<std::int32_t> any(0);
  std::string number;
  do {
    number = std::to_string(any(random_)) + file_name.substr(file_name.rfind('.'));
  } while (exists(folder + "/" + number));
  return {folder + "/" + number, number + "," + file_name};
}

bool DumpWriter::save_tensor(const std::string& folder, const std::string& file_name, const NpyContent& content) {
  const auto [path, mapping_line] = destination_of(folder, file_name);
  if (Status written = write_npy(path, content, options_.sync == Sync::kRow); !written) {
    notices_->warn_once("npy", written.error().message + "; more such files may be missing");
    return false;
  }
  if (!mapping_line.empty()) append_line(folder + "/mapping.csv", mapping_line);
  ++counters_.files;
  return true;
}

void DumpWriter::save_text(const std::string& path, std::string_view text) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = path.substr(0, slash);
  const auto [actual_path, mapping_line] = destination_of(folder, path.substr(slash + 1));
  if (Status written = write_whole_file(actual_path, text); !written) {
    notices_->warn_once("text", written.error().message);
  } else if (!mapping_line.empty()) {
    append_line(folder + "/mapping.csv", mapping_line);
  }
}

void DumpWriter::save_metadata(std::uint32_t rank) {
  if (!known_ranks_.insert(rank).second) return;
  const std::string folder = folders_.rank_folder(rank) + "/.dump_metadata";
  const nlohmann::json facts = {{"device_target", options_.device_target},
                                {"ms_version", options_.framework_version}};
  const std::pair<std::string, std::string> texts[] = {
      {folder + "/data_dump.json", config_.text},
      {folder + "/config.json",
       facts.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)}};
  for (const auto& [path, text] : texts) {
    if (exists(path)) {
      notices_->warn_once(path, path + " is there from an earlier run and is kept");
    } else {
      save_text(path, text);
    }
  }
}

AppendFile& DumpWriter::file_at(const std::string& path, std::string_view header) {
  if (const auto at = files_.find(path); at != files_.end()) {
    at->second.ended = false;
    return *at->second.file;
  }
  if (files_.size() >= kMostOpenFiles) retire(files_.begin());
  AppendOptions options;
  options.path = path;
  options.header = header;
  options.sync = options_.sync;
  options.read_only_when_closed = true;
  OpenFile& open = files_[path];
  open.file = std::make_unique<AppendFile>(std::move(options), notices_);
  return *open.file;
}

void DumpWriter::retire(Files::iterator at) {
  at->second.file->close();
  const std::uint64_t lost = at->second.file->counters().dropped_count;
  if (at->first.ends_with("/statistic.csv")) {
    counters_.lost_rows += lost;
    counters_.rows -= lost;
  }
  files_.erase(at);
}

void DumpWriter::close_folder(const std::string& folder) {
  for (auto at = files_.begin(); at != files_.end();) {
    const auto here = at++;
    OpenFile& open = here->second;
    open.ended |= here->first.starts_with(folder + "/");
    if (open.ended && open.file->flush()) retire(here);
  }
}

void DumpWriter::close_all() {
  while (!files_.empty()) retire(files_.begin());
}

}  // namespace tensorstat
