// A regular file opened for reading at any place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <tensorstat/status.hpp>

namespace tensorstat {

class RandomFile {
 public:
  // Refuses everything but a regular file, without waiting for the writer of a pipe.
  static Result<RandomFile> open(std::string path);
  RandomFile(RandomFile&& other) noexcept;
  RandomFile& operator=(RandomFile&& other) noexcept;
  ~RandomFile();

  const std::string& path() const { return path_; }
  std::uint64_t size_bytes() const { return size_bytes_; }    // when it was opened
  std::uint64_t modified_us() const { return modified_us_; }  // since the Unix epoch

  // Fills `out` from `offset_bytes` on; an error when the file ends before. Any threads at once. Little is read ahead:
  // headers and small tensors, which lie one behind another, do not cost a call of the system each.
  Status read_at(std::uint64_t offset_bytes, std::span<std::byte> out) const;

 private:
  struct Window;

  RandomFile() = default;
  Result<std::size_t> read_some(std::uint64_t offset_bytes, std::span<std::byte> out, std::size_t wanted) const;
  Status move_window(std::uint64_t offset_bytes, std::size_t wanted) const;

  std::string path_;
  int descriptor_ = -1;
  std::uint64_t size_bytes_ = 0, modified_us_ = 0;
  std::unique_ptr<Window> window_;
};

}  // namespace tensorstat
