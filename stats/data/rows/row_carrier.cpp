#include "stats/data/rows/row_carrier.hpp"

#include <algorithm>
#include <utility>

#include "stats/data/rows/names/run_name.hpp"

namespace tensorstat {
namespace {

constexpr std::size_t kBatchRows = 256;

bool has_column(const CsvDialect& dialect, const Column& column) {
  if (dialect.takes_further_columns() || !column.is_further) return true;
  return std::ranges::count(dialect.columns, &column, &CsvDialect::Headed::column) != 0;
}

// The values for `categories`, in their order; monostate if missing.
Statistics in_format(const Statistics& statistics, const Categories& categories) {
  Statistics in(categories, {});
  in.values.reserve(categories.size());
  for (const Category category : categories) {
    const Value* value = statistics.find(category);
    in.values.push_back(value ? *value : Value{});
  }
  return in;
}

}  // namespace

std::vector<std::string> columns_of(Dialect to, const std::vector<std::string>& read) {
  std::vector<std::string> had;
  for (const std::string& name : read) {
    const Column* column = column_named(name);
    if (column != nullptr && has_column(value_of(to), *column)) had.push_back(name);
  }
  return had;
}

RowCarrier::RowCarrier(CsvText text, RowWriter::Sink sink, ConversionLosses& losses)
    : text_(std::move(text)), sink_(std::move(sink)), losses_(&losses), heading_(text_.heading()) {}

Result<RowCarrier> RowCarrier::open(RowFormat wanted, RowWriter::Sink sink, ConversionLosses& losses) {
  Categories had;
  for (const Category category : wanted.categories) {
    const bool is_had = std::ranges::count(had, category) == 0 && written_order(wanted.dialect, {category});
    if (is_had) had.push_back(category);
  }
  wanted.categories = std::move(had);
  wanted.columns = columns_of(wanted.dialect, wanted.columns);
  auto text = CsvText::make(std::move(wanted));
  if (!text) return text.error();
  RowCarrier carrier(*std::move(text), std::move(sink), losses);
  if (Status written = carrier.sink_(carrier.heading_); !written) return written.error();
  return carrier;
}

Status RowCarrier::carry(Row row) {
  const RowFormat& format = text_.format();
  const CsvDialect& dialect = value_of(format.dialect);
  for (std::size_t i = 0; i < row.statistics.categories.size(); ++i) {
    const Category category = row.statistics.categories[i];
    const bool is_dropped = std::ranges::count(format.categories, category) == 0;
    const bool has_value = row.statistics.values[i] != Value{};
    const bool is_derived = dialect.may_lack_count && category == Category::kCount;
    if (is_dropped && has_value && !is_derived) losses_->dropped(column(category), name(format.dialect), row);
  }
  for (const Column& column : all_further_columns()) {
    if (row.identity.find(column.name) != nullptr && !has_column(dialect, column)) {
      losses_->dropped(column.heading, name(format.dialect), row);
    }
  }
  row.statistics = in_format(row.statistics, format.categories);
  text_.append(row, lines_);
  held_.push_back(std::move(row));
  return held_.size() < kBatchRows ? Status() : flush();
}

Status RowCarrier::flush() {
  const std::vector<Row> rows = std::exchange(held_, {});
  const std::string lines = std::exchange(lines_, {});
  if (const auto there = read_back(lines, rows.size())) return write(lines, rows, *there);
  for (const Row& row : rows) {  // find the row that cannot be read back
    std::string line;
    text_.append(row, line);
    const auto there = read_back(line, 1);
    if (!there) {
      losses_->refused(row, there.error().message);
    } else if (Status written = write(line, {&row, 1}, *there); !written) {
      return written;
    }
  }
  return {};
}

Status RowCarrier::write(std::string_view lines, std::span<const Row> rows, std::span<const Row> there) {
  for (std::size_t i = 0; i < rows.size(); ++i) compare(rows[i], there[i]);
  rows_ += rows.size();
  return sink_(lines);
}

// Reads the written lines back.
Result<std::vector<Row>> RowCarrier::read_back(std::string_view lines, std::size_t count) const {
  std::vector<Row> rows;
  const auto read = read_rows(heading_ + std::string(lines), [&](Row&& row) {
    rows.push_back(std::move(row));
    return Status();
  });
  if (!read) return read.error();
  if (rows.size() == count) return rows;
  return Error{Code::kInvalid, "it would be read back as " + std::to_string(rows.size()) + " rows"};
}

Status RowCarrier::finish() { return held_.empty() ? Status() : flush(); }

void RowCarrier::compare(const Row& before, const Row& after) const {
  const CsvDialect& dialect = value_of(text_.format().dialect);
  Row there = after;
  if (dialect.whose == Whose::kInFileName) {
    const auto named = identity_of_run(run_file_name(before.identity));
    Identity whose = named ? *named : Identity();
    whose.io = after.identity.io;
    whose.slot = after.identity.slot;
    whose.more = after.identity.more;
    there.identity = std::move(whose);
  }
  losses_->compare(before, there, [&](const Column& column) { return has_column(dialect, column); });
}

}  // namespace tensorstat
