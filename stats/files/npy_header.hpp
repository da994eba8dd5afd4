// The header of an .npy file, versions 1.0, 2.0 and 3.0, read without trust.
// Format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <tensorstat/tensor.hpp>

namespace tensorstat {

struct NpyHeader {
  Dtype dtype = Dtype::kFloat32;  // kBfloat16 for two-byte voids: the file alone cannot say that
  bool is_void = false;           // so the dtype stands only if somebody vouches for it
  bool swapped = false;           // stored in the other byte order than this machine's
  bool fortran_order = false;
  bool is_complex = false;  // dtype is that of its parts, and the last dimension of `shape` counts the two of a value
  Shape shape;
  std::uint64_t element_count = 0;
  std::uint64_t data_offset_bytes = 0;
};

// A longer header is refused; 64 dimensions of 20 digits need less than a fortieth of it.
inline constexpr std::size_t kMostNpyHeaderBytes = 65'536 + 12;

inline constexpr std::uint64_t kUnknownBytes = ~std::uint64_t{0};  // the length of a stream, which shows at its end

// How many bytes the header has that begins with `head`, its own length among them; what `head` has where it
// does not say, as less than kNpyLengthEnds bytes do not. It may be any number.
inline constexpr std::size_t kNpyLengthEnds = 12;
std::uint64_t npy_header_bytes(std::span<const std::byte> head);

// Reads the header that `head`, the first min(kMostNpyHeaderBytes, file) bytes of a file, begins
// with, or no fewer than npy_header_bytes(). Everything it claims is checked against `file_bytes`, the length of the
// whole file: the data must fill the rest exactly, unless that is kUnknownBytes. Memory taken is a small multiple of `head`, whatever the header
// says. The errors say what is wrong with the file, and for an unsupported dtype its name; the
// caller adds the path. Complex dtypes are unsupported unless `takes_complex`.
Result<NpyHeader> parse_npy_header(std::span<const std::byte> head, std::uint64_t file_bytes,
                                   bool takes_complex = false);

}  // namespace tensorstat
