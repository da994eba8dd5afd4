// Rows as the text of statistic.csv, in the dialect that a format names.
#pragma once

#include <string>
#include <tensorstat/rows.hpp>
#include <vector>

#include "stats/data/rows/column.hpp"
#include "stats/data/rows/dialect.hpp"

namespace tensorstat {

class CsvText {
 public:
  // Refuses the same formats as RowWriter::open().
  static Result<CsvText> make(RowFormat format);

  const RowFormat& format() const { return format_; }

  std::string heading() const;  // ending in LF
  // Appends one line, ending in LF. The row has a value for each category of the format.
  void append(const Row& row, std::string& to) const;

 private:
  RowFormat format_;
  const CsvDialect* dialect_ = nullptr;
  Categories written_;  // in the order of the dialect
  std::vector<const Column*> further_;
};

// The heading and one row of the dialects' common columns, for writers that hold no CsvText. The dialect has a column
// for each of the categories.
std::string csv_header(const Categories& categories, Dialect dialect);
// `on_device`: as value_on_device() has it.
std::string csv_row(const Row& row, Dialect dialect, bool on_device = false);

}  // namespace tensorstat
