// .npy files as MindSpore writes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <tensorstat/status.hpp>
#include <tensorstat/tensor.hpp>

namespace tensorstat {

// How elements of dtypes that npy does not have are converted for the file.
enum class Widening : std::uint8_t {
  kNone,
  kBfloat16,  // to float32, without loss
  kInt4,      // two a byte, low half first, to int8
  kUint1,     // eight a byte, most significant bit first, to uint8
};

struct NpyContent {
  std::string_view descr;  // the dtype in the file: "<f4"
  Shape shape;             // of the values in the file
  Widening widening = Widening::kNone;
  std::span<const std::byte> bytes;  // before widening, C order, little endian
};

// "|b1", "<f4". bfloat16 is stored as float32, so it has "<f4".
std::string_view npy_descr(Dtype dtype);

// Everything before the data: version 1.0 (2.0 beyond 65,535 bytes), the dictionary with single
// quotes, no space inside the shape and a comma after each dimension, then 1 to 64 spaces and LF,
// so that the data begin at a multiple of 64.
std::string npy_header(std::string_view descr, const Shape& shape);

// Appends `count` elements from number `first` to `out`, as the file holds them.
void widen(Widening widening, std::span<const std::byte> bytes, std::uint64_t first, std::uint64_t count,
           std::string& out);

// How many times as many bytes the file holds.
std::uint64_t widening_factor(Widening widening);

// Writes the file under a hidden name and renames it. Nobody sees an incomplete file, and on failure an existing file
// is unchanged. The mode is 0400, as MindSpore's. `synced`: fsync before the rename, so that a power failure leaves no
// empty file.
Status write_npy(const std::string& path, const NpyContent& content, bool synced = false);

// As write_npy, for any text.
Status write_whole_file(const std::string& path, std::string_view text);

// Like write_npy, for a text in pieces: `fill` passes them to `write` in order. If `fill` fails, no file is written.
using WritePiece = std::function<void(std::string_view piece)>;
Status write_whole_file(const std::string& path, const std::function<Status(const WritePiece& write)>& fill,
                        bool synced = false);

}  // namespace tensorstat
