#include "kernels-cl/launch/binary_cache.hpp"

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
#include <optional>
#include <span>

#include "kernels-cl/driver/descriptor.hpp"
#include "kernels-cl/launch/sha256.hpp"
#include "stats/base/unfinished_files.hpp"

namespace tensorstat::cl_engine {
namespace {

constexpr std::size_t kKeyCharacters = 2 * sizeof(Sha256);
constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;

// An entry is this, the binary, and the SHA-256 of both.
struct Header {
  std::array<char, 8> magic{'t', 's', 't', 'a', 't', 'c', 'l', '2'};
  std::array<char, kKeyCharacters> key{};
  std::uint64_t binary_bytes = 0;
  bool operator==(const Header&) const = default;
};
static_assert(sizeof(Header) == 8 + kKeyCharacters + 8, "no padding: it is compared and written as bytes");
constexpr std::size_t kBytesBeside = sizeof(Header) + sizeof(Sha256);

Header header_of(const std::string& key, std::size_t binary_bytes) {
  Header header;
  std::ranges::copy(key, header.key.begin());
  header.binary_bytes = binary_bytes;
  return header;
}

// "" where there is none.
std::string folder() {
  const char* off = std::getenv("TENSORSTAT_CACHE");
  if (off != nullptr && std::strcmp(off, "0") == 0) return "";
  const char* root = std::getenv("XDG_CACHE_HOME");
  if (root != nullptr && root[0] == '/') return std::string(root) + "/tensorstat";
  const char* home = std::getenv("HOME");
  return home != nullptr && home[0] == '/' ? std::string(home) + "/.cache/tensorstat" : "";
}

// Nothing where there is none: no cache, or no name for the entry.
std::optional<std::string> path_of(const std::string& key) {
  const std::string where = folder();
  if (where.empty() || key.size() != kKeyCharacters) return std::nullopt;
  return where + "/" + key;
}

// The size of an entry that this user alone can have written; 0 of anything else, which is not read.
std::size_t entry_bytes(const Descriptor& file) {
  struct stat facts {};
  if (!file.is_open() || fstat(file.number(), &facts) != 0 || !S_ISREG(facts.st_mode)) return 0;
  if (facts.st_uid != geteuid() || (facts.st_mode & (S_IWGRP | S_IWOTH)) != 0) return 0;
  const auto bytes = static_cast<std::uint64_t>(facts.st_size);
  return bytes <= kBytesBeside || bytes > kMostBytes + kBytesBeside ? 0 : bytes;
}

bool read_all(const Descriptor& file, void* to, std::size_t bytes) {
  for (auto* at = static_cast<char*>(to); bytes != 0;) {
    const ssize_t got = read(file.number(), at, bytes);
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

bool write_all(const Descriptor& file, const void* from, std::size_t bytes) {
  for (const auto* at = static_cast<const char*>(from); bytes != 0;) {
    const ssize_t put = write(file.number(), at, bytes);
    if (put <= 0) return false;
    at += put;
    bytes -= static_cast<std::size_t>(put);
  }
  return true;
}

}  // namespace

std::string cache_key(std::string_view text) {
  const auto digest = sha256({reinterpret_cast<const unsigned char*>(text.data()), text.size()});
  constexpr char kDigits[] = "0123456789abcdef";
  std::string key;
  for (const unsigned char byte : digest) {
    key.push_back(kDigits[byte >> 4]);
    key.push_back(kDigits[byte & 15]);
  }
  return key;
}

Binary load_binary(const std::string& key) {
  const auto path = path_of(key);
  if (!path) return {};
  // O_NONBLOCK: what lies there may be a pipe, whose opening would wait for a writer.
  const Descriptor file(open(path->c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  const std::size_t bytes = entry_bytes(file);
  if (bytes == 0) return {};
  Binary entry(bytes);
  if (!read_all(file, entry.data(), bytes)) return {};
  const std::span<const unsigned char> digested(entry.data(), bytes - sizeof(Sha256));
  if (!std::ranges::equal(sha256(digested), std::span(entry).last(sizeof(Sha256)))) return {};
  Header header;
  std::memcpy(static_cast<void*>(&header), entry.data(), sizeof header);
  if (header != header_of(key, bytes - kBytesBeside)) return {};
  return Binary(entry.begin() + sizeof header, entry.end() - sizeof(Sha256));
}

void store_binary(const std::string& key, const Binary& binary) {
  const auto path = path_of(key);
  if (!path || binary.empty() || binary.size() > kMostBytes) return;
  rlimit most{};  // a write beyond it would raise SIGXFSZ
  if (getrlimit(RLIMIT_FSIZE, &most) != 0 || most.rlim_cur < kBytesBeside + binary.size()) return;
  const Header header = header_of(key, binary.size());
  Binary entry(sizeof header + binary.size());
  std::memcpy(entry.data(), &header, sizeof header);
  std::ranges::copy(binary, entry.begin() + sizeof header);
  const Sha256 digest = sha256(entry);
  entry.insert(entry.end(), digest.begin(), digest.end());
  std::error_code failed;
  std::filesystem::create_directories(folder(), failed);
  if (failed) return;
  remove_unfinished_files(folder());
  std::string temporary = folder() + "/" + std::string(kUnfinishedPrefix) + "XXXXXX";
  const Descriptor file(mkostemp(temporary.data(), O_CLOEXEC));
  if (!file.is_open()) return;
  static_cast<void>(flock(file.number(), LOCK_EX | LOCK_NB));  // somebody lives who wants it; where it is removed, it is not kept
  const bool whole = write_all(file, entry.data(), entry.size());
  if (!whole || rename(temporary.c_str(), path->c_str()) != 0) unlink(temporary.c_str());
}

}  // namespace tensorstat::cl_engine
