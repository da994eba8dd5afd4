// The array of an .npy file, or of such a member of an archive, as the tensors in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tensorstat/status.hpp>
#include <vector>

#include "stats/files/io/byte_source.hpp"
#include "stats/files/tensor_reader.hpp"

namespace tensorstat {

struct NpyArray {
  std::vector<Result<StoredTensor>> tensors = {};  // one, or one for each field of a structured dtype
  std::uint64_t end_bytes = 0;                     // of the elements, in the source
};

// The array whose header begins the range and whose elements fill the rest of it, or, where it `may_go_on`, lie in it.
// A tensor is called as the array is, a field "array::field", or "field" where the array has no name. An error names
// the array, or the field.
Result<NpyArray> read_npy_array(ByteSource& source, const std::optional<std::string>& name, ByteRange range,
                                Original original, bool may_go_on = false);

}  // namespace tensorstat
