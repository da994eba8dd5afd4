#include "stats/rows/statistic_csv.hpp"

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
    demand_message(read.error().message, 400);
  } else {
    content = *std::move(read);
    demand(content.row_count == rows.size(), "the rows are counted");
  }
  return rows;
}

std::string written(const std::vector<Row>& rows, const Categories& categories, Dialect dialect) {
  std::string text = csv_header(categories, dialect);
  for (const Row& row : rows) {
    const std::string line = csv_row(row, dialect);
    const bool one_line = std::count(line.begin(), line.end(), '\n') == 1 && line.back() == '\n';
    demand(one_line || dialect == Dialect::kOurs, "a row of MindSpore's is one line");
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
    static_cast<void>(written(rows, content.categories, dialect));
  }
  // Ours holds everything that any dialect can say.
  const auto ours = written(rows, content.categories, Dialect::kOurs);
  RowsRead again;
  const auto rows_again = rows_of(ours, readable, again);
  demand(readable, "what is written is read");
  demand(again.categories == content.categories, "the columns are read back");
  demand(written(rows_again, again.categories, Dialect::kOurs) == ours, "the rows are read back");
}

}  // namespace tensorstat::fuzz
