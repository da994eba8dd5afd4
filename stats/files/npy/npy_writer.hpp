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

// What is done to the bits on their way to the file, for types that npy does not know.
enum class Widening : std::uint8_t {
  kNone,
  kBfloat16,  // to float32, the same values
  kInt4,      // two a byte, low half first, to int8
  kUint1,     // eight a byte, most significant bit first, to uint8
};

struct NpyContent {
  std::string_view descr;  // of what the file holds: "<f4"
  Shape shape;             // in values
  Widening widening = Widening::kNone;
  std::span<const std::byte> bytes;  // before widening, C order, little endian
};

// "|b1", "<f4"; for bfloat16 that of float32, which is how it is stored.
std::string_view npy_descr(Dtype dtype);

// Everything before the data: version 1.0 (2.0 beyond 65,535 bytes), the dictionary with single
// quotes, no space inside the shape and a comma after each dimension, then 1 to 64 spaces and LF,
// so that the data begin at a multiple of 64.
std::string npy_header(std::string_view descr, const Shape& shape);

// Appends the values of `count` elements from `first` on, as the file holds them, to `out`.
void widen(Widening widening, std::span<const std::byte> bytes, std::uint64_t first,
           std::uint64_t count, std::string& out);

// Writes the file under another name and then renames it: nobody ever sees a part of it, and what
// was there before stays whole when this fails. Its mode is 0400, as MindSpore's. `synced`: the disk has
// what is in it before it gets its name, so that a power failure leaves no empty file under that.
Status write_npy(const std::string& path, const NpyContent& content, bool synced = false);

// The same for any text.
Status write_whole_file(const std::string& path, std::string_view text);

// The same for a text in pieces: `fill` hands them to `write`, in order. Where it fails, nothing is written.
using WritePiece = std::function<void(std::string_view piece)>;
Status write_whole_file(const std::string& path, const std::function<Status(const WritePiece& write)>& fill,
                        bool synced = false);

}  // namespace tensorstat
