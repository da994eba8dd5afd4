// Which files have rows that a store lacks, and reading those.

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <span>
#include <unordered_map>

#include "stats/base/crc32.hpp"
#include "stats/base/printable.hpp"
#include "stats/files/io/random_file.hpp"
#include "stats/rows/csv/statistic_csv.hpp"
#include "stats/store/adding.hpp"
#include "stats/store/store.hpp"
#include "stats/survey/row_files.hpp"

namespace tensorstat {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kHeadBytes = 4096;

Result<std::uint64_t> run_named(Database& database, const std::string& name) {
  for (const char* sql : {"SELECT run FROM runs WHERE name=?", "INSERT OR IGNORE INTO runs(name) VALUES(?)",
                          "SELECT run FROM runs WHERE name=?"}) {
    auto statement = database.prepare(sql);
    if (!statement) return statement.error();
    statement->bind(1, name);
    const auto row = database.step(*statement);
    if (!row) return row.error();
    if (*row) return statement->number(0);
  }
  return Error{Code::kUnwritable, printable(database.path()) + ": the run cannot be made"};
}

using Sources = std::unordered_map<std::string, SourceState>;

Result<Sources> sources_of(Database& database, std::uint64_t run) {
  auto find = database.prepare(
      "SELECT path, source, device, inode, modified_ns, head_bytes, head_crc32, row_count, bytes, dialect, heading, "
      "statistics, columns, framework FROM sources WHERE run=?");
  if (!find) return find.error();
  find->bind(1, run);
  Sources sources;
  while (true) {
    const auto row = database.step(*find);
    if (!row) return row.error();
    if (!*row) return sources;
    SourceState& state = sources[std::string(find->text(0))];
    state = {find->number(1),
             find->number(2),
             find->number(3),
             find->number(4),
             find->number(5),
             find->number(6),
             find->number(7),
             {find->number(8), std::string(find->text(10)), dialect_from(find->text(9))},
             std::string(find->text(11)),
             std::string(find->text(12)),
             std::string(find->text(13))};
  }
}

// The checksum of a file's first bytes; nullopt where they cannot be read.
std::optional<std::uint64_t> head_of(const std::string& path, std::uint64_t bytes) {
  const auto file = RandomFile::open(path);
  if (!file || file->size_bytes() < bytes) return std::nullopt;
  std::string head(bytes, '\0');
  if (!file->read_at(0, std::as_writable_bytes(std::span(head)))) return std::nullopt;
  return crc32_of(0, std::as_bytes(std::span(head)));
}

std::string names_of_columns(const std::vector<std::string>& columns) {
  std::string names;
  for (const std::string& column : columns) names.append(names.empty() ? "" : ",").append(column);
  return names;
}

// What is new in one file.
class FileReading {
 public:
  FileReading(const RowFile& file, std::string path, const SourceState& before)
      : file_(file), path_(std::move(path)), before_(before), after_(before) {}

  bool is_replaced() const { return is_replaced_; }
  bool is_json() const { return file_.path.ends_with(".json"); }

  // Whether there may be rows that the store lacks.
  Result<bool> looks_new() {
    struct stat facts = {};
    if (::stat(path_.c_str(), &facts) != 0) {
      return Error{Code::kUnreadable, printable(path_) + ": cannot be read: " + std::generic_category().message(errno)};
    }
    const auto size = static_cast<std::uint64_t>(facts.st_size);
    after_.device = facts.st_dev;
    after_.inode = facts.st_ino;
    after_.modified_ns = static_cast<std::uint64_t>(facts.st_mtim.tv_sec) * 1'000'000'000 +
                         static_cast<std::uint64_t>(facts.st_mtim.tv_nsec);
    if (before_.source == 0) return true;
    const bool is_same_file = before_.device == after_.device && before_.inode == after_.inode;
    if (is_same_file && size == before_.read.offset && after_.modified_ns == before_.modified_ns) return false;
    const bool has_head = head_of(path_, before_.head_bytes) == before_.head_crc32;
    is_replaced_ = !is_same_file || size < before_.read.offset || !has_head;
    if (is_json()) is_replaced_ = true;  // it is written whole each time
    if (is_replaced_) {
      after_.read = {};
      after_.row_count = 0;
    }
    return is_replaced_ || size > before_.read.offset;
  }

