// Reads the heading of a statistic.csv: its dialect and its columns.
#pragma once

#include <span>
#include <string_view>
#include <tensorstat/rows.hpp>
#include <vector>

#include "stats/data/rows/dialect.hpp"

namespace tensorstat {

// The meaning of a field in the heading: a column, or a statistic.
struct Field {
  const Column* column = nullptr;
  Category category{};
  std::string_view heading;
};

// A dialect that the heading allows.
struct Candidate {
  Dialect id;
  const CsvDialect* dialect;
  std::vector<Field> fields;
};

// The dialects with this heading; at least one. The error says how the heading differs from the closest dialect's.
Result<std::vector<Candidate>> candidates_of(std::span<const std::string_view> headings);

}  // namespace tensorstat
