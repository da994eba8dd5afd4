#include "stats/data/rows/csv/statistic_csv.hpp"

#include <algorithm>
#include <vector>

#include "tests/fuzz/targets.hpp"

namespace tensorstat::fuzz {
namespace {

std::vector<Row> rows_of(Input text, bool& readable, RowsRead& content) {
  std::vector<Row> rows;
  auto read = read_rows(text, [&](Row&& row) { return rows.push_back(std::move(row)), Status(); });
  readable = static_cast<bool>(read);
  if (!read) {
    demand_message(read.error().message, 1000);  // a dump.json's message quotes the text at the error
  } else {
    content = *std::move(read);
    demand(content.row_count == rows.size(), "the rows are counted");
  }
  return rows;
}

std::string written(const std::vector<Row>& rows, const RowFormat& format) {
  const auto csv = CsvText::make(format);
  demand(static_cast<bool>(csv), "the columns that were read can be written");
  const Dialect dialect = format.dialect;
  std::string text = csv->heading();
  for (const Row& row : rows) {
    std::string line;
    csv->append(row, line);
    const bool one_line = std::count(line.begin(), line.end(), '\n') == 1 && line.back() == '\n';
    demand(one_line || dialect == Dialect::kOurs, "a row of the dialects that escape nothing is one line");
    text += line;
  }
  return text;
}

}  // namespace

void statistic_csv(Input text) {
  RowsRead content;
  bool readable = false;
  const auto rows = rows_of(text, readable, content);
  for (const Row& row : rows) {
    demand(row.statistics.values.size() == row.statistics.categories.size(), "a value a category");
  }
  if (!readable) return;
  for (const auto dialect : {Dialect::kMindspore27, Dialect::kMindsporeNext}) {
    static_cast<void>(written(rows, {dialect, content.categories, {}}));
  }
  if (content.dialect == Dialect::kCann || content.dialect == Dialect::kMsprobeO2) {
    static_cast<void>(written(rows, {*content.dialect, content.categories, content.columns}));
  }
  // tensorstat's own dialect can express all others.
  const auto ours = written(rows, {Dialect::kOurs, content.categories, content.columns});
  RowsRead again;
  const auto rows_again = rows_of(ours, readable, again);
  demand(readable, "what is written is read");
  const bool same = again.categories == content.categories && again.columns == content.columns;
  demand(same, "the columns are read back");
  demand(written(rows_again, {Dialect::kOurs, again.categories, again.columns}) == ours, "the rows are read back");
}

}  // namespace tensorstat::fuzz
