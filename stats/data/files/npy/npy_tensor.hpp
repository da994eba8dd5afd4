// The tensors in an array of an .npy file, or of a member of an archive.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tensorstat/status.hpp>
#include <vector>

#include "stats/data/files/io/byte_source.hpp"
#include "stats/data/files/npy/npy_header.hpp"
#include "stats/data/files/tensor_reader.hpp"

namespace tensorstat {

struct NpyArray {
  std::vector<Result<StoredTensor>> tensors = {};  // one, or one for each field of a structured dtype
  std::uint64_t end_bytes = 0;                     // the end of the elements in the source
};

// The last header that was read. The members of an archive often have the same one, which is then not parsed again.
struct LastNpyHeader {
  std::string text = {};
  std::uint64_t file_bytes = 0;
  NpyHeader header = {};
};

// Reads an array. `range` begins with its header, and the elements fill the rest; with `may_go_on`, more bytes may
// follow. `name` is the array's name. A field's tensor is named "array::field", or "field" if the array has no name. An
// error names the array or the field. `last`: of arrays that were read with the same `may_go_on`.
Result<NpyArray> read_npy_array(ByteSource& source, const std::optional<std::string>& name, ByteRange range,
                                Original original, bool may_go_on = false, LastNpyHeader* last = nullptr);

}  // namespace tensorstat
