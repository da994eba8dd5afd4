// Which tensor of a training a row has, told by its operator type. Nothing else decides this.
#pragma once

#include <cstdint>
#include <string_view>

namespace tensorstat {

// In this order diff lists rows of one name.
enum class RowKind : std::uint8_t {
  kOfCall,  // an input or output of an operator or module
  kParameter,
  kGradient,
  kOptimizerState,
  kUpdate,  // how far a step moved a parameter
  kBuffer,
  kLoss
};
RowKind row_kind(std::string_view op_type);

}  // namespace tensorstat
