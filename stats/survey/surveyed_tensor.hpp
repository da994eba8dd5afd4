// The row and the placement of one tensor of a file.
#pragma once

#include <cstdint>
#include <span>
#include <tensorstat/meter.hpp>

#include "stats/rows/tensor_row.hpp"

namespace tensorstat {

struct SurveyedTensor : TensorRow {
  std::span<const Decision> placement;  // valid during the listener's call
  std::uint64_t device_bytes = 0;
  std::size_t file = 0;      // which call of Survey added it
  std::uint64_t number = 0;  // which tensor of its file
};

}  // namespace tensorstat
