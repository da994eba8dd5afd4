#include "stats/rows/coordinates.hpp"

namespace tensorstat {

std::optional<Shape> coordinates(const Value& index, const Shape& shape) {
  const auto* at = std::get_if<std::uint64_t>(&index);
  if (at == nullptr) return std::nullopt;
  Shape places(shape.size());
  std::uint64_t left = *at;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 0) return std::nullopt;
    places[i] = left % shape[i];
    left /= shape[i];
  }
  if (left != 0) return std::nullopt;
  return places;
}

}  // namespace tensorstat
