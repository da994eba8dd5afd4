// What makes a dialect of statistic.csv: one value, which the writer and the reader both work from.
//
// To add one: its value in dialects.cpp, and its row in TENSORSTAT_DIALECTS (rows.hpp).
#pragma once

#include <span>
#include <string_view>
#include <tensorstat/rows.hpp>

#include "stats/rows/column.hpp"

namespace tensorstat {

enum class Quotes : std::uint8_t {
  kWhereNeeded,  // RFC 4180; a text that a spreadsheet would run gets a ' in front
  kShapeOnly,    // and nothing is escaped: op_name may hold commas and quotes
  kNever,        // the same, without them around Shape
};

enum class Digits : std::uint8_t {
  kShortest,  // that read back as the same value
  kSix,       // significant ones, as %g has them; elements are doubles whatever the dtype
};

struct CsvDialect {
  struct Headed {
    consteval Headed(const char* name) : Headed(name, column_named(name)->heading) {}
    consteval Headed(const char* name, std::string_view heading) : column(column_named(name)), heading(heading) {}
    const Column* column;
    std::string_view heading;
  };
  struct StatisticHeading {
    Category category;
    std::string_view heading;
    bool is_written;  // else only read: some version wrote it
  };

  std::span<const Headed> columns;                   // before the statistics, in this order
  std::span<const StatisticHeading> statistics = {};  // headings that are not the catalog's
  Quotes quotes = Quotes::kWhereNeeded;
  Digits digits = Digits::kShortest;
  std::string_view missing = "";         // a value that does not exist; a digest has an empty cell
  std::string_view shape_marks = "(,)";  // before the first dimension, between two, after the last
  bool op_name_is_escaped = false;       // / \ . and space as _
  std::string_view row_end = "\n";

  bool takes_further_columns() const { return quotes == Quotes::kWhereNeeded; }
};

const CsvDialect& value_of(Dialect dialect);

// The heading of a statistic's column.
std::string_view heading(const CsvDialect& dialect, Category category);

}  // namespace tensorstat
