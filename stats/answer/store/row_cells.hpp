// A row as the cells of a store's table, and back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tensorstat/rows.hpp>
#include <vector>

#include "stats/answer/store/database.hpp"
#include "stats/data/rows/csv/csv_value.hpp"

namespace tensorstat {

// The content of a column, or why the value is elsewhere.
struct StoredCell {
  enum class Content : std::uint8_t { kNothing, kInteger, kReal, kNan, kBytes, kText, kExact };
  Content content = Content::kNothing;
  std::uint64_t bits = 0;  // of the number; else the text's place in a list of the caller
};

// Statistics up to this number have a bit for NaN, behind which the last says that `exact` has more of the row.
inline constexpr std::uint32_t kNanBits = 62;
inline constexpr std::uint64_t kHasExact = std::uint64_t{1} << kNanBits;

// The cell of a value; `texts` receives what does not fit in 64 bits.
StoredCell cell_of(const Value& value, Category category, ElementKind element, std::vector<std::string>& texts);

// The value of a column that is not NULL.
Value value_of_column(const Statement& row, int column, Category category, ElementKind element);

// A value as a row of `exact`: its type, "u", "i", "d", "x" or "e", and its text.
std::string exact_type(const Value& value);
Value value_of_exact(std::string_view type, std::string_view text);

// Reads the text that names_of() writes into a store.
Categories categories_of_names(std::string_view names);
// The names of columns, separated by commas.
std::vector<std::string> columns_of_names(std::string_view names);

std::string text_of_shape(const Shape& shape);
Shape shape_of_text(std::string_view text);

// Identity::more as one text, which keeps the order and any bytes.
std::string text_of_cells(const std::vector<std::pair<std::string, Cell>>& cells);
std::vector<std::pair<std::string, Cell>> cells_of_text(std::string_view text);

}  // namespace tensorstat
