// Converts a Fortran-ordered file to C order, one window of bounded size at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <tensorstat/tensor.hpp>
#include <vector>

#include "stats/data/files/io/byte_source.hpp"

namespace tensorstat {

// A window is a box of the index space that is contiguous in C order: some indices fixed, a range
// of the next one (the axis), all of the rest. If windows are cut along the first axis, every byte is read once. If one
// row of that axis exceeds the window, a later axis is cut, and the file is read about as many times as the product of
// the dimensions before it.
class FortranWindow {
 public:
  // A non-empty tensor of `element_bytes` (1, 2, 4 or 8) at `data_offset_bytes` of a file.
  FortranWindow(Shape shape, std::size_t element_bytes, std::uint64_t data_offset_bytes, std::size_t window_bytes);

  // Frees its memory. It may be used again.
  void release() {
    begin_ = end_ = piece_begin_ = piece_end_ = 0;
    window_ = {};
    piece_ = {};
    tile_ = {};
  }

  // The part of the window from the element at `position` in C order. Valid until the next call.
  Result<std::span<const std::byte>> from(ByteSource& bytes, std::uint64_t position);

 private:
  Status load(ByteSource& bytes, std::uint64_t position);
  Result<const std::byte*> fetch(ByteSource& bytes, std::uint64_t first, std::size_t count, std::size_t ahead);

  Shape shape_;
  std::size_t element_bytes_;
  std::uint64_t data_offset_bytes_;
  std::uint64_t count_ = 1;                 // elements of the tensor
  std::size_t axis_ = 0;                    // windows are cut along this axis
  std::uint64_t rows_ = 1;                  // the limit of indices of that axis in a window
  std::vector<std::uint64_t> c_, fortran_;  // strides in elements
  std::vector<std::byte> window_;           // elements begin_ .. end_ of the C order
  std::uint64_t begin_ = 0, end_ = 0;
  std::vector<std::byte> piece_;  // elements piece_begin_ .. piece_end_ as stored
  std::uint64_t piece_begin_ = 0, piece_end_ = 0;
  std::vector<std::byte> tile_;  // some columns of the window, each contiguous
};

}  // namespace tensorstat
