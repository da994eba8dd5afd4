// What the heading of a statistic.csv says of the rows below it.
#pragma once

#include <span>
#include <string_view>
#include <tensorstat/rows.hpp>
#include <vector>

#include "stats/data/rows/dialect.hpp"

namespace tensorstat {

// What a field of the heading announces: a column, or a statistic.
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
