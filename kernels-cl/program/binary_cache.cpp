#include "kernels-cl/program/binary_cache.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>

#include "kernels-cl/driver/descriptor.hpp"
#include "stats/core/base/crc32.hpp"
#include "stats/core/base/unfinished_files.hpp"

namespace tensorstat::cl_engine {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;

// An entry is this, the key, and the binary.
struct Header {
  std::array<char, 8> magic{'t', 's', 't', 'a', 't', 'c', 'l', '3'};
  std::uint64_t key_bytes = 0, binary_bytes = 0;
  std::uint32_t crc32 = 0;  // of the key and the binary, against damage
  std::uint32_t unused = 0;
  bool operator==(const Header&) const = default;
};
static_assert(sizeof(Header) == 32, "no padding: it is compared and written as bytes");

Header header_of(std::string_view key, std::span<const unsigned char> binary) {
  const std::uint32_t crc32 = crc32_of(crc32_of(0, std::as_bytes(std::span(key))), std::as_bytes(binary));
  return {.key_bytes = key.size(), .binary_bytes = binary.size(), .crc32 = crc32};
}

// "" if there is none.
std::string folder() {
  const char* off = std::getenv("TENSORSTAT_CACHE");
  if (off != nullptr && std::strcmp(off, "0") == 0) return "";
  const char* root = std::getenv("XDG_CACHE_HOME");
  if (root != nullptr && root[0] == '/') return std::string(root) + "/tensorstat";
  const char* home = std::getenv("HOME");
  return home != nullptr && home[0] == '/' ? std::string(home) + "/.cache/tensorstat" : "";
}

// The size of an entry that only this user can have written. 0 for any other file: it is not read.
std::size_t entry_bytes(const Descriptor& file) {
  struct stat facts {};
  if (!file.is_open() || fstat(file.number(), &facts) != 0 || !S_ISREG(facts.st_mode)) return 0;
  if (facts.st_uid != geteuid() || (facts.st_mode & (S_IWGRP | S_IWOTH)) != 0) return 0;
  const auto bytes = static_cast<std::uint64_t>(facts.st_size);
  return bytes <= sizeof(Header) || bytes > kMostBytes ? 0 : bytes;
}

bool read_all(const Descriptor& file, void* to, std::size_t bytes) {
  for (auto* cursor = static_cast<char*>(to); bytes != 0;) {
    const ssize_t got = read(file.number(), cursor, bytes);
    if (got <= 0) return false;
    cursor += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

bool write_all(const Descriptor& file, const void* from, std::size_t bytes) {
  for (const auto* cursor = static_cast<const char*>(from); bytes != 0;) {
    const ssize_t put = write(file.number(), cursor, bytes);
    if (put <= 0) return false;
    cursor += put;
    bytes -= static_cast<std::size_t>(put);
  }
  return true;
}

}  // namespace

std::string entry_name(std::string_view key) {
  std::uint64_t hash = std::hash<std::string_view>{}(key);
  std::string name(16, '0');
  for (auto digit = name.rbegin(); digit != name.rend(); ++digit, hash >>= 4) *digit = "0123456789abcdef"[hash & 15];
  return name;
}

Binary load_binary(std::string_view key) {
  const std::string where = folder();
  if (where.empty() || key.empty()) return {};
  const std::string path = where + "/" + entry_name(key);
  // O_NONBLOCK: the file may be a pipe, and opening a pipe would wait for a writer.
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  const std::size_t bytes = entry_bytes(file);
  if (bytes <= sizeof(Header) + key.size()) return {};
  Binary entry(bytes);
  if (!read_all(file, entry.data(), bytes)) return {};
  const auto* const stored_key = entry.data() + sizeof(Header);
  const std::span binary(stored_key + key.size(), entry.data() + bytes);
  Header header;
  std::memcpy(static_cast<void*>(&header), entry.data(), sizeof header);
  // Two keys may have one name.
  if (std::memcmp(stored_key, key.data(), key.size()) != 0 || header != header_of(key, binary)) return {};
  return Binary(binary.begin(), binary.end());
}

void store_binary(std::string_view key, const Binary& binary) {
  const std::string where = folder();
  if (where.empty() || key.empty() || binary.empty()) return;
  const std::size_t bytes = sizeof(Header) + key.size() + binary.size();
  rlimit most{};  // a write beyond it would raise SIGXFSZ
  if (bytes > kMostBytes || getrlimit(RLIMIT_FSIZE, &most) != 0 || most.rlim_cur < bytes) return;
  const Header header = header_of(key, binary);
  std::error_code failed;
  std::filesystem::create_directories(where, failed);
  if (failed) return;
  remove_unfinished_files(where);
  std::string temporary = where + "/" + std::string(kUnfinishedPrefix) + "XXXXXX";
  const Descriptor file(mkostemp(temporary.data(), O_CLOEXEC));
  if (!file.is_open()) return;
  static_cast<void>(
      flock(file.number(), LOCK_EX | LOCK_NB));  // somebody lives who wants it; where it is removed, it is not kept
  const bool whole = write_all(file, &header, sizeof header) && write_all(file, key.data(), key.size()) &&
                     write_all(file, binary.data(), binary.size());
  if (!whole || rename(temporary.c_str(), (where + "/" + entry_name(key)).c_str()) != 0) unlink(temporary.c_str());
}

}  // namespace tensorstat::cl_engine
