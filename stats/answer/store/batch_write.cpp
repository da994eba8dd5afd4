// Writes a batch: what its files had, the numbers of its names, its rows in the order of their keys, and what its files
// have now. One transaction.
#include <algorithm>
#include <bit>
#include <unordered_set>

#include "stats/answer/store/adding.hpp"
#include "stats/answer/store/row_insert.hpp"
#include "stats/answer/store/schema.hpp"
#include "stats/data/rows/category_names.hpp"

namespace tensorstat {
namespace {

// Columns of `rows` in front of the statistics.
constexpr int kFirstStatistic = 10;

}  // namespace

Status Adding::flush(std::uint64_t& rows, bool& left) {
  Status written = database_.begin();
  if (written) written = write(rows, left);
  if (written) written = database_.commit();
  if (!written) database_.roll_back();
  files_.clear();
  rows_.clear();
  cells_.clear();
  texts_.clear();
  exact_.clear();
  return written;
}

Status Adding::write(std::uint64_t& rows, bool& left) {
  for (File& file : files_) {
    if (Status settled = settle_file(file); !settled) return settled;
    left |= file.is_left;
  }
  if (Status resolved = resolve(); !resolved) return resolved;
  if (Status inserted = insert_rows(rows); !inserted) return inserted;
  return save_files();
}

// Another process may have brought the file forward since its state was read; its rows are there then.
Status Adding::settle_file(File& file) {
  auto now = database_.prepare(
      "SELECT source, bytes, row_count, inode, head_crc32, modified_ns FROM sources WHERE run=? AND path=?");
  if (!now) return now.error();
  now->bind(1, run_).bind(2, file.path);
  const auto step = database_.step(*now);
  if (!step) return step.error();
  const SourceState& before = file.before;
  const bool is_same = *step ? now->number(0) == before.source && now->number(1) == before.growth.read.offset &&
                                   now->number(2) == before.growth.row_count && now->number(3) == before.growth.inode &&
                                   now->number(4) == before.growth.head_crc32 &&
                                   now->number(5) == before.growth.modified_ns
                             : before.source == 0;
  file.is_left = !is_same;
  if (file.is_left) return {};
  if (before.source == 0) {
    auto make = database_.prepare(
        "INSERT INTO sources(run, path, folder, bytes, head_bytes, head_crc32, row_count) VALUES(?,?,?,0,0,0,0)");
    if (!make) return make.error();
    make->bind(1, run_).bind(2, file.path).bind(3, file.folder);
    if (Status made = database_.step_once(*make); !made) return made;
    file.before.source = database_.last_row();
  }
  return file.is_replaced ? remove_rows(file) : Status();
}

Status Adding::remove_rows(const File& file) {
  for (const char* table : {"rows", "exact"}) {
    auto remove = database_.prepare(
        "DELETE FROM " + std::string(table) +
        " WHERE (tensor, place, source, line) IN (SELECT r.tensor, r.place, r.source, r.line FROM sources s "
        "CROSS JOIN source_places sp ON sp.source = s.source CROSS JOIN tensors t ON t.tensor BETWEEN s.least_tensor "
        "AND "
        "s.most_tensor CROSS JOIN " +
        table + " r ON r.tensor = t.tensor AND r.place = sp.place AND r.source = sp.source WHERE s.source = ?)");
    if (!remove) return remove.error();
    remove->bind(1, file.before.source);
    if (Status removed = database_.step_once(*remove); !removed) return removed;
  }
  auto remove = database_.prepare("DELETE FROM source_places WHERE source = ?");
  if (!remove) return remove.error();
  remove->bind(1, file.before.source);
  if (Status removed = database_.step_once(*remove); !removed) return removed;
  auto forget = database_.prepare("UPDATE sources SET least_tensor = NULL, most_tensor = NULL WHERE source = ?");
  if (!forget) return forget.error();
  forget->bind(1, file.before.source);
  return database_.step_once(*forget);
}

Status Adding::resolve(Interned& interned, const std::string& find, const std::string& make,
                       const std::function<void(Statement&, std::size_t)>& bind) {
  auto query = database_.prepare(find), made = database_.prepare(make);
  if (!query) return query.error();
  if (!made) return made.error();
  for (std::size_t i = 0; i < interned.ids.size(); ++i) {
    if (interned.ids[i] != 0) continue;
    bind(*query, i);
    const auto row = database_.step(*query);
    if (!row) return row.error();
    if (*row) interned.ids[i] = query->number(0);
    query->reset();
    if (interned.ids[i] != 0) continue;
    bind(*made, i);
    if (Status done = database_.step_once(*made); !done) return done;
    interned.ids[i] = database_.last_row();
  }
  return {};
}

// The numbers that the store has for what the rows name.
Status Adding::resolve() {
  Status done = resolve(
      tensors_, "SELECT tensor FROM tensors WHERE op_type=? AND op_name=? AND io=? AND slot=?",
      "INSERT INTO tensors(op_type, op_name, io, slot) VALUES(?,?,?,?)", [&](Statement& statement, std::size_t i) {
        const Identity& identity = tensor_facts_[i];
        statement.bind(1, identity.op_type).bind(2, identity.op_name).bind(3, identity.io).bind(4, identity.slot);
      });
  if (!done) return done;
  done = resolve(places_, "SELECT place FROM places WHERE run=? AND rank=? AND graph=? AND iteration=?",
                 "INSERT INTO places(run, rank, graph, iteration) VALUES(?,?,?,?)",
                 [&](Statement& statement, std::size_t i) {
                   const DumpPlace& place = place_facts_[i];
                   statement.bind(1, run_).bind(2, std::uint64_t{place.rank}).bind(3, std::uint64_t{place.graph});
                   statement.bind(4, place.iteration);
                 });
  if (!done) return done;
  done = resolve(kinds_, "SELECT kind FROM kinds WHERE dtype=? AND shape=? AND bytes=? AND statistics=?",
                 "INSERT INTO kinds(dtype, shape, bytes, statistics) VALUES(?,?,?,?)",
                 [&](Statement& statement, std::size_t i) {
                   const Row& fact = kind_facts_[i];
                   statement.bind(1, fact.data_type).bind(2, text_of_shape(fact.shape)).bind(3, fact.data_size_bytes);
                   statement.bind(4, names_of(kind_layouts_[i].categories));
                 });
  if (!done) return done;
  return resolve(extras_, "SELECT extra FROM extras WHERE cells=?", "INSERT INTO extras(cells) VALUES(?)",
                 [&](Statement& statement, std::size_t i) {
                   statement.bind_blob(1, std::as_bytes(std::span(*extras_.texts[i])));
                 });
}

// Adds the columns of statistics that the table lacks.
Result<int> Adding::make_columns() {
  auto columns = statistics_columns(database_);
  if (!columns) return columns.error();
  Categories lacking;
  for (const Kind& layout : kind_layouts_) {
    for (std::size_t i = 0; i < std::min(layout.categories.size(), kMostStatistics); ++i) {
      const Category category = layout.categories[i];
      if (columns->size() + lacking.size() >= kMostStatistics) break;
      if (std::ranges::count(*columns, category) == 0 && std::ranges::count(lacking, category) == 0) {
        lacking.push_back(category);
      }
    }
  }
  if (!lacking.empty()) {
    if (Status added = add_statistics(database_, *columns, lacking); !added) return added.error();
    columns->insert(columns->end(), lacking.begin(), lacking.end());
  }
  for (Kind& layout : kind_layouts_) {
    layout.columns.clear();
    for (const Category category : layout.categories) {
      const auto column = std::ranges::find(*columns, category) - columns->begin();
      layout.columns.push_back(column == std::ssize(*columns) ? -1 : kFirstStatistic + static_cast<int>(column));
    }
    layout.has_all = std::ranges::all_of(
        *columns, [&](Category category) { return std::ranges::count(layout.categories, category) == 1; });
  }
  return kFirstStatistic + static_cast<int>(columns->size());
}

Adding::Key Adding::key_of(std::size_t row) const {
  const Pending& pending = rows_[row];
  return {tensors_.ids[pending.tensor], places_.ids[pending.place], files_[pending.file].before.source, pending.line,
          static_cast<std::uint32_t>(row)};
}

// The keys of the rows that are written, in their order.
std::vector<Adding::Key> Adding::keys() const {
  std::vector<Key> keys;
  keys.reserve(rows_.size());
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (!files_[rows_[i].file].is_left) keys.push_back(key_of(i));
  }
  std::ranges::sort(keys);
  return keys;
}

