// Converts an index to coordinates.
#pragma once

#include <cstdint>
#include <optional>
#include <tensorstat/statistics.hpp>
#include <tensorstat/tensor.hpp>

namespace tensorstat {

// The coordinates of an index in C order, outermost dimension first; {} for a scalar. nullopt if the index is outside
// of the shape.
std::optional<Shape> coordinates(std::uint64_t index, const Shape& shape);

// As above, for a value (ValueKind::kIndex); nullopt if it is not an index.
std::optional<Shape> coordinates(const Value& index, const Shape& shape);

}  // namespace tensorstat
