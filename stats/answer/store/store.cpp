#include "stats/answer/store/store.hpp"

#include <algorithm>
#include <filesystem>

#include "stats/answer/store/row_cells.hpp"
#include "stats/answer/store/row_reader.hpp"
#include "stats/answer/store/schema.hpp"
#include "stats/core/base/printable.hpp"

namespace tensorstat {
namespace {

namespace fs = std::filesystem;

struct Source {
  StoredSource rows;
  RowsRead read;
};

Result<Source> find_source(Database& database, const std::string& run, const std::string& file) {
  auto find = database.prepare(
      "SELECT s.source, s.least_tensor, s.most_tensor, s.dialect, s.statistics, s.columns, s.row_count, s.framework "
      "FROM "
      "sources s JOIN runs u ON u.run = s.run WHERE u.name=? AND s.path=?");
  if (!find) return find.error();
  find->bind(1, run).bind(2, file);
  const auto row = database.step(*find);
  if (!row) return row.error();
  if (!*row) {
    return Error{Code::kUnreadable, printable(database.path()) + ": holds no rows of " + printable(file) +
                                        " in the run " + printable(run)};
  }
  Source source{{find->number(0), find->number(1), find->number(2)}, {}};
  source.read.dialect = dialect_from(find->text(3));
  source.read.categories = categories_of_names(find->text(4));
  source.read.columns = columns_of_names(find->text(5));
  source.read.row_count = find->number(6);
  source.read.framework = find->text(7);
  return source;
}

// Whether a folder that a store names stays below the folder into which its files are written again.
bool stays_below(const std::string& folder) {
  if (folder.starts_with('/') || folder.find('\0') != folder.npos) return false;
  return std::ranges::none_of(fs::path(folder), [](const fs::path& part) { return part == ".."; });
}

// Ends the transaction of a reader, after the statements that are made behind it.
struct Snapshot {
  Database& database;
  ~Snapshot() { database.roll_back(); }
};

Status check_for_reading(Database& database) {
  if (Status begun = database.begin_reading(); !begun) return begun;
  const Snapshot snapshot{database};
  return check_schema(database);
}

Result<Store> opened(const StoredPath& path) { return Store::open(path.store, Access::kRead); }

}  // namespace

bool is_name_of_run(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find_first_of(std::string_view("/\0", 2)) == name.npos;
}

std::string run_of_path(const std::string& path) {
  std::error_code ignored;
  const fs::path whole = fs::absolute(path, ignored).lexically_normal();
  const fs::path folder = fs::is_directory(whole, ignored) ? whole : whole.parent_path();
  std::string name = folder.has_filename() ? folder.filename().string() : folder.parent_path().filename().string();
  return name.empty() ? "run" : name;
}

Result<Store> Store::open(const std::string& path, Access access) {
  auto database = Database::open(path, access, true);
  if (!database) return database.error();
  Status known = access == Access::kWrite ? make_or_check_schema(*database) : check_for_reading(*database);
  if (!known) return known.error();
  return Store(*std::move(database));
}

Result<std::vector<StoredRun>> Store::runs() {
  auto find = database_.prepare(
      "SELECT u.name, (SELECT count(*) FROM sources s WHERE s.run = u.run), (SELECT total(row_count) FROM sources s "
      "WHERE s.run = u.run), count(DISTINCT p.rank), min(p.iteration), max(p.iteration) FROM runs u LEFT JOIN places p "
      "ON p.run = u.run AND p.place IN (SELECT place FROM source_places) GROUP BY u.run ORDER BY u.run");
  if (!find) return find.error();
  std::vector<StoredRun> runs;
  while (true) {
    const auto row = database_.step(*find);
    if (!row) return row.error();
    if (!*row) return runs;
    runs.push_back({std::string(find->text(0)), find->number(1), find->number(2), find->number(3), find->number(4),
                    find->number(5)});
  }
}

Result<std::vector<StoredRows>> Store::files(const std::string& run) {
  auto find = database_.prepare(
      "SELECT u.name, s.path, s.folder, s.row_count FROM sources s JOIN runs u ON u.run = s.run WHERE ?1 = '' OR "
      "u.name = ?1 ORDER BY u.run, s.source");
  if (!find) return find.error();
  find->bind(1, run);
  std::vector<StoredRows> files;
  while (true) {
    const auto row = database_.step(*find);
    if (!row) return row.error();
    if (!*row) break;
    const std::string name(find->text(0)), folder(find->text(2));
    if (!is_name_of_run(name) || !stays_below(folder)) {
      return Error{Code::kUnreadable, printable(database_.path()) + ": the store is damaged: it names the run " +
                                          shown(name) + " and the folder " + shown(folder)};
    }
    const std::string below = run.empty() ? name + (folder.empty() ? "" : "/" + folder) : folder;
    files.push_back({database_.path() + "//" + name + std::string(find->text(1)), below, find->number(3)});
  }
  const bool is_one_run = run.empty() && !files.empty();
  if (is_one_run) {
    const auto known = runs();
    if (!known) return known.error();
    if (known->size() == 1) return this->files(known->front().name);
  }
  if (!files.empty()) return files;
  std::string names;
  const auto known = runs();
  if (!known) return known.error();
  for (const StoredRun& each : *known) names.append(names.empty() ? "" : ", ").append(each.name);
  return Error{Code::kUnreadable, printable(database_.path()) + ": holds no rows" +
                                      (run.empty() ? ""
                                                   : " of the run " + printable(run) +
                                                         (names.empty() ? "" : "; its runs are ") + printable(names))};
}

Result<RowsRead> Store::columns(const std::string& run, const std::string& file) {
  auto source = find_source(database_, run, file);
  if (!source) return source.error();
  return source->read;
}

Result<RowsRead> Store::read(const std::string& run, const std::string& file, const EachRow& each) {
  if (Status begun = database_.begin_reading(); !begun) return begun.error();
  const Snapshot snapshot{database_};
  const auto source = find_source(database_, run, file);
  if (!source) return source.error();
  auto rows = RowReader::open(database_, source->rows);
  if (!rows) return rows.error();
  RowsRead read = source->read;
  read.row_count = 0;
  Row row;
  while (true) {
    const auto step = rows->next(row);
    if (!step) return step.error();
    if (!*step) break;
    ++read.row_count;
    if (Status taken = each(std::move(row)); !taken) return taken.error();
  }
  if (read.row_count != source->read.row_count) {
    return Error{Code::kUnreadable, printable(database_.path()) + ": the store is damaged: it holds " +
                                        std::to_string(read.row_count) + " of the " +
                                        std::to_string(source->read.row_count) + " rows of " + printable(file)};
  }
  return read;
}

Status Store::ask(std::string_view sql, const std::function<void(const std::vector<std::string>&)>& each) {
  const auto whole = with_every_statistic(database_, sql);
  if (!whole) return whole.error();
  auto question = database_.prepare(*whole);
  if (!question) return question.error();
  std::vector<std::string> line;
  for (int i = 0; i < question->column_count(); ++i) line.emplace_back(question->column_name(i));
  each(line);
  while (true) {
    const auto row = database_.step(*question);
    if (!row) return row.error();
    if (!*row) return {};
    for (int i = 0; i < question->column_count(); ++i) {
      const bool is_real = question->type(i) == Statement::Type::kReal;
      line[static_cast<std::size_t>(i)] =
          is_real ? to_string(Value(question->real(i))) : std::string(question->text(i));
    }
    each(line);
  }
}

const RowSource& source_of_stores() {
  static const RowSource kSource = {
      .magic = {"SQLite format 3\0", 16},
      .files = [](const StoredPath& path) -> Result<std::vector<StoredRows>> {
        auto store = opened(path);
        if (!store) return store.error();
        if (path.file.empty()) return store->files(path.run);
        return std::vector<StoredRows>{{.path = path.store + "//" + path.run + path.file, .folder = ""}};
      },
      .read = [](const StoredPath& path, const EachRow& each) -> Result<RowsRead> {
        auto store = opened(path);
        return store ? store->read(path.run, path.file, each) : store.error();
      },
      .columns = [](const StoredPath& path) -> Result<RowsRead> {
        auto store = opened(path);
        return store ? store->columns(path.run, path.file) : store.error();
      }};
  return kSource;
}

std::vector<StoreQuestion> store_questions() {
  return {
      {"faults", "tensors with NaN or Inf, and their first iteration",
       "SELECT run, rank, op_name, io, slot, min(iteration) AS first_iteration, count(*) AS rows FROM tensorstat WHERE "
       // Rows without counts: bits 0, 1, 2 and 11 of is_nan stand for max, min, avg and l2norm
       // (stats/data/rules/specials).
       "coalesce(nan_count, is_nan & 2055) > 0 OR coalesce(positive_inf_count, max = 9e999 OR min = 9e999) > 0 OR "
       "coalesce(negative_inf_count, min = -9e999 OR max = -9e999) > 0 OR (coalesce(positive_inf_count, max, min) IS "
       "NULL AND "
       "(abs(avg) = "
       "9e999 OR l2norm = 9e999)) GROUP BY run, rank, op_name, io, slot ORDER BY first_iteration, rank, op_name"},
      {"half-of-float16", "tensors past half of float16's greatest number",
       "SELECT run, rank, op_name, io, slot, min(iteration) AS first_iteration, max(max(ifnull(max, -min), "
       "ifnull(-min, max))) AS absmax FROM "
       "tensorstat WHERE max > 32752 OR min < -32752 GROUP BY run, rank, op_name, io, slot ORDER BY first_iteration"},
      {"ranks", "parameters that differ between ranks",
       // A rank may have several rows of a parameter: in two graphs, or two calls. So the values of a rank are one
       // text, which the texts of the other ranks are compared with. NULL is a NaN, or not measured, and left out. 0 is
       // -0.0.
       "SELECT run, iteration, op_name, io, slot, count(DISTINCT max_text) AS max_values, count(DISTINCT min_text) AS "
       "min_values, count(DISTINCT l2norm_text) AS l2norm_values FROM (SELECT run, iteration, graph, op_name, io, "
       "slot, "
       "rank, group_concat(DISTINCT iif(is_nan & 1, 'nan', iif(max = 0, '0', iif(max IS NULL, NULL, quote(max))))) AS "
       "max_text, group_concat(DISTINCT iif(is_nan & 2, 'nan', iif(min = 0, '0', iif(min IS NULL, NULL, quote(min))))) "
       "AS min_text, group_concat(DISTINCT iif(is_nan & 2048, 'nan', iif(l2norm = 0, '0', iif(l2norm IS NULL, NULL, "
       "quote(l2norm))))) AS l2norm_text FROM (SELECT * FROM tensorstat WHERE op_type = 'Parameter' ORDER BY line) "
       "GROUP BY run, iteration, graph, op_name, io, slot, rank) GROUP BY run, iteration, graph, op_name, io, slot "
       "HAVING max_values > 1 OR min_values > 1 OR l2norm_values > 1 ORDER BY run, iteration, op_name"},
      {"largest", "the 20 tensors with the largest l2norm",
       "SELECT op_name, io, slot, run, rank, iteration, max(l2norm) AS l2norm FROM tensorstat WHERE l2norm IS NOT NULL "
       "GROUP BY op_name, io, slot ORDER BY l2norm DESC LIMIT 20"},
      {"last", "the last iteration of each rank",
       "SELECT run, rank, max(iteration) AS last_iteration, count(DISTINCT iteration) AS iterations, count(*) AS rows "
       "FROM tensorstat GROUP BY run, rank ORDER BY run, rank"},
  };
}

}  // namespace tensorstat
