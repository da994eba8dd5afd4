// A regular file, opened for random reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <tensorstat/status.hpp>

#include "stats/data/files/io/mapped_file.hpp"
#include "stats/data/files/io/own_file.hpp"

namespace tensorstat {

class RandomFile {
 public:
  // An error for anything but a regular file. Does not block on a pipe.
  static Result<RandomFile> open(std::string path);
  // These bytes as a file of their own, which shares the descriptor. They lie within this file.
  RandomFile part(std::uint64_t offset_bytes, std::uint64_t bytes) const;
  RandomFile(RandomFile&& other) noexcept;
  RandomFile& operator=(RandomFile&& other) noexcept;
  ~RandomFile();

  const std::string& path() const { return path_; }
  std::uint64_t size_bytes() const { return size_bytes_; }    // at the time of opening
  std::uint64_t modified_us() const { return modified_us_; }  // since the Unix epoch

  // Fills `out` with the bytes from `offset_bytes`; an error if the file ends before. Thread-safe. Reads a little
  // ahead, so that consecutive headers and small tensors do not need a system call each. If the program has closed the
  // descriptor, the file is opened again by its path; an error if that is another file now.
  Status read_at(std::uint64_t offset_bytes, std::span<std::byte> out) const;

  // Maps these bytes, if this process may (mapped_file.hpp); else null. This file must outlive the mapping.
  std::unique_ptr<MappedFile> map(std::uint64_t offset_bytes, std::uint64_t bytes) const {
    return MappedFile::map(own_->descriptor(), base_bytes_ + offset_bytes, bytes);
  }

 private:
  struct Window;

  RandomFile() = default;
  Result<std::size_t> read_some(std::uint64_t offset_bytes, std::span<std::byte> out, std::size_t wanted) const;
  Status move_window(std::uint64_t offset_bytes, std::size_t wanted) const;

  std::string path_;
  std::shared_ptr<const OwnFile> own_;
  std::uint64_t base_bytes_ = 0, size_bytes_ = 0, modified_us_ = 0;  // base: where this part begins in the file
  std::unique_ptr<Window> window_;
};

}  // namespace tensorstat
