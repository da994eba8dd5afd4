#include "stats/dump/dump_writer.hpp"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <new>

#include "stats/core/unfinished_files.hpp"
#include "stats/dump/mindspore/json_text.hpp"
#include "stats/rows/statistic_csv.hpp"

namespace tensorstat {
namespace {

constexpr std::size_t kMostOpenFiles = 64, kMostBegunFolders = 1024;

// Bytes of lines that wait, of rows and of other lines.
constexpr std::size_t kMostWaitingBytes = std::size_t{16} << 20;

// So many files that refuse their lines end a round of trying: most often the disk is full for all of them.
constexpr int kMostRefusals = 16;

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

void DumpWriter::append_rows(const std::string& folder, std::string_view rows) noexcept try {
  if (rows.empty()) return;
  file_at(folder + "/statistic.csv").append(rows);
} catch (const std::exception&) {  // there was no memory even for the path
  rows_->dropped += line_count(rows);
  notices_->warn_once("memory for rows", "out of memory: rows are lost");
}

bool DumpWriter::append_line(const std::string& path, std::string_view line) noexcept try {
  return file_at(path).append(std::string(line) + '\n') != AppendFile::Outcome::kDropped;
} catch (const std::exception&) {
  ++lines_->dropped;
  notices_->warn_once("memory for lines", [&] { return "out of memory: a line of " + path + " is lost"; });
  return false;
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

bool DumpWriter::save_tensor(const std::string& folder, Identity& identity, const std::string& format,
                             std::string_view dtype, const NpyContent& content) {
  begin_folder(folder);
  Destination to = destination_of(folder, npy_file_name(identity, format, dtype));
  while (exists(to.path)) {
    ++identity.timestamp_us;
    to = destination_of(folder, npy_file_name(identity, format, dtype));
  }
  if (Status written = write_npy(to.path, content, options_.sync == Sync::kRow); !written) {
    notices_->warn_once("npy", [&] { return written.error().message + "; more such files may be missing"; });
    return false;
  }
  if (!to.mapping_line.empty() && !append_line(folder + "/mapping.csv", to.mapping_line)) return false;
  ++file_count_;
  return true;
}

void DumpWriter::save_text(const std::string& path, std::string_view text) noexcept try {
  const std::size_t slash = path.rfind('/');
  const std::string folder = path.substr(0, slash);
  begin_folder(folder);
  const auto [actual_path, mapping_line] = destination_of(folder, path.substr(slash + 1));
  if (Status written = write_whole_file(actual_path, text); !written) {
    notices_->warn_once("text", [&] { return written.error().message; });
  } else if (!mapping_line.empty()) {
    append_line(folder + "/mapping.csv", mapping_line);
  }
} catch (const std::exception&) {
  notices_->warn_once("memory for texts", [&] { return "out of memory: " + path + " is missing"; });
}

void DumpWriter::save_metadata(std::uint32_t rank) noexcept try {
  if (!known_ranks_.insert(rank).second) return;
  const std::string folder = folders_.rank_folder(rank) + "/.dump_metadata";
  const std::pair<std::string, std::string> texts[] = {
      {folder + "/data_dump.json", config_.text},
      {folder + "/config.json", "{\"device_target\":" + json_quoted(options_.device_target) +
                                    ",\"ms_version\":" + json_quoted(options_.framework_version) + "}"}};
  for (const auto& [path, text] : texts) {
    if (exists(path)) {
      notices_->warn_once(path, path + " is there from an earlier run and is kept");
    } else {
      save_text(path, text);
    }
  }
} catch (const std::exception&) {
  notices_->warn_once("memory for metadata", "out of memory: .dump_metadata of a rank is missing");
}

// A process that was killed may have left files there that never got their names.
void DumpWriter::begin_folder(const std::string& folder) {
  if (begun_folders_.size() >= kMostBegunFolders) begun_folders_.clear();
  if (begun_folders_.insert(folder).second) remove_unfinished_files(folder);
}

AppendFile& DumpWriter::file_at(const std::string& path) {
  if (const auto known = by_path_.find(path); known != by_path_.end()) {
    const auto at = known->second;
    // splice() moves it from whichever list it is in.
    open_.splice(open_.end(), at->is_released ? waiting_ : open_, at);
    at->is_released = false;
  } else {
    const bool has_rows = path.ends_with("/statistic.csv");
    AppendOptions options;
    options.path = path;
    if (has_rows) options.header = header_;
    options.sync = options_.sync;
    options.queue_bytes = kMostWaitingBytes;
    options.tally = has_rows ? rows_ : lines_;
    options.read_only_when_closed = true;
    Files fresh;
    fresh.push_back({path, std::make_unique<AppendFile>(std::move(options), notices_)});
    by_path_.emplace(fresh.front().path, fresh.begin());
    open_.splice(open_.end(), fresh);
  }
  while (open_.size() > kMostOpenFiles) release(open_.begin());
  return *open_.back().lines;
}

// Lines that the disk does not take survive the closing.
void DumpWriter::release(Files::iterator at) noexcept {
  if (at->lines->release()) return forget(open_, at);
  at->is_released = true;
  waiting_.splice(waiting_.end(), open_, at);
}

void DumpWriter::forget(Files& files, Files::iterator at) noexcept {
  by_path_.erase(at->path);
  files.erase(at);
}

void DumpWriter::try_waiting() noexcept {
  int refusals = 0;
  for (auto left = waiting_.size(); left != 0 && refusals < kMostRefusals; --left) {
    const auto at = waiting_.begin();
    if (at->lines->release()) {
      forget(waiting_, at);
    } else {
      ++refusals;
      waiting_.splice(waiting_.end(), waiting_, at);  // the others come first, next time
    }
  }
}

void DumpWriter::close_folder(const DumpPlace& place) noexcept try {
  const std::string folder = folders_.folder(place);
  for (auto at = open_.begin(); at != open_.end();) {
    const auto here = at++;
    const std::string& path = here->path;
    if (path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/') release(here);
  }
  try_waiting();
} catch (const std::bad_alloc&) {
  notices_->warn_once("memory for closing", "out of memory: the files of a step stay open");
}

bool DumpWriter::flush() noexcept {
  bool all = true;
  for (const File& file : open_) all &= file.lines->flush();
  try_waiting();
  return all && waiting_.empty();
}

void DumpWriter::close_all() noexcept {
  for (Files* files : {&open_, &waiting_}) {
    for (const File& file : *files) file.lines->close();
    while (!files->empty()) forget(*files, files->begin());
  }
}

}  // namespace tensorstat
