// A row of statistics, and the tensor that it is of.
#pragma once

#include <optional>
#include <string>
#include <tensorstat/rows.hpp>

namespace tensorstat {

struct TensorRow {
  std::string path;                   // of the file
  std::optional<std::string> tensor;  // its name, where the file is a container of tensors
  Row row;
  std::optional<Shape> index = {};  // where the row is of a part of the tensor (--by): which part

  // "model.npz::layer.weight[3,5]"
  std::string label() const;
};

// "3,5"
std::string index_text(const Shape& index);

}  // namespace tensorstat
