// Which files have rows that a store lacks, and reading those.

#include <filesystem>
#include <unordered_map>
#include <unordered_set>

#include "stats/answer/store/adding.hpp"
#include "stats/answer/store/store.hpp"
#include "stats/core/base/printable.hpp"
#include "stats/data/rows/category_names.hpp"
#include "stats/data/rows/rows_of_file.hpp"
#include "stats/data/survey/growing_row_file.hpp"
#include "stats/data/survey/row_files.hpp"

namespace tensorstat {
namespace {

namespace fs = std::filesystem;

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
             {.is_known = true,
              .device = find->number(2),
              .inode = find->number(3),
              .modified_ns = find->number(4),
              .head_bytes = find->number(5),
              .head_crc32 = find->number(6),
              .row_count = find->number(7),
              .read = {find->number(8), std::string(find->text(10)), dialect_from(find->text(9))}},
             std::string(find->text(11)),
             std::string(find->text(12)),
             std::string(find->text(13))};
  }
}

std::string names_of_columns(const std::vector<std::string>& columns) {
  std::string names;
  for (const std::string& column : columns) names.append(names.empty() ? "" : ",").append(column);
  return names;
}

// Takes the new rows of a file, until the batch is full. True: there may be more.
Result<bool> read_into(Adding& adding, GrowingRowFile& file, const std::string& path, const std::string& folder,
                       const SourceState& before) {
  const DumpPlace place = place_of_rows(path).value_or(DumpPlace{});
  adding.begin(path, folder, before, file.is_replaced());
  bool is_stopped = false;
  const EachRow each = [&](Row&& row) {
    adding.add(row, place);
    is_stopped = !file.is_json() && adding.is_full();
    return is_stopped ? Status(Error{Code::kInvalid, "the batch is full"}) : Status();
  };
  SourceState after = before;
  const bool is_more = !file.is_replaced() && !before.statistics.empty();
  const auto note = [&](const RowsRead& read) {
    // The new part of a monitor's file may lack what its rows before have.
    Categories statistics = is_more ? categories_of_names(before.statistics) : read.categories;
    std::vector<std::string> columns = is_more ? columns_of_names(before.columns) : read.columns;
    add_once(statistics, read.categories);
    add_once(columns, read.columns);
    after.statistics = names_of(statistics);
    after.columns = names_of_columns(columns);
    after.framework = read.framework;
    if (read.dialect) file.after().read.dialect = read.dialect;
  };
  const auto read = file.read(each);
  if (read && (file.is_json() || file.after().read.offset != 0)) note(*read);
  if (!read) {  // it stopped, or has a fault: the rows before it are there
    const auto columns = read_columns(path);
    if (columns) note(*columns);
  }
  after.growth = file.after();
  adding.end(after);
  if (!read && !is_stopped) return read.error();
  return is_stopped;
}

}  // namespace

Result<StoreAdded> Store::add(const std::vector<RowFile>& files, const std::string& run,
                              const std::function<void(std::string_view)>& told) {
  StoreAdded added;
  const auto complain = [&](const Error& error) {
    told(error.message);
    ++added.faults;
  };
  if (!database_.has_checksums()) {
    told(printable(database_.path()) +
         ": was made by an earlier tensorstat: its pages have no checksums, and damage may go unnoticed; a new store "
         "has them");
  }
  const auto number = run_named(database_, run);
  if (!number) return number.error();

  // If another process added some of these files meanwhile, or a batch became full, the rest is compared again with the
  // store.
  Adding adding(database_, *number);
  std::size_t first = 0;
  while (first < files.size()) {
    auto sources = sources_of(database_, *number);
    if (!sources) return sources.error();
    bool is_full = false;
    std::size_t next = first;
    std::unordered_set<std::string> begun;  // a file is found twice if its folder was named, too
    for (; next < files.size() && !is_full; ++next) {
      const RowFile& file = files[next];
      if (stored_path(file.path)) {
        complain({Code::kInvalid, printable(file.path) + ": is a store; add the dumps that it was made of"});
        continue;
      }
      std::error_code ignored;
      const std::string path = fs::absolute(file.path, ignored).lexically_normal().string();
      if (!begun.insert(path).second) continue;
      const SourceState& before = (*sources)[path];
      GrowingRowFile reading(path, before.growth);
      const auto is_new = reading.looks_new();
      if (!is_new) {
        complain(is_new.error());
        continue;
      }
      if (!*is_new) continue;
      if (reading.is_replaced() && !reading.is_json())
        told(printable(path) + ": was replaced; its rows are replaced, too");
      const auto more = read_into(adding, reading, path, file.folder, before);
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
