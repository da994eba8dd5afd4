#include "stats/data/rows/coordinates.hpp"

namespace tensorstat {

std::optional<Shape> coordinates(std::uint64_t index, const Shape& shape) {
  Shape places(shape.size());
  for (std::size_t i = shape.size(); i-- != 0; index /= shape[i]) {
    if (shape[i] == 0) return std::nullopt;
    places[i] = index % shape[i];
  }
  return index == 0 ? std::optional(std::move(places)) : std::nullopt;
}

std::optional<Shape> coordinates(const Value& index, const Shape& shape) {
  const auto* element = std::get_if<std::uint64_t>(&index);
  return element != nullptr ? coordinates(*element, shape) : std::nullopt;
}

}  // namespace tensorstat
