// statistic.csv, written and read.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "stats/dump/row.hpp"

namespace tensorstat {

//   kOurs          RFC 4180 with LF: shortest digits that read back as the same value, quotes where
//                  needed, nothing after the last field. A text cell a spreadsheet would run as a
//                  formula (it starts with = + - @ TAB or CR) gets a ' in front, which the reader
//                  takes off again. A value that does not exist is an empty cell.
//   kMindspore27   the bytes of MindSpore 2.3 to 2.7.0: 6 significant digits, / \ . and space of an
//                  operator name as _, a comma at the end of every row but not of the header. Only
//                  Shape is quoted; nothing is escaped. A value that does not exist is `null`.
//   kMindsporeNext the bytes of later versions: the same, with the operator name as it is and
//                  Shape as "[2,3]".
// In MindSpore's dialects a control character in a text becomes _, so that a row stays one line.
enum class Dialect { kOurs, kMindspore27, kMindsporeNext };

std::string_view name(Dialect dialect);  // "ours", "mindspore-2.7", "mindspore-next"
std::optional<Dialect> dialect_from(std::string_view text);

// The heading, ending in LF: the ten identity columns, then one for each category in the order
// given. It is the same text in every dialect.
std::string csv_header(const Categories& categories, Dialect dialect);

// One row, ending in LF: the columns of csv_header(row.statistics.categories).
std::string csv_row(const Row& row, Dialect dialect);

struct CsvContent {
  Categories categories;           // one for each column; a column may come twice in MindSpore's
  std::optional<Dialect> dialect;  // none: the file holds no row that would tell
  std::uint64_t row_count = 0;
};

// Reads a whole statistic.csv of any of the three dialects and hands each row to `each`, in order.
// Strict: the heading must be known, and every row must have its fields, its quotes and its LF in
// one dialect throughout. What is wrong is said with its line number, counted from 1; the rows
// before it have been handed over. Lines may end in CR LF. Integers, and max and min of integer
// dtypes, come back as integers where they were written as such; `null`, empty and -nan are read.
Result<CsvContent> read_csv(std::string_view text, const std::function<void(Row&&)>& each);

}  // namespace tensorstat