// Binds every column: the parameters keep what an earlier row has bound.
void Adding::bind(const Key& key, Statement& statement, int first, int columns) const {
  const Pending& row = rows_[key.row];
  const Kind& layout = kind_layouts_[row.kind];
  statement.bind(first, key.tensor).bind(first + 1, key.place).bind(first + 2, key.source).bind(first + 3, key.line);
  statement.bind(first + 4, kinds_.ids[row.kind]);
  extras_.texts[row.extra]->empty() ? statement.bind_null(first + 5)
                                    : statement.bind(first + 5, extras_.ids[row.extra]);
  statement.bind(first + 6, row.task_id).bind(first + 7, row.stream_id).bind(first + 8, row.time_us);
  row.nan == 0 ? statement.bind_null(first + 9) : statement.bind(first + 9, row.nan);
  for (int column = kFirstStatistic; !layout.has_all && column < columns; ++column) statement.bind_null(first + column);
  for (std::size_t j = 0; j < layout.categories.size(); ++j) {
    const StoredCell& cell = cells_[row.first_cell + j];
    if (layout.columns[j] < 0) continue;
    const int parameter = first + layout.columns[j];
    switch (cell.content) {
      case StoredCell::Content::kInteger:
        statement.bind(parameter, cell.bits);
        break;
      case StoredCell::Content::kReal:
        statement.bind(parameter, std::bit_cast<double>(cell.bits));
        break;
      case StoredCell::Content::kBytes:
        statement.bind_blob(parameter, std::as_bytes(std::span(texts_[cell.bits])));
        break;
      case StoredCell::Content::kText:
        statement.bind(parameter, texts_[cell.bits]);
        break;
      case StoredCell::Content::kExact:
        // The second of a repeated statistic has the column of the first.
        if (layout.is_again[j]) break;
        [[fallthrough]];
      default:
        statement.bind_null(parameter);
    }
  }
}

