// Converts cells of statistic.csv to values.
#pragma once

#include <optional>
#include <string_view>
#include <tensorstat/rows.hpp>

#include "stats/data/rows/dialect.hpp"

namespace tensorstat {

// The whole text as a number in plain digits.
std::optional<std::uint64_t> whole_number(std::string_view text);

std::optional<Shape> shape_from(std::string_view text, const CsvDialect& dialect);

// "float32" of the dialect's word for it. A word that is not known stays as it is.
std::string_view data_type_from(std::string_view text, const CsvDialect& dialect);

// How the elements of a data type are held in a Value. Data types that are not a Dtype are known by their names: int4,
// uint1.
enum class ElementKind : std::uint8_t { kReal, kSigned, kUnsigned };
ElementKind element_kind(std::string_view data_type);

std::optional<Value> value_from(std::string_view text, ValueKind kind, ElementKind element, const CsvDialect& dialect);

}  // namespace tensorstat
