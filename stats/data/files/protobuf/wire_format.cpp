#include "stats/data/files/protobuf/wire_format.hpp"

#include "stats/core/base/printable.hpp"

namespace tensorstat {
namespace {

// The lowest three bits of a key.
enum WireType : std::uint8_t { kVarint = 0, kEightBytes = 1, kLengthDelimited = 2, kFourBytes = 5 };

constexpr std::uint64_t kMostFieldNumber = (std::uint64_t{1} << 29) - 1;

}  // namespace

Error WireReader::fault(const std::string& what) const {
  return {Code::kUnreadable, printable(file_.path()) + ": is damaged at its byte " + std::to_string(at_) + ": " + what};
}

Result<std::uint64_t> WireReader::varint() {
  constexpr int kMostBits = 64;
  std::uint64_t value = 0;
  for (int shift = 0; shift < kMostBits; shift += 7) {
    if (at_ == end_) return fault("a number goes beyond the end of its message");
    std::uint8_t byte = 0;
    if (Status read = file_.byte_at(at_, byte); !read) return read.error();
    ++at_;
    value |= std::uint64_t{byte & 0x7fu} << shift;
    if ((byte & 0x80) == 0) return value;
  }
  return fault("a number has more than ten bytes");
}

Result<std::optional<std::uint64_t>> WireReader::next_number() {
  if (at_ == end_) return std::optional<std::uint64_t>();
  const auto number = varint();
  if (!number) return number.error();
  return std::optional(*number);
}

Result<std::optional<WireField>> WireReader::next() {
  if (at_ == end_) return std::optional<WireField>();
  const auto key = varint();
  if (!key) return key.error();
  const std::uint64_t number = *key >> 3;
  if (number == 0 || number > kMostFieldNumber) return fault("no field has the number " + std::to_string(number));
  WireField field{.number = static_cast<std::uint32_t>(number)};
  std::uint64_t length = 0;
  switch (*key & 7) {
    case kVarint: {
      const std::uint64_t begin = at_;
      const auto value = varint();
      if (!value) return value.error();
      field.is_number = true;
      field.value = *value;
      field.bytes = {begin, at_ - begin};
      return std::optional(field);
    }
    case kLengthDelimited: {
      const auto bytes = varint();
      if (!bytes) return bytes.error();
      field.is_bytes = true;
      length = *bytes;
      break;
    }
    case kEightBytes:
      length = 8;
      break;
    case kFourBytes:
      length = 4;
      break;
    default:
      return fault("a field of wire type " + std::to_string(*key & 7));
  }
  if (length > end_ - at_) {
    return fault("a field of " + std::to_string(length) + " bytes, and its message has " + std::to_string(end_ - at_) +
                 " left");
  }
  field.bytes = {at_, length};
  at_ += length;
  return std::optional(field);
}

Status append_dimensions(WindowedFile& file, const WireField& field, std::size_t most, Shape& shape) {
  const auto fault = [&](const std::string& what) {
    return Error{Code::kUnreadable, printable(file.path()) + ": a tensor " + what};
  };
  if (!field.is_number && !field.is_bytes) return {};
  WireReader numbers(file, field.bytes);
  for (;;) {
    const auto number = numbers.next_number();
    if (!number) return number.error();
    if (!*number) return {};
    if (shape.size() == most) return fault("has more than " + std::to_string(most) + " dimensions");
    shape.push_back(**number);
  }
}

Status read_text(WindowedFile& file, const WireField& field, std::string& to) {
  constexpr std::uint64_t kMostBytes = 65'535;
  if (!field.is_bytes || field.bytes.bytes > kMostBytes) {
    return Error{Code::kUnreadable,
                 printable(file.path()) + ": is damaged at its byte " + std::to_string(field.bytes.offset_bytes) +
                     (field.is_bytes ? ": a text of more than 65535 bytes" : ": a number where a text belongs")};
  }
  auto text = file.text_at(field.bytes.offset_bytes, field.bytes.bytes);
  if (!text) return text.error();
  to = *std::move(text);
  return {};
}

}  // namespace tensorstat
