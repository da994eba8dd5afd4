#include "stats/data/survey/growing_row_file.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include "stats/core/base/crc32.hpp"
#include "stats/core/base/printable.hpp"
#include "stats/data/files/io/random_file.hpp"
#include "stats/data/rows/rows_of_file.hpp"

namespace tensorstat {
namespace {

constexpr std::uint64_t kHeadBytes = 4096;

// The checksum of a file's first bytes; nullopt where they cannot be read.
std::optional<std::uint64_t> head_of(const std::string& path, std::uint64_t bytes) {
  const auto file = RandomFile::open(path);
  if (!file || file->size_bytes() < bytes) return std::nullopt;
  std::string head(bytes, '\0');
  if (!file->read_at(0, std::as_writable_bytes(std::span(head)))) return std::nullopt;
  return crc32_of(0, std::as_bytes(std::span(head)));
}

}  // namespace

GrowingRowFile::GrowingRowFile(std::string path, const FileGrowth& before)
    : path_(std::move(path)), before_(before), after_(before) {
  after_.is_known = true;
}

Result<bool> GrowingRowFile::looks_new() {
  struct stat facts = {};
  if (::stat(path_.c_str(), &facts) != 0) {
    return Error{Code::kUnreadable, printable(path_) + ": cannot be read: " + std::generic_category().message(errno)};
  }
  const auto size = static_cast<std::uint64_t>(facts.st_size);
  after_.device = facts.st_dev;
  after_.inode = facts.st_ino;
  after_.modified_ns = static_cast<std::uint64_t>(facts.st_mtim.tv_sec) * 1'000'000'000 +
                       static_cast<std::uint64_t>(facts.st_mtim.tv_nsec);
  if (!before_.is_known) return true;
  const bool is_same_file = before_.device == after_.device && before_.inode == after_.inode;
  if (is_same_file && size == before_.read.offset && after_.modified_ns == before_.modified_ns) return false;
  const bool has_head = head_of(path_, before_.head_bytes) == before_.head_crc32;
  is_replaced_ = !is_same_file || size < before_.read.offset || !has_head;
  if (is_json()) is_replaced_ = true;
  if (is_replaced_) {
    after_.read = {};
    after_.row_count = 0;
  }
  return is_replaced_ || size > before_.read.offset;
}

Result<RowsRead> GrowingRowFile::read(const EachRow& each) {
  auto read = is_json() ? read_rows_of_file(path_, each) : read_growing_rows(path_, after_.read, each);
  if (is_json() && read) {
    struct stat facts = {};
    if (::stat(path_.c_str(), &facts) == 0) after_.read.offset = static_cast<std::uint64_t>(facts.st_size);
  }
  after_.head_bytes = std::min(kHeadBytes, after_.read.offset);
  after_.head_crc32 = head_of(path_, after_.head_bytes).value_or(0);
  return read;
}

}  // namespace tensorstat
