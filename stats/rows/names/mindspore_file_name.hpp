// Whose tensor a dumped file holds, read from its name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tensorstat/rows.hpp>

namespace tensorstat {

struct NamedTensor {
  Identity identity;
  std::string original_dtype;  // lower case; empty when the name does not say
  std::string format = {};     // a format of CANN's, such as NC1HWC0; empty when the name does not say
};

// The parts of these names, where {run} is what OperatorRunName reads; numbers are plain digits below 2^64, and no part
// is empty:
//   {run}.{input|output}.{slot}[.{format}[.{dtype}]].npy
//   {run}[.bin], which holds several tensors; `tensor` says "input.1" or "output.0" of one of them
// Any other name gives Tensor, the name of the tensor, or else that of the file without its `.npy`, 0, 0, `modified_us`,
// output, 0. Folders before the name are ignored.
NamedTensor named_tensor(std::string_view path, std::uint64_t modified_us,
                         const std::optional<std::string>& tensor = std::nullopt);

// The operator's run, where the name is that of a file which holds all of its tensors: {run}[.bin]. Input or output, and
// slot, are none.
std::optional<Identity> named_run(std::string_view path);

// Whether the name is one that adump gives to a tensor of a type that .npy lacks:
// `{run}.{input|output}.{slot}.ND.BF16`. Such a file holds the bits alone; nothing says the shape.
bool is_named_as_bits(std::string_view path);

// "input.1" or "output.0", which the identity takes; false of any other text.
bool read_slot(std::string_view text, Identity& identity);

}  // namespace tensorstat
