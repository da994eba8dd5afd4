// Where in a tensor of some shape an index lies.
#pragma once

#include <cstdint>
#include <optional>
#include <tensorstat/statistics.hpp>
#include <tensorstat/tensor.hpp>

namespace tensorstat {

// A place along each dimension, the outermost first, of an index in C order; {} of a scalar's. None where a tensor of this
// shape does not reach it.
std::optional<Shape> coordinates(std::uint64_t index, const Shape& shape);

// The same of a value (ValueKind::kIndex); none where it is no index.
std::optional<Shape> coordinates(const Value& index, const Shape& shape);

}  // namespace tensorstat
