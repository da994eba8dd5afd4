#include "stats/data/rows/csv/statistic_csv.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <new>

#include "stats/core/base/float_environment.hpp"
#include "stats/core/base/printable.hpp"
#include "stats/data/rows/csv/csv_fields.hpp"
#include "stats/data/rows/names/op_name.hpp"
#include "stats/data/rows/names/run_name.hpp"

namespace tensorstat {
namespace {

void append_digits(std::string& line, auto number, auto... format) {
  char digits[32];  // the longest, -2.2250738585072014e-308, has 24
  line.append(digits, std::to_chars(digits, digits + sizeof digits, number, format...).ptr);
}

void append_bare(std::string& line, std::string_view text) {
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    line += code < 0x20 || code == 0x7f ? '_' : c;
  }
}

void append_text(std::string& line, std::string_view text, const CsvDialect& dialect) {
  if (dialect.quotes != Quotes::kWhereNeeded) return append_bare(line, text);
  wants_apostrophe(text) ? append_field(line, "'" + std::string(text)) : append_field(line, text);
}

void append_shape(std::string& line, const Shape& shape, const CsvDialect& dialect) {
  const auto& marks = dialect.shapes.front();
  const bool is_quoted = dialect.quotes != Quotes::kNever;
  if (is_quoted) line += '"';
  line += shape.empty() ? marks.none : marks.open;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i != 0) line += marks.between;
    append_digits(line, shape[i]);
  }
  if (!shape.empty()) line += marks.close;
  if (is_quoted) line += '"';
}

// A type that is read and not known keeps the word that it had.
void append_data_type(std::string& line, std::string_view type, const CsvDialect& dialect) {
  if (dialect.dtypes.empty() || type.starts_with(kDtypePrefix)) return append_text(line, type, dialect);
  const auto known = std::ranges::find(dialect.dtypes, type, &CsvDialect::DtypeWord::name);
  if (known == dialect.dtypes.end()) {
    line += "UNKNOW";
  } else {
    line.append(kDtypePrefix).append(known->word);
  }
}

// `otherwise`: what stands for a text that the row does not say.
void append_cell(std::string& line, const Row& row, const Column& column, std::string_view otherwise,
                 const CsvDialect& dialect) {
  if (column.kind == ColumnKind::kShape) return append_shape(line, row.shape, dialect);
  if (column.kind == ColumnKind::kDataType) return append_data_type(line, row.data_type, dialect);
  if (column.kind == ColumnKind::kIo) {
    const std::string& io = row.identity.io;
    return append_text(line, io == "input" ? dialect.input : io == "output" ? dialect.output : io, dialect);
  }
  if (const auto* number = column.number.of(row)) return append_digits(line, *number);
  if (const auto* text = column.text.of(row)) {
    const bool is_escaped = dialect.op_name_is_escaped && text == &row.identity.op_name;
    return is_escaped ? append_text(line, escaped_op_name(*text), dialect) : append_text(line, *text, dialect);
  }
  const Cell* cell = row.identity.find(column.name);
  if (cell == nullptr) return append_text(line, otherwise, dialect);
  if (const auto* number = std::get_if<std::uint64_t>(cell)) return append_digits(line, *number);
  append_text(line, std::get<std::string>(*cell), dialect);
}

// The sign of a NaN depends on the processor (`-nan` on x86), not on the tensor. It is left out.
void append_real(std::string& line, double value, Digits digits) {
  if (std::isnan(value)) {
    line += "nan";
  } else if (digits != Digits::kShortest) {
    append_digits(line, value, std::chars_format::general, 6);  // operator<< of the "C" locale
  } else {
    append_digits(line, value);
  }
}

void append_value(std::string& line, ValueKind kind, const Value& value, const CsvDialect& dialect) {
  const bool is_number = kind == ValueKind::kElement || kind == ValueKind::kSize || kind == ValueKind::kReal;
  const bool is_real = dialect.digits == Digits::kSix && is_number;
  if (const auto* real = std::get_if<double>(&value)) {
    append_real(line, *real, dialect.digits);
  } else if (const auto* natural = std::get_if<std::uint64_t>(&value)) {
    is_real ? append_real(line, static_cast<double>(*natural), dialect.digits) : append_digits(line, *natural);
  } else if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    is_real ? append_real(line, static_cast<double>(*integer), dialect.digits) : append_digits(line, *integer);
  } else if (std::holds_alternative<Digest>(value) || std::holds_alternative<Exponents>(value)) {
    line += to_string(value);
  } else if (kind != ValueKind::kDigest) {
    line += dialect.missing;
  }
}

// The Count of a row that has none.
std::uint64_t elements_of(const Shape& shape) {
  std::uint64_t count = 1;
  for (const std::uint64_t dimension : shape) count *= dimension;
  return count;
}

void append_statistics(std::string& line, const Row& row, const Categories& written, const CsvDialect& dialect) {
  for (const Category category : written) {
    const Value* value = row.statistics.find(category);
    value ? append_value(line, kind(category), *value, dialect) : append_digits(line, elements_of(row.shape));
    line += ',';
  }
}

