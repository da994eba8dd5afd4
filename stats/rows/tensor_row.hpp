// A row of statistics and the tensor that it describes.
#pragma once

#include <optional>
#include <string>
#include <tensorstat/rows.hpp>

namespace tensorstat {

struct TensorRow {
  std::string path;                   // of the file
  std::optional<std::string> tensor;  // its name, if the file is a container
  Row row;
  std::optional<Shape> index = {};  // if the row describes a part of the tensor (--by): the index of the part

  // "model.npz::layer.weight[3,5]"
  std::string label() const;
};

// "3,5"
std::string index_text(const Shape& index);

}  // namespace tensorstat
