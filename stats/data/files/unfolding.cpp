#include "stats/data/files/unfolding.hpp"

#include <algorithm>
#include <string>

#include "stats/data/files/tensor_reader.hpp"

namespace tensorstat {

std::uint64_t bytes_to_read(const StoredTensor& tensor) {
  const std::uint64_t bytes = tensor.element_count * size_bytes(tensor.dtype);
  if (!tensor.records || tensor.records->field_bytes == 0) return bytes;
  std::uint64_t all = 0;
  const bool is_too_many =
      __builtin_mul_overflow(bytes / tensor.records->field_bytes, tensor.records->record_bytes, &all);
  return is_too_many ? UINT64_MAX : all;
}

Status Unfolding::take(std::uint64_t bytes) {
  if (bytes > most_ - taken_) {
    return Error{Code::kUnsupported, "would be read as " + std::to_string(bytes) + " bytes, and the file has " +
                                         std::to_string(there_) + ": its tensors may have " +
                                         std::to_string(kMostUnfolding) + " times that and 1 GiB together" +
                                         (taken_ == 0 ? "" : ", and those before it " + std::to_string(taken_))};
  }
  taken_ += bytes;
  return {};
}

}  // namespace tensorstat