// `written`: the statistics in the dialect's own order; nullptr: as the row has them.
void append_line(std::string& line, const Row& row, const CsvDialect& dialect, const Categories* written,
                 std::span<const Column* const> further) {
  for (const auto& headed : dialect.columns) {
    append_cell(line, row, *headed.column, headed.otherwise, dialect);
    line += ',';
  }
  const Statistics& statistics = row.statistics;
  if (written != nullptr) {
    append_statistics(line, row, *written, dialect);
  } else {
    for (std::size_t i = 0; i < statistics.categories.size(); ++i) {
      const ValueKind what = kind(statistics.categories[i]);
      const auto* truth = std::get_if<std::uint64_t>(&statistics.values[i]);
      if (dialect.has_truths && truth != nullptr && what == ValueKind::kElement && row.data_type == "bool") {
        line += *truth != 0 ? "True" : "False";
      } else {
        append_value(line, what, statistics.values[i], dialect);
      }
      line += ',';
    }
  }
  for (const Column* column : further) {
    append_cell(line, row, *column, "", dialect);
    line += ',';
  }
  line.pop_back();
  line += dialect.row_end;
}

}  // namespace

Result<CsvText> CsvText::make(RowFormat format) {
  CsvText text;
  text.dialect_ = &value_of(format.dialect);
  for (const std::string& name : format.columns) {
    const auto known = further_columns_from(name);
    if (!known) return known.error();
    const Column* column = column_named(name);
    if (std::ranges::count(text.dialect_->columns, column, &CsvDialect::Headed::column) != 0) continue;
    if (std::ranges::count(text.further_, column) != 0) {
      return Error{Code::kInvalid, "the column '" + name + "' is asked for twice"};
    }
    text.further_.push_back(column);
  }
  if (!text.further_.empty() && !text.dialect_->takes_further_columns()) {
    return Error{Code::kInvalid, "the dialect " + std::string(name(format.dialect)) + " has no place for the column '" +
                                     format.columns.front() + "'; ours has"};
  }
  auto written = written_order(format.dialect, format.categories);
  if (!written) return written.error();
  text.written_ = *std::move(written);
  text.format_ = std::move(format);
  return text;
}

std::string CsvText::heading() const {
  std::string line;
  for (const auto& headed : dialect_->columns) line.append(headed.heading) += ',';
  for (const Category category : written_) line.append(tensorstat::heading(*dialect_, category)) += ',';
  for (const Column* column : further_) line.append(column->heading) += ',';
  line.back() = '\n';
  return line;
}

void CsvText::append(const Row& row, std::string& to) const {
  to.reserve(to.size() + 160 + row.identity.op_name.size() + 24 * row.statistics.categories.size());
  append_line(to, row, *dialect_, dialect_->orders.empty() ? nullptr : &written_, further_);
}

std::string csv_header(const Categories& categories, Dialect dialect) {
  return CsvText::make({dialect, categories, {}})->heading();
}

std::string csv_row(const Row& row, Dialect dialect, bool on_device) {
  std::string line;
  line.reserve(160 + row.identity.op_name.size() + 24 * row.statistics.categories.size());
  const CsvDialect& value = on_device ? value_on_device(dialect) : value_of(dialect);
  const Categories written = value.orders.empty() ? Categories() : *written_order(dialect, row.statistics.categories);
  append_line(line, row, value, value.orders.empty() ? nullptr : &written, {});
  return line;
}

struct RowWriter::State {
  CsvText text;
  Sink sink;
  std::string line;
  std::optional<std::string> run_name;  // of the rows so far, where a file is of one run

  Status check_run(const Identity& identity) {
    if (value_of(text.format().dialect).whose == Whose::kInRow) return {};
    const std::string name = run_file_name(identity);
    if (!run_name) run_name = name;
    if (*run_name == name) return {};
    return Error{Code::kInvalid, "a file of the dialect " + std::string(tensorstat::name(text.format().dialect)) +
                                     " is of one run of an operator: this one of " + shown(*run_name) +
                                     ", and not of " + shown(name)};
  }
};

RowWriter::RowWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
RowWriter::RowWriter(RowWriter&&) noexcept = default;
RowWriter& RowWriter::operator=(RowWriter&&) noexcept = default;
RowWriter::~RowWriter() = default;

Result<RowWriter> RowWriter::open(RowFormat format, Sink sink) try {
  const FloatEnvironment ieee;
  auto text = CsvText::make(std::move(format));
  if (!text) return text.error();
  if (Status written = sink(text->heading()); !written) return written.error();
  return RowWriter(std::make_unique<State>(State{*std::move(text), std::move(sink), {}, {}}));
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

Status RowWriter::write(const Row& row) try {
  const FloatEnvironment ieee;
  const Statistics& statistics = row.statistics;
  if (statistics.categories != state_->text.format().categories ||
      statistics.values.size() != statistics.categories.size()) {
    return Error{Code::kInvalid, "a row has other statistics than the heading"};
  }
  if (Status same = state_->check_run(row.identity); !same) return same;
  state_->line.clear();
  state_->text.append(row, state_->line);
  return state_->sink(state_->line);
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

}  // namespace tensorstat
