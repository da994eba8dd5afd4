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
};

}  // namespace tensorstat
