// statistic.csv, written and read.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <tensorstat/dump.hpp>

#include "stats/rows/row.hpp"

namespace tensorstat {

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