Status Adding::insert_rows(std::uint64_t& rows) {
  const auto columns = make_columns();
  if (!columns) return columns.error();
  const std::vector<Key> order = keys();
  auto insert = RowInsert::prepare(database_, *columns, order.size());
  if (!insert) return insert.error();
  auto source_place = database_.prepare("INSERT OR IGNORE INTO source_places VALUES(?,?)");
  if (!source_place) return source_place.error();
  std::unordered_set<std::uint64_t> seen;  // files and their places
  for (const Key& key : order) {
    bind(key, insert->statement(), insert->first(), *columns);
    if (Status done = insert->step(database_); !done) return done;
    ++rows;
    const Pending& row = rows_[key.row];
    File& file = files_[row.file];
    file.least_tensor = file.least_tensor == 0 ? key.tensor : std::min(file.least_tensor, key.tensor);
    file.most_tensor = std::max(file.most_tensor, key.tensor);
    if (seen.insert(std::uint64_t{row.file} << 32 | row.place).second) {
      source_place->bind(1, key.source).bind(2, key.place);
      if (Status done = database_.step_once(*source_place); !done) return done;
    }
  }
  return insert_exact();
}

Status Adding::insert_exact() {
  auto exact = database_.prepare("INSERT INTO exact VALUES(?,?,?,?,?,?,?,?)");
  if (!exact) return exact.error();
  for (const auto& [i, nth, value] : exact_) {
    if (files_[rows_[i].file].is_left) continue;
    const auto [tensor, place, source, line, row] = key_of(i);
    exact->bind(1, tensor).bind(2, place).bind(3, source).bind(4, line).bind(5, std::uint64_t{nth});
    exact->bind(6, sql_name(kind_layouts_[rows_[row].kind].categories[nth])).bind(7, exact_type(value));
    exact->bind(8, to_string(value));
    if (Status done = database_.step_once(*exact); !done) return done;
  }
  return {};
}

Status Adding::save_files() {
  auto save = database_.prepare(
      "UPDATE sources SET device=?1, inode=?2, modified_ns=?3, bytes=?4, head_bytes=?5, head_crc32=?6, row_count=?7, "
      "dialect=?8, heading=?9, statistics=?10, columns=?11, framework=?12, "
      "least_tensor=CASE WHEN ?13=0 THEN least_tensor ELSE min(ifnull(least_tensor, ?13), ?13) END, "
      "most_tensor=max(ifnull(most_tensor, ?14), ?14) WHERE source=?15");
  if (!save) return save.error();
  for (const File& file : files_) {
    if (file.is_left) continue;
    const SourceState& after = file.after;
    save->bind(1, after.growth.device)
        .bind(2, after.growth.inode)
        .bind(3, after.growth.modified_ns)
        .bind(4, after.growth.read.offset);
    save->bind(5, after.growth.head_bytes).bind(6, after.growth.head_crc32).bind(7, after.growth.row_count);
    after.growth.read.dialect ? save->bind(8, name(*after.growth.read.dialect)) : save->bind_null(8);
    save->bind_blob(9, std::as_bytes(std::span(after.growth.read.heading)));
    save->bind(10, after.statistics).bind(11, after.columns).bind(12, after.framework);
    save->bind(13, file.least_tensor).bind(14, file.most_tensor).bind(15, file.before.source);
    if (Status saved = database_.step_once(*save); !saved) return saved;
  }
  return {};
}

}  // namespace tensorstat
