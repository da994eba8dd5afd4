// Reads the identity of a dumped tensor from the file's name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tensorstat/rows.hpp>

namespace tensorstat {

struct NamedTensor {
  Identity identity;
  std::string original_dtype;  // lower case; empty if not in the name
  std::string format = {};     // a format of CANN, such as NC1HWC0; empty if not in the name
};

// Parses these names. {run} is what OperatorRunName reads. Numbers are plain digits below 2^64, and no part is empty:
//   {run}.{input|output}.{slot}[.{format}[.{dtype}]].npy
//   {run}[.bin], a file with several tensors; `tensor` is "input.1" or "output.0" for one of them
// Any other name gives op_type Tensor, op_name the name of the tensor or else the file's name without `.npy`, timestamp
// `modified_us`, output 0, and 0 for the rest. Folders before the name are ignored.
NamedTensor named_tensor(std::string_view path, std::uint64_t modified_us,
                         const std::optional<std::string>& tensor = std::nullopt);

// The run, if the name is {run}[.bin]: a file with all tensors of an operator's run. io and slot are not set.
std::optional<Identity> named_run(std::string_view path);

// Whether adump uses this name for a tensor of a type that .npy does not have: `{run}.{input|output}.{slot}.ND.BF16`.
// Such a file holds only the elements, without a shape.
bool is_named_as_bits(std::string_view path);

// Reads "input.1" or "output.0" into the identity; false for any other text.
bool read_slot(std::string_view text, Identity& identity);

}  // namespace tensorstat
