// A part of a file in memory, without a copy. For a file in the page cache that halves the time of a fold.
//
// If another process truncates a mapped file, a read of the mapping raises SIGBUS. So only tensorstat's own programs
// map files: after MappedFile::allow() a handler fills the missing part with zeros. Then is_whole() is false, and the
// caller drops its result. A library installs no handler in another's process, so there nothing is mapped.
//
// Another process may also write while this one reads. So a reader of the mapping may not take an address or a count
// from a value that it reads twice.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace tensorstat {

class MappedFile {
 public:
  // Installs the handler. For main(), before the first thread.
  static void allow();

  // The bytes from `offset_bytes` on. Null if it is not allowed, if the system refuses, or while there is another one:
  // the handler knows one.
  static std::unique_ptr<MappedFile> map(int descriptor, std::uint64_t offset_bytes, std::uint64_t bytes);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::byte* data() const { return data_; }

  // Whether these bytes are in the page cache. A mapping reads others slowly, and leaves them in the cache in small
  // pieces, which slow down the next reader, too.
  bool is_cached(std::uint64_t first_byte, std::uint64_t bytes) const;

  // These bytes leave the process's resident memory, and stay in the page cache. A later read maps them again.
  void give_back(std::uint64_t first_byte, std::uint64_t bytes) const;

  // Ask it after all bytes have been read: whether they were the file's. False if the file was cut or written since
  // map(), or if the disk failed. Without a signal, the bytes behind a new end in its page are zeros.
  bool is_whole() const;

 private:
  MappedFile(int descriptor, std::uint64_t offset_bytes, std::uint64_t bytes, const struct stat& facts)
      : descriptor_(descriptor), offset_bytes_(offset_bytes), bytes_(bytes), facts_(facts) {}
  bool open();

  const int descriptor_;  // the caller's
  const std::uint64_t offset_bytes_, bytes_;
  const struct stat facts_;
  const std::byte* data_ = nullptr;
  void* mapping_ = nullptr;  // from the beginning of a page on
  std::size_t mapping_bytes_ = 0;
};

}  // namespace tensorstat
