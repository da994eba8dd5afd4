#include "stats/data/rows/tensor_row.hpp"

#include "stats/data/files/tensor_reader.hpp"

namespace tensorstat {

std::string index_text(const Shape& index) {
  const std::string text = to_string(index);
  return text.substr(1, text.size() - 2);
}

std::string TensorRow::label() const {
  const std::string whole = tensor_label(path, tensor);
  return index ? whole + "[" + index_text(*index) + "]" : whole;
}

}  // namespace tensorstat
