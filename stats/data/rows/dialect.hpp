// The description of a csv dialect: one value, which both the writer and the reader use.
//
// To add one: its value in dialects.cpp, and its row in TENSORSTAT_DIALECTS (rows.hpp).
#pragma once

#include <span>
#include <string_view>
#include <tensorstat/rows.hpp>

#include "stats/data/rows/column.hpp"

namespace tensorstat {

enum class Quotes : std::uint8_t {
  kWhereNeeded,  // RFC 4180; a text that a spreadsheet would run gets a ' in front
  kShapeOnly,    // nothing is escaped; op_name may contain commas and quotes
  kNever,        // nothing is quoted or escaped
};

enum class Whose : std::uint8_t {
  kInRow,       // each row has the identity of its tensor
  kInFileName,  // a file has one run of one operator, identified by its name: run_name.hpp
};

enum class Digits : std::uint8_t {
  kShortest,    // the fewest that read back as the same value
  kSix,         // six significant ones, as %g; elements are doubles for every dtype
  kSixOfReals,  // as kSix, but all digits of integers
};

// How a shape is written. `none` is the text for a scalar.
struct ShapeText {
  std::string_view open = "(", between = ",", close = ")", none = "()";
};
inline constexpr ShapeText kPlainShape[] = {{}};

struct CsvDialect {
  struct Headed {
    consteval Headed(const char* name) : Headed(name, column_named(name)->heading) {}
    consteval Headed(const char* name, std::string_view heading, std::string_view otherwise = {})
        : column(column_named(name)), heading(heading), otherwise(otherwise) {}
    const Column* column;
    std::string_view heading;
    std::string_view otherwise;  // written for an empty text
  };
  struct StatisticHeading {
    Category category;
    std::string_view heading;
    bool is_written;  // false: only read, because some version wrote it
  };

  struct DtypeWord {
    std::string_view name, word;
  };
  using Order = std::span<const Category>;

  std::span<const Headed> columns;                    // the columns before the statistics, in order
  std::span<const StatisticHeading> statistics = {};  // headings that differ from the catalog's
  // The orders of the statistics. The first order with exactly the written statistics is used, else the last one, which
  // has all statistics of the dialect. Empty: every statistic is possible, in the requested order.
  std::span<const Order> orders = {};
  Quotes quotes = Quotes::kWhereNeeded;
  Digits digits = Digits::kShortest;
  std::string_view missing = "";                    // the text for a missing value; for a digest the cell is empty
  std::span<const ShapeText> shapes = kPlainShape;  // the first one is written, all are read
  std::span<const DtypeWord> dtypes = {};           // names of data types that differ from the catalog's
  std::string_view input = "input", output = "output";
  bool op_name_is_escaped = false;  // / \ . and space become _
  bool may_lack_count = false;      // the Count behind Shape is always written, but may be missing when read
  Whose whose = Whose::kInRow;
  std::string_view row_end = "\n";
  bool has_truths = false;  // bool elements are written as True and False; all dialects read these

  bool takes_further_columns() const { return quotes == Quotes::kWhereNeeded; }
};

// Written before a word of DtypeWord; optional when read.
inline constexpr std::string_view kDtypePrefix = "DT_";

const CsvDialect& value_of(Dialect dialect);
// The variant for rows of MindSpore's device, if the dialect is MindSpore's.
const CsvDialect& value_on_device(Dialect dialect);

// The heading of a statistic's column.
std::string_view heading(const CsvDialect& dialect, Category category);

// The statistics in the order in which the dialect writes them. The error names a statistic without a column.
Result<Categories> written_order(Dialect dialect, const Categories& categories);

}  // namespace tensorstat
