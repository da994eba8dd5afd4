// Whose tensor a dumped file holds, read from its name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tensorstat/rows.hpp>


namespace tensorstat {

struct NamedTensor {
  Identity identity;
  std::string original_dtype;  // lower case; empty when the name does not say
};

// `{op_type}.{op_name}.{task_id}.{stream_id}.{timestamp}.{input|output}.{slot}.{format}[.{dtype}].npy`
// gives its parts; the numbers are plain digits below 2^64, and no part is empty. Only op_type may
// hold dots: MindSpore escapes them in op_name. Any other name gives Tensor, the file name without
// its `.npy`, 0, 0, `modified_us`, output, 0. Directories before the name are ignored.
NamedTensor named_tensor(std::string_view path, std::uint64_t modified_us);

}  // namespace tensorstat
