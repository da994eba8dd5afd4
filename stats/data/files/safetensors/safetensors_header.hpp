// The header of a .safetensors file, read without trust.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tensorstat/status.hpp>
#include <tensorstat/tensor.hpp>
#include <vector>

namespace tensorstat {

struct SafetensorsEntry {
  std::string name, dtype;
  Shape shape;
  std::uint64_t begin = 0, end = 0;  // offsets after the header

  bool operator==(const SafetensorsEntry&) const = default;
};

// The tensors of a header, in its order: from plain_header(), or else from json_header(). The error gives the cause;
// the caller adds the path.
Result<std::vector<SafetensorsEntry>> safetensors_header(std::string_view text);

// Recognises a header as nearly every writer writes it, some five times as fast: ASCII without escapes, and of each
// tensor dtype, shape and data_offsets in this order. nullopt: any other header, right or wrong.
std::optional<std::vector<SafetensorsEntry>> plain_header(std::string_view text);

// Reads every header. What plain_header() finds, this finds as well.
Result<std::vector<SafetensorsEntry>> json_header(std::string_view text);

}  // namespace tensorstat
