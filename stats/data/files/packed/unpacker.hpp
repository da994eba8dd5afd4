// Unpacks compressed data: the members of archives, the chunks of arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <tensorstat/status.hpp>
#include <vector>

namespace tensorstat {

enum class Packing : std::uint8_t {
  kDeflate,  // as in zip archives, without a header
  kZlib,     // with the header of zlib or of gzip
  kBzip2,
  kLzmaOfZip,  // method 14 of zip archives
  kXz,
  kZstd,
  kLz4,    // numcodecs: a block behind its size of four bytes
  kBlosc,  // version 1
};

std::string_view name(Packing packing);

// Unpacks a stream piece by piece. It has a dictionary of at most 128 MiB.
class Unpacker {
 public:
  enum class State : std::uint8_t { kGoesOn, kEnded, kDamaged, kNoMemory };

  virtual ~Unpacker() = default;

  // Takes bytes from the front of `in` and fills the front of `out`; both become the rest. kGoesOn without progress:
  // more input or more room is needed.
  virtual State unpack(std::span<const std::byte>& in, std::span<std::byte>& out) = 0;
};

// Not for kLz4 and kBlosc, which cannot be streamed. An error names a missing library: all but zlib are loaded when
// they are first needed.
Result<std::unique_ptr<Unpacker>> make_unpacker(Packing packing);

// All of `in`, unpacked. An error if the result does not have `due_bytes` bytes, which bound memory and work.
Result<std::vector<std::byte>> unpacked(Packing packing, std::span<const std::byte> in, std::size_t due_bytes);

}  // namespace tensorstat
