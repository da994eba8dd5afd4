#include "stats/answer/store/page_checksums.hpp"

#include <bit>
#include <cstdint>
#include <cstring>
#include <mutex>

#include "stats/answer/store/sqlite.hpp"

namespace tensorstat {
namespace {

constexpr int kReserved = 8, kReservedAt = 20;  // SQLite's file format, 1.3.4: how many bytes of a page are reserved
constexpr int kLeastPage = 512;

// The methods of an open file, with others in front of xRead and xWrite. SQLite calls a file by its methods only, so
// that no VFS has to be registered in a process that may have its own.
struct CheckedMethods {
  sqlite3_io_methods methods;  // first: a file points to it
  const sqlite3_io_methods* plain = nullptr;
};

const sqlite3_io_methods& plain_of(sqlite3_file* file) {
  return *reinterpret_cast<const CheckedMethods*>(file->pMethods)->plain;
}

// Headers are read in a few bytes; pages are whole, and lie at a multiple of their size.
bool is_page(int bytes, sqlite3_int64 offset) {
  return bytes >= kLeastPage && std::has_single_bit(static_cast<unsigned>(bytes)) && offset % bytes == 0;
}

std::uint64_t checksum_of(const unsigned char* page, int bytes) {
  std::uint32_t s1 = 0, s2 = 0;
  for (int offset = 0; offset + kReserved < bytes; offset += 8) {
    std::uint32_t words[2];
    std::memcpy(words, page + offset, sizeof words);
    if constexpr (std::endian::native == std::endian::big) {
      words[0] = __builtin_bswap32(words[0]), words[1] = __builtin_bswap32(words[1]);
    }
    s1 += words[0] + s2;
    s2 += words[1] + s1;
  }
  const std::uint64_t both = std::uint64_t{s2} << 32 | s1;
  return std::endian::native == std::endian::big ? __builtin_bswap64(both) : both;
}

int checked_read(sqlite3_file* file, void* into, int bytes, sqlite3_int64 offset) {
  const int code = plain_of(file).xRead(file, into, bytes, offset);
  if (code != SQLITE_OK || !is_page(bytes, offset)) return code;
  const auto* const page = static_cast<const unsigned char*>(into);
  const std::uint64_t checksum = checksum_of(page, bytes);
  return std::memcmp(page + bytes - kReserved, &checksum, kReserved) == 0 ? SQLITE_OK : SQLITE_IOERR_DATA;
}

// SQLite's own buffer: nothing else reads or writes the reserved bytes, and cksumvfs writes them there, too.
int checked_write(sqlite3_file* file, const void* from, int bytes, sqlite3_int64 offset) {
  if (is_page(bytes, offset)) {
    auto* const page = static_cast<unsigned char*>(const_cast<void*>(from));
    const std::uint64_t checksum = checksum_of(page, bytes);
    std::memcpy(page + bytes - kReserved, &checksum, kReserved);
  }
  return plain_of(file).xWrite(file, from, bytes, offset);
}

// SQLite has a few tables of methods, one for each kind of locks. They live as long as SQLite does, as these do: a
// connection may be closed late. Null: there are too many.
const sqlite3_io_methods* checked_methods(const sqlite3_io_methods* plain) {
  static std::mutex mutex;
  static CheckedMethods all[8];
  const std::lock_guard lock(mutex);
  for (CheckedMethods& each : all) {
    if (each.plain == plain) return &each.methods;
    if (each.plain != nullptr) continue;
    each.methods = *plain;
    each.methods.xRead = checked_read;
    each.methods.xWrite = checked_write;
    each.plain = plain;
    return &each.methods;
  }
  return nullptr;
}

}  // namespace

PageChecksums look_at_page_checksums(sqlite3* connection, bool makes_them) {
  sqlite3_file* file = nullptr;
  sqlite3_int64 size = 0;
  unsigned char reserved = 0;
  if (sqlite3_file_control(connection, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK || file == nullptr ||
      file->pMethods == nullptr || file->pMethods->xFileSize(file, &size) != SQLITE_OK) {
    return PageChecksums::kAbsent;
  }
  if (size == 0) {
    int wanted = kReserved;
    if (!makes_them) return PageChecksums::kNewFile;
    if (sqlite3_file_control(connection, "main", SQLITE_FCNTL_RESERVE_BYTES, &wanted) != SQLITE_OK)
      return PageChecksums::kAbsent;
  } else if (file->pMethods->xRead(file, &reserved, 1, kReservedAt) != SQLITE_OK || reserved != kReserved) {
    return PageChecksums::kAbsent;
  }
  const sqlite3_io_methods* const checked = checked_methods(file->pMethods);
  if (checked == nullptr) return PageChecksums::kAbsent;
  file->pMethods = checked;
  return PageChecksums::kLooked;
}

bool is_of_page_checksum(int extended_code) { return extended_code == SQLITE_IOERR_DATA; }

}  // namespace tensorstat
