#include "stats/answer/store/row_reader.hpp"

#include <limits>
#include <string>

#include "stats/answer/store/row_cells.hpp"
#include "stats/answer/store/schema.hpp"
#include "stats/core/base/printable.hpp"

namespace tensorstat {

// The columns that prepare() selects, in its order. The statistics follow.
enum RowReader::StoredColumn : int {
  kOpType,
  kOpName,
  kIo,
  kSlot,
  kLine,
  kKind,
  kExtra,
  kTaskId,
  kStreamId,
  kTime,
  kNan,
  kTensor,
  kPlace,
  kFirstStatistic
};

Result<RowReader> RowReader::open(Database& database, const StoredSource& source) {
  RowReader reader(database, source.source);
  if (Status prepared = reader.prepare(source); !prepared) return prepared.error();
  return reader;
}

Status RowReader::prepare(const StoredSource& source) {
  const auto statistics = statistics_columns(*database_);
  if (!statistics) return statistics.error();
  std::string sql =
      "SELECT t.op_type, t.op_name, t.io, t.slot, r.line, r.kind, r.extra, r.task_id, r.stream_id, r.time_us, r.nan, "
      "r.tensor, r.place";
  int column = kFirstStatistic;
  for (const Category category : *statistics) {
    columns_.emplace(category, column++);
    sql += ", r.\"" + sql_name(category) + "\"";
  }
  // The key of `rows` begins with the tensor: each tensor that the file may have is looked up in each of its places.
  sql +=
      " FROM source_places sp CROSS JOIN tensors t CROSS JOIN rows r ON r.tensor = t.tensor AND r.place = sp.place "
      "AND r.source = sp.source WHERE sp.source = ?1 AND t.tensor BETWEEN ?2 AND ?3 ORDER BY r.line";
  const auto put = [&](Statement& statement, std::string_view text) -> Status {
    auto prepared = database_->prepare(text);
    if (!prepared) return prepared.error();
    statement = *std::move(prepared);
    return {};
  };
  if (Status done = put(rows_, sql); !done) return done;
  if (Status done = put(find_kind_, "SELECT dtype, shape, bytes, statistics FROM kinds WHERE kind=?"); !done) {
    return done;
  }
  if (Status done = put(find_extra_, "SELECT cells FROM extras WHERE extra=?"); !done) return done;
  Status done =
      put(find_exact_, "SELECT nth, type, value FROM exact WHERE tensor=? AND place=? AND source=? AND line=?");
  rows_.bind(1, source.source).bind(2, source.least_tensor).bind(3, source.most_tensor);
  return done;
}

Result<const RowReader::Kind*> RowReader::kind_of(std::uint64_t number) {
  const auto [entry, is_new] = kinds_.try_emplace(number);
  Kind& kind = entry->second;
  if (!is_new) return &kind;
  find_kind_.reset();
  find_kind_.bind(1, number);
  const auto step = database_->step(find_kind_);
  if (!step) return step.error();
  if (!*step) {
    return Error{Code::kUnreadable, printable(database_->path()) + ": the store is damaged: a row without a kind"};
  }
  kind.row.data_type = find_kind_.text(0);
  kind.row.shape = shape_of_text(find_kind_.text(1));
  kind.row.data_size_bytes = find_kind_.number(2);
  kind.row.statistics.categories = categories_of_names(find_kind_.text(3));
  kind.row.statistics.values.resize(kind.row.statistics.categories.size());
  kind.element = element_kind(kind.row.data_type);
  for (const Category category : kind.row.statistics.categories) {
    const auto column = columns_.find(category);
    kind.columns.push_back(column == columns_.end() ? -1 : column->second);
  }
  return &kind;
}

Result<bool> RowReader::next(Row& row) {
  const auto step = database_->step(rows_);
  if (!step || !*step) return step;
  const auto kind = kind_of(rows_.number(kKind));
  if (!kind) return kind.error();
  row = (*kind)->row;
  Identity& identity = row.identity;
  identity.op_type = rows_.text(kOpType);
  identity.op_name = rows_.text(kOpName);
  identity.io = rows_.text(kIo);
  identity.slot = rows_.number(kSlot);
  identity.task_id = rows_.number(kTaskId);
  identity.stream_id = rows_.number(kStreamId);
  identity.timestamp_us = rows_.number(kTime);
  take_statistics(**kind, row);
  if (Status taken = take_extra(row); !taken) return taken.error();
  if (Status taken = take_exact(row); !taken) return taken.error();
  return true;
}

void RowReader::take_statistics(const Kind& kind, Row& row) const {
  const std::uint64_t nan = rows_.number(kNan);
  for (std::size_t i = 0; i < row.statistics.values.size(); ++i) {
    const Category category = row.statistics.categories[i];
    const int column = kind.columns[i];
    const auto bit = static_cast<std::uint32_t>(category);
    Value& value = row.statistics.values[i];
    if (column >= 0) value = value_of_column(rows_, column, category, kind.element);
    if (bit < kNanBits && (nan >> bit & 1) != 0) value = std::numeric_limits<double>::quiet_NaN();
  }
}

Status RowReader::take_extra(Row& row) {
  if (rows_.type(kExtra) == Statement::Type::kNull) return {};
  find_extra_.reset();
  find_extra_.bind(1, rows_.number(kExtra));
  const auto step = database_->step(find_extra_);
  if (!step) return step.error();
  if (*step) row.identity.more = cells_of_text(find_extra_.text(0));
  return {};
}

// The values that no column of 64 bits holds.
Status RowReader::take_exact(Row& row) {
  if ((rows_.number(kNan) & kHasExact) == 0) return {};
  find_exact_.reset();
  find_exact_.bind(1, rows_.number(kTensor)).bind(2, rows_.number(kPlace));
  find_exact_.bind(3, source_).bind(4, rows_.number(kLine));
  while (true) {
    const auto step = database_->step(find_exact_);
    if (!step) return step.error();
    if (!*step) return {};
    const std::uint64_t nth = find_exact_.number(0);
    if (nth < row.statistics.values.size()) {
      row.statistics.values[nth] = value_of_exact(find_exact_.text(1), find_exact_.text(2));
    }
  }
}

}  // namespace tensorstat
