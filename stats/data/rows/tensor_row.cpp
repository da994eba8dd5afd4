#include "stats/data/rows/tensor_row.hpp"

#include <algorithm>

#include "stats/data/files/tensor_reader.hpp"

namespace tensorstat {

std::string index_text(const Shape& index) {
  const std::string text = to_string(index);
  return text.substr(1, text.size() - 2);
}

std::string block_text(std::uint64_t number, const Shape& place, std::uint64_t elements) {
  return std::to_string(number) + " (" + index_text(place) + ":" + std::to_string(place.back() + elements) + ")";
}

std::string TensorRow::label() const {
  const std::string whole = tensor_label(path, tensor);
  if (!index) return whole;
  const Cell* const cell = row.identity.find("index");
  const auto* written = cell ? std::get_if<std::string>(cell) : nullptr;
  const std::string text = written ? *written : index_text(*index);
  const std::size_t number = std::min(text.find(' '), text.size());  // of a block, before its place
  return whole + "[" + text.substr(0, number) + "]" + text.substr(number);
}

}  // namespace tensorstat
