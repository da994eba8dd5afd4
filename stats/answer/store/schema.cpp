#include "stats/answer/store/schema.hpp"

#include <algorithm>

#include "stats/core/base/printable.hpp"

namespace tensorstat {
namespace {

constexpr std::uint64_t kApplication = 0x74737374;  // "tsst"
constexpr std::uint64_t kVersion = 2;               // every page has a checksum
constexpr std::uint64_t kPlainVersion = 1;          // without: the schema is the same

// Every number is kept in a column without a type: a column of the type REAL would turn -0.0 into 0 and 2^53 + 1 into
// 2^53. What no column holds is in `exact`.
// The key of `rows` ends with the line that a row stands in: so a row can be there only once, and the lines of a file
// come out in their order.
constexpr const char* kTables[][2] = {
    {"runs", "CREATE TABLE runs(run INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)"},
    {"sources",
     "CREATE TABLE sources(source INTEGER PRIMARY KEY, run INTEGER NOT NULL, path TEXT NOT NULL, folder TEXT NOT NULL, "
     "device INTEGER, inode INTEGER, modified_ns INTEGER, bytes INTEGER NOT NULL, head_bytes INTEGER NOT NULL, "
     "head_crc32 INTEGER NOT NULL, row_count INTEGER NOT NULL, dialect TEXT, heading BLOB, statistics TEXT, "
     "columns TEXT, framework TEXT, least_tensor INTEGER, most_tensor INTEGER, UNIQUE(run, path))"},
    {"places",
     "CREATE TABLE places(place INTEGER PRIMARY KEY, run INTEGER NOT NULL, rank INTEGER NOT NULL, graph INTEGER NOT "
     "NULL, iteration INTEGER NOT NULL, UNIQUE(run, rank, graph, iteration))"},
    {"source_places",
     "CREATE TABLE source_places(source INTEGER, place INTEGER, PRIMARY KEY(source, place)) WITHOUT ROWID"},
    {"tensors",
     "CREATE TABLE tensors(tensor INTEGER PRIMARY KEY, op_type TEXT NOT NULL, op_name TEXT NOT NULL, io TEXT NOT NULL, "
     "slot INTEGER NOT NULL, UNIQUE(op_name, io, slot, op_type))"},
    {"kinds",
     "CREATE TABLE kinds(kind INTEGER PRIMARY KEY, dtype TEXT NOT NULL, shape TEXT NOT NULL, bytes INTEGER NOT NULL, "
     "statistics TEXT NOT NULL, UNIQUE(dtype, shape, bytes, statistics))"},
    {"extras", "CREATE TABLE extras(extra INTEGER PRIMARY KEY, cells BLOB NOT NULL UNIQUE)"},
    {"exact",
     "CREATE TABLE exact(tensor, place, source, line, nth, statistic TEXT, type TEXT, value TEXT, "
     "PRIMARY KEY(tensor, place, source, line, nth)) WITHOUT ROWID"},
};

constexpr const char* kRows =
    "CREATE TABLE rows(tensor INTEGER NOT NULL, place INTEGER NOT NULL, source INTEGER NOT NULL, line INTEGER NOT "
    "NULL, "
    "kind INTEGER NOT NULL, extra INTEGER, task_id INTEGER, stream_id INTEGER, time_us INTEGER, nan INTEGER, "
    "PRIMARY KEY(tensor, place, source, line)) WITHOUT ROWID";
constexpr int kColumnsBefore = 10;

Error no_store(const Database& database, const std::string& what) {
  return {Code::kUnreadable, printable(database.path()) + ": is no store of tensorstat: " + what};
}

Result<std::string> made_by(Database& database, const std::string& type, const std::string& name) {
  auto query = database.prepare("SELECT sql FROM sqlite_schema WHERE type=? AND name=?");
  if (!query) return query.error();
  query->bind(1, type).bind(2, name);
  const auto row = database.step(*query);
  if (!row) return row.error();
  return std::string(*row ? query->text(0) : "");
}

// SQLite has no NaN: is_nan has the bit 1 << number of each statistic that is NaN, by its number in catalog.inc.
std::string selection_of(const Categories& statistics, const Categories& missing) {
  std::string sql =
      "SELECT u.name AS run, p.rank AS rank, p.graph AS graph, p.iteration AS iteration, "
      "t.op_type AS op_type, t.op_name AS op_name, t.io AS io, t.slot AS slot, k.dtype AS dtype, k.shape AS shape, "
      "k.bytes AS data_size, r.task_id AS task_id, r.stream_id AS stream_id, r.time_us AS time_us, r.source AS source, "
      "r.line AS line, r.nan AS is_nan";
  for (const Category category : statistics) {
    const std::string column = "\"" + sql_name(category) + "\"";
    const bool is_digest = kind(category) == ValueKind::kDigest;
    sql += is_digest ? ", lower(hex(r." + column + ")) AS " + column : ", r." + column + " AS " + column;
  }
  for (const Category category : missing) sql += ", NULL AS \"" + sql_name(category) + "\"";
  return sql +
         " FROM rows r JOIN tensors t ON t.tensor = r.tensor JOIN places p ON p.place = r.place JOIN runs u ON u.run = "
         "p.run JOIN kinds k ON k.kind = r.kind";
}

std::string view_of(const Categories& statistics) {
  return "CREATE VIEW tensorstat AS " + selection_of(statistics, {});
}

}  // namespace

Result<std::string> with_every_statistic(Database& database, std::string_view sql) {
  const auto statistics = statistics_columns(database);
  if (!statistics) return statistics.error();
  Categories missing;
  for (const Category category : every_category()) {
    if (std::ranges::count(*statistics, category) == 0) missing.push_back(category);
  }
  return "WITH tensorstat AS (" + selection_of(*statistics, missing) + ") " + std::string(sql);
}

std::string sql_name(Category category) {
  std::string text(name(category));
  std::ranges::replace_if(
      text, [](char c) { return c == ' ' || c == '.' || c == '-'; }, '_');
  return text;
}

Result<Categories> statistics_columns(Database& database) {
  auto columns = database.prepare("SELECT name FROM pragma_table_info('rows') ORDER BY cid LIMIT -1 OFFSET ?");
  if (!columns) return columns.error();
  columns->bind(1, std::int64_t{kColumnsBefore});
  Categories categories;
  while (true) {
    const auto row = database.step(*columns);
    if (!row) return row.error();
    if (!*row) return categories;
    std::string text(columns->text(0));
    if (text.starts_with('p') && text.size() > 1 && text[1] >= '0' && text[1] <= '9') {
      std::ranges::replace(text, '_', '.');
    }
    const auto category = category_from(text);
    if (!category || std::ranges::count(categories, *category) != 0) {
      return no_store(
          database, "its rows have the column " + shown(columns->text(0)) + ", which no statistic of this version has");
    }
    categories.push_back(*category);
  }
}

Status add_statistics(Database& database, const Categories& had, const Categories& more) {
  Categories all = had;
  for (const Category category : more) {
    Status added = database.run("ALTER TABLE rows ADD COLUMN \"" + sql_name(category) + "\"");
    if (!added) return added;
    all.push_back(category);
  }
  if (Status dropped = database.run("DROP VIEW IF EXISTS tensorstat"); !dropped) return dropped;
  return database.run(view_of(all));
}

Status check_schema(Database& database) {
  const auto application = database.number("PRAGMA application_id");
  if (!application) return application.error();
  if (*application != kApplication) return no_store(database, "its application_id is another one");
  const auto version = database.number("PRAGMA user_version");
  if (!version) return version.error();
  if (*version != kVersion && *version != kPlainVersion) {
    return no_store(database, "its version is " + std::to_string(*version) +
                                  ", and this tensorstat reads versions up to " + std::to_string(kVersion));
  }
  if ((*version == kVersion) != database.has_checksums()) {
    return Error{Code::kUnreadable, printable(database.path()) +
                                        ": the store is damaged: its version and its pages differ on whether they have "
                                        "checksums; add its dumps to a new one"};
  }
  // SQLite executes the text of a schema, so only schemas that tensorstat wrote are accepted.
  for (const auto& [name, sql] : kTables) {
    const auto made = made_by(database, "table", name);
    if (!made) return made.error();
    if (*made != sql) return no_store(database, "its table " + std::string(name) + " is another one");
  }
  const auto others = database.number(
      "SELECT count(*) FROM sqlite_schema WHERE type = 'trigger' OR (type = 'view' AND name <> 'tensorstat') OR "
      "(type = 'index' AND sql IS NOT NULL)");
  if (!others) return others.error();
  if (*others != 0) return no_store(database, "it has triggers, views or indices of another program");
  const auto statistics = statistics_columns(database);
  if (!statistics) return statistics.error();
  // ALTER TABLE puts a new column in front of the key.
  std::string expected = kRows;
  std::string added;
  for (const Category category : *statistics) added += ", \"" + sql_name(category) + "\"";
  expected.insert(expected.find(", PRIMARY KEY"), added);
  const auto made = made_by(database, "table", "rows");
  if (!made) return made.error();
  if (*made != expected) return no_store(database, "its table rows is another one");
  const auto view = made_by(database, "view", "tensorstat");
  if (!view) return view.error();
  if (*view != view_of(*statistics)) return no_store(database, "its view tensorstat is another one");
  return {};
}

Status make_or_check_schema(Database& database) {
  if (Status begun = database.begin(); !begun) return begun;
  const auto objects = database.number("SELECT count(*) FROM sqlite_schema");
  Status made = objects ? Status() : objects.error();
  if (made && *objects == 0) {
    made = database.run("PRAGMA application_id=" + std::to_string(kApplication) +
                        "; PRAGMA user_version=" + std::to_string(database.has_checksums() ? kVersion : kPlainVersion));
    for (const auto& [name, sql] : kTables) {
      if (made) made = database.run(sql);
    }
    if (made) made = database.run(kRows);
    if (made) made = add_statistics(database, {}, {});
  } else if (made) {
    made = check_schema(database);
  }
  if (made) made = database.commit();
  if (!made) database.roll_back();
  return made;
}

}  // namespace tensorstat
