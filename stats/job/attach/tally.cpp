#include "stats/job/attach/tally.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "stats/data/files/io/open_file.hpp"
#include "stats/data/files/io/own_file.hpp"

namespace tensorstat::attach {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolder = "/.attach";

// The counters in the order of the file. New ones go to the end.
constexpr std::atomic<std::uint64_t> Tally::*kCounters[] = {
    &Tally::launches,       &Tally::measured, &Tally::not_understood, &Tally::left_out, &Tally::images,
    &Tally::unknown_memory, &Tally::scratch,  &Tally::lost_rows,      &Tally::poisoned, &Tally::unknown_commands,
};
constexpr std::uint64_t Total::*kTotals[] = {
    &Total::launches,       &Total::measured, &Total::not_understood, &Total::left_out, &Total::images,
    &Total::unknown_memory, &Total::scratch,  &Total::lost_rows,      &Total::poisoned, &Total::unknown_commands,
};
static_assert(std::size(kCounters) == std::size(kTotals));

// As it lies in the file.
struct Stored {
  static constexpr std::uint64_t kMagic = 0x32'79'6c'6c'61'74'73'74;  // "tstally2"
  std::uint64_t magic = kMagic;
  std::uint64_t counters[std::size(kCounters)] = {};
  char reason[256] = {};
  friend bool operator==(const Stored&, const Stored&) = default;
};

// Whoever may write the file: its counters are only added up, and its text may lack an end.
std::optional<Stored> read_stored(const fs::path& path) {
  std::error_code failed;
  if (!fs::is_regular_file(path, failed)) return std::nullopt;
  Stored stored;
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(&stored), sizeof stored);
  if (file.gcount() != sizeof stored || stored.magic != Stored::kMagic) return std::nullopt;
  return stored;
}
std::string reason_of(const Stored& stored) { return {stored.reason, strnlen(stored.reason, sizeof stored.reason)}; }

// Never destroyed: the collector's thread may write it during exit.
struct TallyFile {
  Tally tally;
  std::string path;
  OwnFile file;
  std::optional<Stored> written;
};
TallyFile& tally_file() {
  static TallyFile& all = *new TallyFile;
  return all;
}

}  // namespace

void Tally::left_out_because(std::string_view why) {
  const std::lock_guard lock(mutex_);
  if (reason_.empty()) reason_ = why;
}

std::string Tally::reason() const {
  const std::lock_guard lock(mutex_);
  return reason_;
}

Tally& open_tally(const std::string& out) {
  TallyFile& ours = tally_file();
  std::error_code failed;
  fs::create_directories(out + kFolder, failed);
  ours.path = out + kFolder + "/" + std::to_string(getpid());
  if (const auto before = read_stored(ours.path)) {
    for (std::size_t i = 0; i < std::size(kCounters); ++i) ours.tally.*kCounters[i] = before->counters[i];
    ours.tally.left_out_because(reason_of(*before));
  }
  write_tally();
  return ours.tally;
}

void write_tally() {
  TallyFile& ours = tally_file();
  Stored now;
  for (std::size_t i = 0; i < std::size(kCounters); ++i) now.counters[i] = ours.tally.*kCounters[i];
  ours.tally.reason().copy(now.reason, sizeof now.reason);
  if (ours.path.empty() || ours.written == now) return;
  int file = ours.file.descriptor();
  if (file < 0) {
    ours.file = OwnFile(open_file(ours.path.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644));
    file = ours.file.descriptor();
  }
  if (file >= 0 && pwrite(file, &now, sizeof now, 0) == static_cast<ssize_t>(sizeof now)) ours.written = now;
}

Result<Total> read_tallies(const std::string& out) {
  Total total;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(out + kFolder, failed)) {
    const auto stored = read_stored(entry.path());
    if (!stored) continue;
    ++total.processes;
    for (std::size_t i = 0; i < std::size(kTotals); ++i) total.*kTotals[i] += stored->counters[i];
    if (total.reason.empty()) total.reason = reason_of(*stored);
  }
  if (total.processes == 0) return Error{Code::kUnreadable, out + ": no process has loaded the layer"};
  return total;
}

}  // namespace tensorstat::attach
