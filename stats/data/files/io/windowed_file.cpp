#include "stats/data/files/io/windowed_file.hpp"

#include <algorithm>
#include <span>

namespace tensorstat {

Status WindowedFile::byte_at(std::uint64_t offset_bytes, std::uint8_t& byte) {
  if (offset_bytes < begin_ || offset_bytes - begin_ >= held_) {
    held_ = 0;
    const auto count = std::min<std::uint64_t>(window_.size(), file_.size_bytes() - offset_bytes);
    if (Status read = file_.read_at(offset_bytes, std::span(window_).first(count)); !read) return read;
    begin_ = offset_bytes;
    held_ = count;
  }
  byte = std::to_integer<std::uint8_t>(window_[offset_bytes - begin_]);
  return {};
}

Result<std::uint64_t> WindowedFile::number_at(std::uint64_t offset_bytes, unsigned bytes) {
  std::uint64_t number = 0;
  for (unsigned i = 0; i < bytes; ++i) {
    std::uint8_t byte = 0;
    if (Status read = byte_at(offset_bytes + i, byte); !read) return read.error();
    number |= std::uint64_t{byte} << 8 * i;
  }
  return number;
}

Result<std::string> WindowedFile::text_at(std::uint64_t offset_bytes, std::size_t bytes) {
  std::string text(bytes, '\0');
  if (Status read = file_.read_at(offset_bytes, std::as_writable_bytes(std::span(text))); !read) return read.error();
  return text;
}

}  // namespace tensorstat
