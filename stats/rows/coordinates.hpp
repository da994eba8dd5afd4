// Where in a tensor of some shape an index lies.
#pragma once

#include <optional>
#include <tensorstat/statistics.hpp>
#include <tensorstat/tensor.hpp>

namespace tensorstat {

// A place along each dimension, the outermost first, of an index in C order (ValueKind::kIndex); {} of a scalar's. None
// where there is no index, or where a tensor of this shape does not reach it.
std::optional<Shape> coordinates(const Value& index, const Shape& shape);

}  // namespace tensorstat
