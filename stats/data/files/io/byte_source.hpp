// The source of a tensor's bytes: a file, an archive's member, a pipe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <tensorstat/status.hpp>

namespace tensorstat {

class RandomFile;

struct ByteRange {
  std::uint64_t offset_bytes = 0, bytes = 0;
};

class ByteSource {
 public:
  virtual ~ByteSource() = default;

  virtual const std::string& path() const = 0;    // the file's, for messages; not escaped
  virtual std::uint64_t modified_us() const = 0;  // the file's, since the Unix epoch

  // Whether random access costs no more than reading in order. If false, reading an earlier byte starts again at the
  // first byte, or, for a pipe, is an error.
  virtual bool seeks() const = 0;

  // Whether several threads may read at once.
  virtual bool is_shareable() const { return false; }

  // Whether it may be read on any thread, independently of other tensors of the same file. False for a pipe.
  virtual bool is_separate() const { return true; }

  // Fills `out` with the bytes from `offset_bytes`. An error if there are fewer bytes, or if they are damaged.
  virtual Status read_at(std::uint64_t offset_bytes, std::span<std::byte> out) = 0;

  // The file that has these bytes at the same offsets; null if they are computed, such as unpacked.
  virtual const RandomFile* file() const { return nullptr; }

  // The file's own bytes, if these are the values of blocks; else null.
  virtual ByteSource* original() { return nullptr; }

  // Frees memory that only speeds up the next reads. The source can still be read.
  virtual void release() {}

  // As read_at, for bytes that the caller has already read from file().
  virtual Status accept(std::uint64_t, std::span<const std::byte>) { return {}; }
};

// The bytes of a file.
std::unique_ptr<ByteSource> bytes_of(std::shared_ptr<const RandomFile> file);

// A source of contiguous elements, which begin at StoredTensor::offset_bytes. Packed elements are widened, blocks
// are decoded, and gaps between records are removed. For any other tensor it is `bytes` itself.
struct StoredTensor;
std::unique_ptr<ByteSource> elements_of(std::unique_ptr<ByteSource> bytes, const StoredTensor& tensor);

// Reads `count` bytes of `source` from `offset_bytes` into memory. The result has the same offsets.
Result<std::unique_ptr<ByteSource>> held_bytes(ByteSource& source, std::uint64_t offset_bytes, std::size_t count);

}  // namespace tensorstat
