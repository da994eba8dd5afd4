// How many bytes the tensors of a file may be read as. A short file can name many: a stride of 0, a storage that a
// thousand tensors view, zeros that a filter packs. Work on a file stays in proportion to the bytes that exist.
#pragma once

#include <cstdint>
#include <tensorstat/status.hpp>

namespace tensorstat {

struct StoredTensor;

inline constexpr std::uint64_t kMostUnfolding = 1100;                    // deflate reaches 1,032
inline constexpr std::uint64_t kFreeUnfolding = std::uint64_t{1} << 30;  // for any file

// The bytes that are read for this tensor: of strided elements each by itself, of a field its whole records.
std::uint64_t bytes_to_read(const StoredTensor& tensor);

class Unfolding {
 public:
  // `there`: the bytes of the file, and of those beside it that it names.
  explicit Unfolding(std::uint64_t there)
      : there_(there),
        most_(there > (UINT64_MAX - kFreeUnfolding) / kMostUnfolding ? UINT64_MAX
                                                                     : there * kMostUnfolding + kFreeUnfolding) {}

  // Takes the bytes of one tensor. An error, which takes nothing, where all tensors together would exceed
  // kMostUnfolding times the bytes that are there, and 1 GiB.
  Status take(std::uint64_t bytes);

 private:
  const std::uint64_t there_, most_;
  std::uint64_t taken_ = 0;
};

}  // namespace tensorstat
