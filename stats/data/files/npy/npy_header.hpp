// Reads the untrusted header of an .npy file, versions 1.0, 2.0 and 3.0.
// Format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <tensorstat/tensor.hpp>
#include <vector>

#include "stats/data/files/npy/npy_dtype.hpp"

namespace tensorstat {

inline constexpr std::string_view kNpyMagic = "\x93NUMPY";

struct NpyHeader {
  std::vector<NpyField> fields;  // one, or one for each field of a structured dtype
  bool fortran_order = false;
  Shape shape;
  std::uint64_t element_count = 0, element_bytes = 0;
  std::uint64_t data_offset_bytes = 0;

  std::uint64_t data_bytes() const { return element_count * element_bytes; }  // below 2^63
};

// The limit of a header's size. A structure of 100,000 fields needs a seventh of it.
inline constexpr std::size_t kMostNpyHeaderBytes = (std::size_t{1} << 24) + 12;

inline constexpr std::uint64_t kUnknownBytes = ~std::uint64_t{0};  // the length of a stream, known only at its end

// The size of the header that begins with `head`, including its length field. Returns the size of `head` if it has
// fewer than kNpyLengthEnds bytes, or is not a header. The number is untrusted and may be anything.
inline constexpr std::size_t kNpyLengthEnds = 12;
std::uint64_t npy_header_bytes(std::span<const std::byte> head);

// Reads the header at the beginning of `head`. `head` is the first min(kMostNpyHeaderBytes, file) bytes of a file, or
// at least npy_header_bytes() of them. `file_bytes` is the length of the whole file or kUnknownBytes. The data must
// fill the rest of the file exactly; with `may_go_on`, more bytes may follow. Memory is a small multiple of `head`,
// whatever the header claims. The error names the cause and an unsupported dtype; the caller adds the path. In a
// structured dtype, an unsupported field is not an error of the whole file.
Result<NpyHeader> parse_npy_header(std::span<const std::byte> head, std::uint64_t file_bytes, bool may_go_on = false);

}  // namespace tensorstat
