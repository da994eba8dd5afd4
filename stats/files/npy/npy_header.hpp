// The header of an .npy file, versions 1.0, 2.0 and 3.0, read without trust.
// Format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <tensorstat/tensor.hpp>
#include <vector>

#include "stats/files/npy/npy_dtype.hpp"

namespace tensorstat {

inline constexpr std::string_view kNpyMagic = "\x93NUMPY";

struct NpyHeader {
  std::vector<NpyField> fields;  // one, or those of a structured dtype
  bool fortran_order = false;
  Shape shape;
  std::uint64_t element_count = 0, element_bytes = 0;
  std::uint64_t data_offset_bytes = 0;

  std::uint64_t data_bytes() const { return element_count * element_bytes; }  // below 2^63
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
// whole file, unless that is kUnknownBytes: the data must fill the rest exactly or, where it `may_go_on`, lie in it.
// Memory taken is a small multiple of `head`, whatever the header says. The errors say what is wrong with the file, and
// for an unsupported dtype its name; the caller adds the path. Of a structured dtype only the fields that are
// unsupported are refused.
Result<NpyHeader> parse_npy_header(std::span<const std::byte> head, std::uint64_t file_bytes, bool may_go_on = false);

}  // namespace tensorstat
