// Reads a file, which must outlive it, byte by byte, for headers of any length.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tensorstat/status.hpp>

#include "stats/data/files/io/random_file.hpp"

namespace tensorstat {

class WindowedFile {
 public:
  explicit WindowedFile(const RandomFile& file) : file_(file) {}

  // The byte at an offset within the file. An error if the file has shrunk or the disk fails.
  Status byte_at(std::uint64_t offset_bytes, std::uint8_t& byte);

  // The little-endian number of this many bytes, at most 8, at an offset. They lie within the file.
  Result<std::uint64_t> number_at(std::uint64_t offset_bytes, unsigned bytes);

  // `bytes` from an offset as text. They lie within the file.
  Result<std::string> text_at(std::uint64_t offset_bytes, std::size_t bytes);

  const std::string& path() const { return file_.path(); }
  std::uint64_t size_bytes() const { return file_.size_bytes(); }

 private:
  const RandomFile& file_;
  std::uint64_t begin_ = 0;
  std::size_t held_ = 0;
  std::array<std::byte, std::size_t{1} << 14> window_;
};

}  // namespace tensorstat