  // Takes rows until the batch is full. True: there may be more.
  Result<bool> read_into(Adding& adding) {
    const DumpPlace place = place_of_rows(path_).value_or(DumpPlace{});
    adding.begin(path_, file_.folder, before_, is_replaced_);
    bool is_stopped = false;
    const EachRow each = [&](Row&& row) {
      adding.add(row, place);
      is_stopped = !is_json() && adding.is_full();
      return is_stopped ? Status(Error{Code::kInvalid, "the batch is full"}) : Status();
    };
    const auto read = is_json() ? read_rows_of_file(path_, each) : read_growing_rows(path_, after_.read, each);
    if (read && (is_json() || after_.read.offset != 0)) note(*read);
    if (is_stopped) {
      const auto columns = read_columns(path_);
      if (columns) note(*columns);
    }
    if (is_json() && read) {
      struct stat facts = {};
      if (::stat(path_.c_str(), &facts) == 0) after_.read.offset = static_cast<std::uint64_t>(facts.st_size);
    }
    after_.head_bytes = std::min(kHeadBytes, after_.read.offset);
    after_.head_crc32 = head_of(path_, after_.head_bytes).value_or(0);
    adding.end(after_);
    if (!read && !is_stopped) return read.error();
    return is_stopped;
  }

 private:
  void note(const RowsRead& read) {
    after_.statistics = names_of(read.categories);
    after_.columns = names_of_columns(read.columns);
    after_.framework = read.framework;
    if (read.dialect) after_.read.dialect = read.dialect;
  }

  const RowFile& file_;
  const std::string path_;
  const SourceState before_;
  SourceState after_;
  bool is_replaced_ = false;
};

}  // namespace

Result<StoreAdded> Store::add(const std::vector<std::string>& paths, const std::string& run,
                              const std::function<void(std::string_view)>& told) {
  StoreAdded added;
  const auto complain = [&](const Error& error) {
    told(error.message);
    ++added.faults;
  };
  const auto number = run_named(database_, run);
  if (!number) return number.error();
  std::vector<Error> faults;
  std::vector<RowFile> files = find_row_files(paths, faults);
  for (const Error& fault : faults) complain(fault);

  // Files that another process adds at the same time, or that fill a batch, are looked at again with what is in the
  // store.
  Adding adding(database_, *number);
  std::size_t first = 0;
  while (first < files.size()) {
    auto sources = sources_of(database_, *number);
    if (!sources) return sources.error();
    bool is_full = false;
    std::size_t next = first;
    for (; next < files.size() && !is_full; ++next) {
      const RowFile& file = files[next];
      if (stored_path(file.path)) {
        complain({Code::kInvalid, printable(file.path) + ": is a store; add the dumps that it was made of"});
        continue;
      }
      std::error_code ignored;
      const std::string path = fs::absolute(file.path, ignored).lexically_normal().string();
      FileReading reading(file, path, (*sources)[path]);
      const auto is_new = reading.looks_new();
      if (!is_new) {
        complain(is_new.error());
        continue;
      }
      if (!*is_new) continue;
      if (reading.is_replaced() && !reading.is_json())
        told(printable(path) + ": was replaced; its rows are replaced, too");
      const auto more = reading.read_into(adding);
      if (!more || !*more) ++added.files;
      if (!more) complain(more.error());
      is_full = adding.is_full();
      if (more && *more) break;  // the same file again
    }
    if (adding.is_empty()) break;
    bool is_left = false;
    if (Status written = adding.flush(added.rows, is_left); !written) return written.error();
    if (!is_left) first = next;
  }
  return added;
}

}  // namespace tensorstat
