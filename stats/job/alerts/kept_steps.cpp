#include "stats/job/alerts/kept_steps.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <utility>

#include "stats/core/base/printable.hpp"
#include "stats/data/files/io/folders.hpp"
#include "stats/data/files/io/open_file.hpp"
#include "stats/data/files/io/own_file.hpp"
#include "stats/data/files/io/random_file.hpp"
#include "stats/data/files/io/text_lines.hpp"
#include "stats/data/files/io/whole_file.hpp"
#include "stats/data/files/npy/npy_writer.hpp"
#include "stats/data/json/json_text.hpp"
#include "stats/data/json/json_writer.hpp"
#include "stats/data/rows/category_names.hpp"
#include "stats/data/rows/csv/statistic_csv.hpp"
#include "stats/data/rows/names/direction.hpp"
#include "stats/data/rows/names/run_name.hpp"
#include "stats/job/alerts/ring_layout.hpp"

namespace tensorstat {
namespace {

constexpr std::size_t kMostRingBytes = std::size_t{4} << 30;
constexpr std::size_t kMostJournalBytes = std::size_t{256} << 20;

Result<KeptAbout> about_from(std::string_view text) {
  KeptAbout about;
  const auto dialect = dialect_from(take_line(text));
  about.net_name = take_line(text);
  auto categories = categories_from(take_line(text));
  const bool is_name = !about.net_name.empty() && about.net_name != "." && about.net_name != ".." &&
                       about.net_name.find('/') == about.net_name.npos;
  if (!dialect || !categories || !is_name) {
    return Error{Code::kUnreadable, "its header does not say which statistics it has"};
  }
  about.dialect = *dialect;
  about.categories = *std::move(categories);
  return about;
}

}  // namespace

std::string to_text(const KeptAbout& about) {
  return std::string(name(about.dialect)) + '\n' + about.net_name + '\n' + names_of(about.categories) + '\n';
}

namespace {

// Whether the header's sizes fit a file of so many bytes.
bool fits(const RingHeader& header, std::uint64_t bytes) {
  return std::memcmp(header.magic, kRingMagic, sizeof kRingMagic) == 0 && header.version == 1 &&
         header.slots_at >= sizeof header && header.about_bytes <= header.slots_at - sizeof header &&
         header.slots_at <= bytes && header.slot_bytes >= sizeof(SlotHeader) && header.slot_count != 0 &&
         header.slot_count <= (bytes - header.slots_at) / header.slot_bytes;
}

}  // namespace

Result<KeptSteps> read_ring(std::span<const std::byte> content) {
  const Error damaged{Code::kUnreadable, "is no ring of steps, or its header is damaged"};
  RingHeader header;
  if (content.size() < sizeof header) return damaged;
  std::memcpy(&header, content.data(), sizeof header);
  if (!fits(header, content.size())) return damaged;
  const auto* const text = reinterpret_cast<const char*>(content.data() + sizeof header);
  auto about = about_from({text, header.about_bytes});
  if (!about) return about.error();
  KeptSteps kept{.about = *std::move(about),
                 .rank = header.rank,
                 .process = header.process,
                 .is_closed = header.is_closed != 0,
                 .is_written_now = false,
                 .steps = {}};
  std::map<std::uint64_t, std::span<const std::byte>> slots;  // by number
  for (std::uint32_t i = 0; i < header.slot_count; ++i) {
    const auto slot = content.subspan(header.slots_at + i * header.slot_bytes, header.slot_bytes);
    std::uint64_t number = 0;
    std::memcpy(&number, slot.data(), sizeof number);
    if (number != 0) slots.emplace(number, slot);
  }
  for (const auto& [number, bytes] : slots) {
    SlotHeader slot;
    std::memcpy(&slot, bytes.data(), sizeof slot);
    KeptStep step{.step = slot.step,
                  .is_whole = slot.is_whole != 0,
                  .is_damaged = slot.bytes > bytes.size() - sizeof slot,
                  .lost_row_count = slot.lost_row_count,
                  .rows = {}};
    const auto rows = bytes.subspan(sizeof slot, std::min<std::uint64_t>(slot.bytes, bytes.size() - sizeof slot));
    if (!read_kept_rows(rows, kept.about.categories, step.rows)) step.is_damaged = true;
    if (!step.rows.empty() || step.is_damaged) kept.steps.push_back(std::move(step));
  }
  if (kept.steps.size() >= header.slot_count) kept.steps.erase(kept.steps.begin());
  return kept;
}

namespace {

// A living process may overwrite a slot during the read, and its new rows would count for the old step. Empties each
// slot with a changed number. False: another ring is at this path now.
bool drop_overwritten(const std::string& path, std::string& content) {
  RingHeader header, now;
  if (content.size() < sizeof header) return true;
  std::memcpy(&header, content.data(), sizeof header);
  if (!fits(header, content.size())) return true;
  const auto file = RandomFile::open(path);
  if (!file || !file->read_at(0, std::as_writable_bytes(std::span(&now, 1)))) return false;
  if (now.process != header.process || now.started_us != header.started_us || now.slot_bytes != header.slot_bytes) {
    return false;
  }
  for (std::uint32_t i = 0; i < header.slot_count; ++i) {
    const std::uint64_t offset = header.slots_at + i * header.slot_bytes;
    std::uint64_t number = 0;
    if (!file->read_at(offset, std::as_writable_bytes(std::span(&number, 1)))) return false;
    if (std::memcmp(content.data() + offset, &number, sizeof number) != 0)
      std::memset(&content[offset], 0, sizeof number);
  }
  return true;
}

Result<std::string> read_living(const std::string& path) {
  constexpr int kMostTries = 5;
  for (int tries = 1;; ++tries) {
    auto content = read_whole_file(path, kMostRingBytes);
    if (!content ? tries == kMostTries : drop_overwritten(path, *content)) return content;
    if (tries == kMostTries) return Error{Code::kUnreadable, printable(path) + ": changes while it is read; try again"};
  }
}

bool is_locked(const std::string& path) {
  const OwnFile file(open_file(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY));
  return file.is_open() && ::flock(file.descriptor(), LOCK_SH | LOCK_NB) != 0;
}

}  // namespace

Result<KeptSteps> read_ring_file(const std::string& path) {
  const bool is_written_now = is_locked(path);
  auto content = is_written_now ? read_living(path) : read_whole_file(path, kMostRingBytes);
  if (!content) return content.error();
  auto kept = read_ring(std::as_bytes(std::span(*content)));
  if (!kept) return Error{kept.error().code, path + ": " + kept.error().message};
  kept->is_written_now = is_written_now;
  return kept;
}

namespace {

// Writes the step's rows, unless they take more than `room`. Returns whether they are written.
Result<bool> write_step(const KeptSteps& kept, const KeptStep& step, const std::string& event, std::uint64_t& room) {
  std::map<std::string, std::string> texts;  // by folder
  std::uint64_t bytes = 0;
  for (const KeptRow& row : step.rows) {
    std::string folder = event_folder(event, kept.rank, kept.about.net_name, row.graph, step.step);
    if (row.is_constant) folder.replace(folder.rfind('/') + 1, folder.npos, "constants");
    std::string& text = texts[folder];
    if (text.empty()) text = csv_header(kept.about.categories, kept.about.dialect);
    text += csv_row(row.row, kept.about.dialect);
  }
  for (const auto& [folder, text] : texts) bytes += text.size();
  if (bytes > room) return false;
  room -= bytes;
  for (const auto& [folder, text] : texts) {
    if (const auto fault = make_folders(folder)) {
      return Error{Code::kUnwritable, fault->folder + ": cannot be made: " + std::strerror(fault->error)};
    }
    if (const Status written = write_whole_file(folder + "/statistic.csv", text); !written) return written.error();
  }
  return true;
}

}  // namespace

std::string journal_below(std::string_view folder, std::uint32_t rank, std::string_view net_name) {
  return std::string(folder) + "/rank_" + std::to_string(rank) + "/" + std::string(net_name) + "/watch.ndjson";
}

std::string read_journal(const std::string& path) {
  auto text = read_whole_file(path, kMostJournalBytes);
  return text ? *std::move(text) : std::string();
}

CalledFrom code_line_of(std::string_view journal, std::string_view op_name) {
  const std::string name = forward_name_of(op_name);
  const std::string wanted = json_quoted(name, true);
  for (std::size_t position = journal.rfind(wanted); position != journal.npos;
       position = position == 0 ? journal.npos : journal.rfind(wanted, position - 1)) {
    const std::size_t begin = journal.rfind('\n', position) + 1;  // npos + 1 is 0
    const auto document = parse_json(journal.substr(begin, journal.find('\n', position) - begin));
    if (!document || !document->root().is(JsonValue::Kind::kObject)) continue;
    const JsonValue line = document->root();
    const auto kind = line.find("kind"), op = line.find("op_name"), file = line.find("file"),
               number = line.find("line");
    const bool is_code = kind && op && kind->text() == "code" && op->text() == name;
    if (is_code && file && number && number->is(JsonValue::Kind::kNatural)) {
      return {std::string(file->text()), number->natural()};
    }
  }
  return {};
}

std::string event_folder(const std::string& event, std::uint32_t rank, const std::string& net_name, std::uint32_t graph,
                         std::uint64_t step) {
  return event + "/rank_" + std::to_string(rank) + "/" + net_name + "/" + std::to_string(graph) + "/" +
         std::to_string(step);
}

Result<std::size_t> write_event(const KeptSteps& kept, const std::string& journal, const std::string& event,
                                std::uint64_t& room) {
  std::size_t count = 0;
  for (auto step = kept.steps.rbegin(); step != kept.steps.rend(); ++step, ++count) {
    const auto is_written = write_step(kept, *step, event, room);
    if (!is_written) return is_written.error();
    if (!*is_written) break;
  }
  if (!journal.empty() && journal.size() <= room) {
    room -= journal.size();
    const Status written = write_whole_file(journal_below(event, kept.rank, kept.about.net_name), journal);
    if (!written) return written.error();
  }
  return count;
}

void remove_event_rows(const std::string& event, std::uint32_t rank) {
  namespace fs = std::filesystem;
  std::vector<fs::path> rows;
  std::error_code fault;
  for (fs::recursive_directory_iterator entry(event + "/rank_" + std::to_string(rank), fault), end;
       !fault && entry != end; entry.increment(fault)) {
    if (is_statistic_csv(entry->path().filename().string())) rows.push_back(entry->path());
  }
  for (const fs::path& file : rows) {
    fs::remove(file, fault);
    fs::remove(file.parent_path(), fault);  // if nothing else is in it
  }
}

}  // namespace tensorstat
