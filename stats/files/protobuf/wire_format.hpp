// Reads the wire format of Protocol Buffers field by field from an untrusted file. Only a window of the file is in
// memory, whatever length a message claims.
// Format: https://protobuf.dev/programming-guides/encoding
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tensorstat/status.hpp>

#include "stats/files/io/byte_source.hpp"
#include "stats/files/io/windowed_file.hpp"

namespace tensorstat {

struct WireField {
  std::uint32_t number = 0;
  bool is_bytes = false;   // a text, a nested message or packed numbers, at `bytes`
  bool is_number = false;  // a varint with `value`; a field that is neither has a fixed width
  std::uint64_t value = 0;
  ByteRange bytes = {};
};

// Iterates over the fields of one message. `message` is its range and must lie within the file.
class WireReader {
 public:
  WireReader(WindowedFile& file, ByteRange message)
      : file_(file), at_(message.offset_bytes), end_(message.offset_bytes + message.bytes) {}

  // nullopt after the last field. An error has the file's name, the offset and the problem.
  Result<std::optional<WireField>> next();

  // Reads the range as packed varints: the next one, or nullopt at the end.
  Result<std::optional<std::uint64_t>> next_number();

 private:
  Result<std::uint64_t> varint();
  Error fault(const std::string& what) const;

  WindowedFile& file_;
  std::uint64_t at_, end_;
};

}  // namespace tensorstat
