// Reads the wire format of Protocol Buffers field by field from an untrusted file. Only a window of the file is in
// memory, whatever length a message claims.
// Format: https://protobuf.dev/programming-guides/encoding
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tensorstat/status.hpp>
#include <tensorstat/tensor.hpp>

#include "stats/data/files/io/byte_source.hpp"
#include "stats/data/files/io/windowed_file.hpp"

namespace tensorstat {

struct WireField {
  std::uint32_t number = 0;
  bool is_bytes = false;   // a text, a nested message or packed numbers, at `bytes`
  bool is_number = false;  // a varint with `value`; a field that is neither has a fixed width
  std::uint64_t value = 0;
  ByteRange bytes = {};  // of the field without its key and length: also of a varint
};

// Iterates over the fields of one message: the range `message` within `file`, which must outlive this.
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

// Calls `read` for each field of the message, until it fails.
template <typename Read>
Status for_each_field(WindowedFile& file, ByteRange message, Read read) {
  WireReader reader(file, message);
  for (;;) {
    const auto field = reader.next();
    if (!field) return field.error();
    if (!*field) return {};
    if (Status done = read(**field); !done) return done;
  }
}

// Appends the number of a repeated field, or its packed numbers, to a shape. Fails if it would have more than
// `most` dimensions. A negative one becomes one that element_count() refuses.
Status append_dimensions(WindowedFile& file, const WireField& field, std::size_t most, Shape& shape);

// Puts the text of a field into `to`. At most 65,535 bytes.
Status read_text(WindowedFile& file, const WireField& field, std::string& to);

}  // namespace tensorstat
