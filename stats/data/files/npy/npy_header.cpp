#include "stats/data/files/npy/npy_header.hpp"

#include <string>
#include <string_view>
#include <utility>

#include "stats/data/files/npy/npy_literal.hpp"

namespace tensorstat {
namespace {

std::string_view look_like(std::string_view head) {
  if (head.empty()) return "it is empty";
  if (head.starts_with("PK")) return "it looks like a zip or .npz archive";
  if (head.starts_with("\x80")) return "it looks like a Python pickle";
  return "it does not begin with \\x93NUMPY";
}

}  // namespace

std::uint64_t npy_header_bytes(std::span<const std::byte> head) {
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  if (head.size() < kNpyLengthEnds || !text.starts_with(kNpyMagic)) return head.size();
  const auto byte = [&](std::size_t index) { return std::to_integer<std::uint64_t>(head[index]); };
  const std::uint64_t short_length = byte(8) | byte(9) << 8;
  return byte(6) == 1 ? 10 + short_length : 12 + (short_length | byte(10) << 16 | byte(11) << 24);
}

Result<NpyHeader> parse_npy_header(std::span<const std::byte> head, std::uint64_t file_bytes, bool may_go_on) {
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  const auto byte = [&](std::size_t index) { return std::size_t{static_cast<unsigned char>(text[index])}; };
  if (!text.starts_with(kNpyMagic)) {
    if (!text.empty() && kNpyMagic.starts_with(text)) return unreadable_npy("truncated in its magic number");
    return unreadable_npy("is no .npy file: " + std::string(look_like(text)));
  }
  if (text.size() < 10) return unreadable_npy("truncated before its header");
  const std::size_t major = byte(6), minor = byte(7);
  if (major < 1 || major > 3 || minor != 0) {
    return unreadable_npy("has .npy version " + std::to_string(major) + "." + std::to_string(minor) +
                          "; 1.0, 2.0 and 3.0 are known");
  }
  const std::size_t start = major == 1 ? 10 : 12;
  if (text.size() < start) return unreadable_npy("truncated before its header");
  std::size_t length = byte(8) | byte(9) << 8;
  if (major > 1) length |= byte(10) << 16 | byte(11) << 24;
  if (length > file_bytes - start) {
    return unreadable_npy("truncated in its header: " + std::to_string(length) + " bytes are promised, " +
                          std::to_string(file_bytes - start) + " are there");
  }
  if (length > text.size() - start) {
    return unreadable_npy("has a header of " + std::to_string(length) + " bytes; at most 16777216 are read");
  }

  auto dictionary = parse_npy_literal(text.substr(start, length));
  if (!dictionary) return unreadable_npy("has a damaged header: " + dictionary.error().message);
  auto element = lay_out(dictionary->type, major < 3);
  if (!element) return element.error();
  const bool is_structure = dictionary->type.is_structure;
  if (!is_structure && element->fields.front().refusal) return *element->fields.front().refusal;

  NpyHeader header;
  header.fields = std::move(element->fields);
  header.element_bytes = element->element_bytes;
  const auto count = element_count(dictionary->shape, header.element_bytes);
  if (!count) return unreadable_npy("has a damaged header: " + count.error().message);
  header.fortran_order = dictionary->fortran_order;
  header.shape = std::move(dictionary->shape);
  header.element_count = *count;
  header.data_offset_bytes = start + length;
  const std::uint64_t stored_bytes = file_bytes - header.data_offset_bytes, needed_bytes = header.data_bytes();
  const bool is_cut = stored_bytes<needed_bytes, goes_on = stored_bytes> needed_bytes && !may_go_on;
  if (file_bytes != kUnknownBytes && (is_cut || goes_on)) {
    return unreadable_npy((is_cut ? "is truncated: shape " : "is too long: shape ") + to_string(header.shape) + " of " +
                          (is_structure ? std::to_string(header.element_bytes) + "-byte structures"
                                        : std::string(name(header.fields.front().dtype))) +
                          " needs " + std::to_string(needed_bytes) + " bytes of data, " + std::to_string(stored_bytes) +
                          " are there");
  }
  return header;
}

}  // namespace tensorstat
