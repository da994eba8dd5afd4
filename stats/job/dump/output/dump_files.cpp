#include "stats/job/dump/output/dump_files.hpp"

#include <algorithm>
#include <ctime>
#include <exception>
#include <filesystem>

#include "stats/core/base/printable.hpp"
#include "stats/core/base/unfinished_files.hpp"
#include "stats/data/files/ascend/long_name.hpp"

namespace tensorstat {
namespace {

constexpr std::size_t kMostOpenFiles = 64, kMostBegunFolders = 1024;

// Limit in bytes for waiting lines, separately for rows and for other lines.
constexpr std::size_t kMostWaitingBytes = std::size_t{16} << 20;

// After so many refusals a round of retries ends: most often the disk is full for all files.
constexpr int kMostRefusals = 16;

std::uint64_t line_count(std::string_view text) {
  return static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
}

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

}  // namespace

std::string now_as_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y%m%d%H%M%S", &parts)};
}

void DumpFiles::append_rows(const std::string& folder, std::string_view name, std::string_view heading,
                            std::string_view rows) noexcept try {
  if (rows.empty()) return;
  file_at((folder + "/").append(name), heading, rows_).append(rows);
} catch (const std::exception&) {  // no memory for the path
  rows_->dropped += line_count(rows);
  notices_->warn_once("memory for rows", "out of memory: rows are lost");
}

bool DumpFiles::append_line(const std::string& path, std::string_view line) noexcept try {
  return file_at(path, "", lines_).append(std::string(line) + '\n') != AppendFile::Outcome::kDropped;
} catch (const std::exception&) {
  ++lines_->dropped;
  notices_->warn_once("memory for lines", [&] { return "out of memory: a line of " + path + " is lost"; });
  return false;
}

bool DumpFiles::has(const std::string& folder, const std::string& name) const {
  return name.size() <= kMostNameBytes && exists(folder + "/" + name);
}

DumpFiles::Destination DumpFiles::destination_of(const std::string& folder, const std::string& file_name) {
  if (file_name.size() <= kMostNameBytes) return {folder + "/" + file_name, ""};
  const std::string number = number_for(folder, file_name);
  return {folder + "/" + number, mapping_line(number, file_name)};
}

Status DumpFiles::save(const std::string& folder, const std::string& name,
                       const std::function<Status(const std::string& path)>& write) {
  begin_folder(folder);
  const auto [path, mapping] = destination_of(folder, name);
  const std::string explained = folder + "/" + kMappingFile;  // allocate first: after write() nothing may throw
  if (Status written = write(path); !written) return written;
  if (mapping.empty() || append_line(explained, mapping)) return {};
  return Error{Code::kUnwritable, printable(explained) + ": the line with a long name is lost"};
}

bool DumpFiles::save_tensor(const std::string& folder, const std::string& name, const NpyContent& content) {
  const Status saved =
      save(folder, name, [&](const std::string& path) { return write_npy(path, content, sync_ == Sync::kRow); });
  if (!saved) {
    notices_->warn_once("npy", [&] { return saved.error().message + "; more such files may be missing"; });
    return false;
  }
  ++tensor_file_count_;
  return true;
}

Status DumpFiles::save_run(const std::string& folder, const std::string& name,
                           const std::function<Status(const WritePiece& write)>& fill) {
  const Status saved =
      save(folder, name, [&](const std::string& path) { return write_whole_file(path, fill, sync_ == Sync::kRow); });
  if (saved) ++tensor_file_count_;
  return saved;
}

Status DumpFiles::save_text(const std::string& folder, const std::string& name, std::string_view text) {
  const auto fill = [&](const WritePiece& write) { return write(text), Status(); };
  return save(folder, name, [&](const std::string& path) { return write_whole_file(path, fill, sync_ == Sync::kRow); });
}

void DumpFiles::save_text(const std::string& path, std::string_view text) noexcept try {
  const std::size_t slash = path.rfind('/');
  const Status saved = save_text(path.substr(0, slash), path.substr(slash + 1), text);
  if (!saved) notices_->warn_once("text", [&] { return saved.error().message; });
} catch (const std::exception&) {
  notices_->warn_once("memory for texts", [&] { return "out of memory: " + path + " is missing"; });
}

// A killed process may have left temporary files in the folder.
void DumpFiles::begin_folder(const std::string& folder) {
  if (begun_folders_.size() >= kMostBegunFolders) begun_folders_.clear();
  if (begun_folders_.insert(folder).second) remove_unfinished_files(folder);
}

AppendFile& DumpFiles::file_at(const std::string& path, std::string_view heading,
                               const std::shared_ptr<LineTally>& tally) {
  if (const auto known = by_path_.find(path); known != by_path_.end()) {
    const auto file = known->second;
    // splice() moves it from either list.
    open_.splice(open_.end(), file->is_released ? waiting_ : open_, file);
    file->is_released = false;
  } else {
    AppendOptions options;
    options.path = path;
    options.header = heading;
    options.sync = sync_;
    options.queue_bytes = kMostWaitingBytes;
    options.tally = tally;
    options.read_only_when_closed = true;
    Files fresh;
    fresh.push_back({path, std::make_unique<AppendFile>(std::move(options), notices_)});
    by_path_.emplace(fresh.front().path, fresh.begin());
    open_.splice(open_.end(), fresh);
  }
  while (open_.size() > kMostOpenFiles) release(open_.begin());
  return *open_.back().lines;
}

// If the disk refuses the lines, they are kept after the file is closed.
void DumpFiles::release(Files::iterator file) noexcept {
  if (file->lines->release()) return forget(open_, file);
  file->is_released = true;
  waiting_.splice(waiting_.end(), open_, file);
}

void DumpFiles::forget(Files& files, Files::iterator file) noexcept {
  by_path_.erase(file->path);
  files.erase(file);
}

void DumpFiles::try_waiting() noexcept {
  int refusals = 0;
  for (auto left = waiting_.size(); left != 0 && refusals < kMostRefusals; --left) {
    const auto file = waiting_.begin();
    if (file->lines->release()) {
      forget(waiting_, file);
    } else {
      ++refusals;
      waiting_.splice(waiting_.end(), waiting_, file);  // next time the others come first
    }
  }
}

void DumpFiles::close_folder(const std::string& folder) noexcept {
  for (auto next = open_.begin(); next != open_.end();) {
    const auto here = next++;
    const std::string& path = here->path;
    if (path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/') release(here);
  }
  try_waiting();
}

void DumpFiles::flush() noexcept {
  for (const File& file : open_) file.lines->flush();
  try_waiting();
}

void DumpFiles::close_all() noexcept {
  for (Files* files : {&open_, &waiting_}) {
    for (const File& file : *files) file.lines->close();
    while (!files->empty()) forget(*files, files->begin());
  }
}

}  // namespace tensorstat
