// Where the bytes of a tensor come from.
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

  virtual const std::string& path() const = 0;     // of the file, for messages; not escaped
  virtual std::uint64_t modified_us() const = 0;   // of the file, since the Unix epoch

  // Whether reading to and fro costs no more than reading in order. Where it does, bytes before those read last are
  // made once more from the first on, or, of a pipe, are an error.
  virtual bool seeks() const = 0;

  // Whether several threads may read at once.
  virtual bool is_shareable() const { return false; }

  // Whether it may be read on any thread, whatever is done with other tensors of the same file: not so of a pipe.
  virtual bool is_separate() const { return true; }

  // Fills `out` from `offset_bytes` on; an error when the bytes end before, or are damaged.
  virtual Status read_at(std::uint64_t offset_bytes, std::span<std::byte> out) = 0;

  // The file that has these bytes under the same offsets; null where they have to be made first.
  virtual const RandomFile* file() const { return nullptr; }

  // As read_at, of bytes of file() that somebody has read there.
  virtual Status accept(std::uint64_t, std::span<const std::byte>) { return {}; }
};

// The bytes of a file.
std::unique_ptr<ByteSource> bytes_of(std::shared_ptr<const RandomFile> file);

// The elements of a tensor one after another, from StoredTensor::offset_bytes on: those that are packed as the
// wider dtype's, those of records without what lies between them; `bytes` themselves for any other.
struct StoredTensor;
std::unique_ptr<ByteSource> elements_of(std::unique_ptr<ByteSource> bytes, const StoredTensor& tensor);

// `count` bytes of `source` from `offset_bytes` on, taken into memory, under the same offsets.
Result<std::unique_ptr<ByteSource>> held_bytes(ByteSource& source, std::uint64_t offset_bytes, std::size_t count);

}  // namespace tensorstat
