// What was found out about one tensor of a file.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tensorstat/meter.hpp>
#include <tensorstat/rows.hpp>

namespace tensorstat {

struct Entry {
  std::string path;                   // of its file
  std::optional<std::string> tensor;  // its name, where the file is a container of tensors
  Row row;
  std::span<const Decision> placement;  // good while the listener looks
  std::uint64_t device_bytes = 0;

  std::optional<Shape> index = {};  // which row of the tensor this is

  std::string label() const;
};

// "3,5"
std::string index_text(const Shape& index);

}  // namespace tensorstat
