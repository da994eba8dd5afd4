// What makes a dialect of a csv of statistics: one value, which the writer and the reader both work from.
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

enum class Whose : std::uint8_t {
  kInRow,       // a row says whose tensor it is
  kInFileName,  // a file is of one run of one operator, and its name says which: run_name.hpp
};

enum class Digits : std::uint8_t {
  kShortest,  // that read back as the same value
  kSix,       // significant ones, as %g has them; elements are doubles whatever the dtype
  kSixOfReals,  // the same, and integers as they are
};

// How a shape is written. `none`: that of a scalar.
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
    std::string_view otherwise;  // what a text is written as where the row does not say
  };
  struct StatisticHeading {
    Category category;
    std::string_view heading;
    bool is_written;  // else only read: some version wrote it
  };

  struct DtypeWord {
    std::string_view name, word;
  };
  using Order = std::span<const Category>;

  std::span<const Headed> columns;                   // before the statistics, in this order
  std::span<const StatisticHeading> statistics = {};  // headings that are not the catalog's
  // The order of the statistics: that of the first of these which names exactly those that are written, and else of
  // the last, which names all that the dialect has. None: every statistic, in the order asked.
  std::span<const Order> orders = {};
  Quotes quotes = Quotes::kWhereNeeded;
  Digits digits = Digits::kShortest;
  std::string_view missing = "";         // a value that does not exist; a digest has an empty cell
  std::span<const ShapeText> shapes = kPlainShape;  // the first is written, each is read
  std::span<const DtypeWord> dtypes = {};  // how data types are spelled, where not by the catalog's names
  std::string_view input = "input", output = "output";
  bool op_name_is_escaped = false;  // / \ . and space as _
  bool may_lack_count = false;      // the Count behind Shape is always written, and may be missing in what is read
  Whose whose = Whose::kInRow;
  std::string_view row_end = "\n";
  bool has_truths = false;  // elements of a bool are written as True and False, which are read in each dialect

  bool takes_further_columns() const { return quotes == Quotes::kWhereNeeded; }
};

// What stands before a word of DtypeWord; a reader does without it.
inline constexpr std::string_view kDtypePrefix = "DT_";

const CsvDialect& value_of(Dialect dialect);
// The same as MindSpore's device writes it, where the dialect is MindSpore's.
const CsvDialect& value_on_device(Dialect dialect);

// The heading of a statistic's column.
std::string_view heading(const CsvDialect& dialect, Category category);

// The statistics of a row in the order that the dialect writes them. The error names one that it has no column for.
Result<Categories> written_order(Dialect dialect, const Categories& categories);

}  // namespace tensorstat
