// The wire format of Protocol Buffers, read from a file field by field and without trust: nothing is taken into memory
// but a window of the file, however long a message says that it is.
// Format: https://protobuf.dev/programming-guides/encoding
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tensorstat/status.hpp>

#include "stats/files/io/byte_source.hpp"
#include "stats/files/io/random_file.hpp"

namespace tensorstat {

// A file read byte by byte through a window.
class WindowedFile {
 public:
  explicit WindowedFile(const RandomFile& file) : file_(file) {}

  // The byte at an offset that is in the file; an error when the file has shrunk, or the disk fails.
  Status byte_at(std::uint64_t offset_bytes, std::uint8_t& byte);
  const std::string& path() const { return file_.path(); }

 private:
  const RandomFile& file_;
  std::uint64_t begin_ = 0;
  std::size_t held_ = 0;
  std::array<std::byte, std::size_t{1} << 14> window_;
};

struct WireField {
  std::uint32_t number = 0;
  bool is_bytes = false;    // a text, a message inside, or packed numbers: `bytes` says where they lie
  bool is_number = false;   // a varint, which is `value`; a field that is neither has a fixed width
  std::uint64_t value = 0;
  ByteRange bytes = {};
};

// The fields of one message, which fills `message`: a range that is in the file.
class WireReader {
 public:
  WireReader(WindowedFile& file, ByteRange message)
      : file_(file), at_(message.offset_bytes), end_(message.offset_bytes + message.bytes) {}

  // nullopt after the last field. An error names the file, and says at which byte of it what is wrong.
  Result<std::optional<WireField>> next();

  // The range as packed varints: the next of them.
  Result<std::optional<std::uint64_t>> next_number();

 private:
  Result<std::uint64_t> varint();
  Error fault(const std::string& what) const;

  WindowedFile& file_;
  std::uint64_t at_, end_;
};

}  // namespace tensorstat
