#include "kernels-cl/launch/binary_cache.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace tensorstat::cl_engine {
namespace {

struct Header {
  std::array<char, 8> magic{'t', 's', 't', 'a', 't', 'c', 'l', '1'};
  std::uint64_t bytes = 0, hash = 0;
  bool operator==(const Header&) const = default;
};
constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;

// FNV-1a, from any start.
std::uint64_t hash(const void* data, std::size_t bytes, std::uint64_t start = 0xcbf29ce484222325) {
  for (const auto* p = static_cast<const unsigned char*>(data); bytes != 0; ++p, --bytes) {
    start = (start ^ *p) * 0x100000001b3;
  }
  return start;
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

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  bool is_open() const { return descriptor_ >= 0; }

  bool belongs_to_this_user() const {
    struct stat facts {};
    return fstat(descriptor_, &facts) == 0 && facts.st_uid == geteuid() && (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  }

  bool read_all(void* to, std::size_t bytes) const {
    for (auto* at = static_cast<char*>(to); bytes != 0;) {
      const ssize_t got = read(descriptor_, at, bytes);
      if (got <= 0) return false;
      at += got;
      bytes -= static_cast<std::size_t>(got);
    }
    return true;
  }

  bool write_all(const void* from, std::size_t bytes) const {
    for (const auto* at = static_cast<const char*>(from); bytes != 0;) {
      const ssize_t put = write(descriptor_, at, bytes);
      if (put <= 0) return false;
      at += put;
      bytes -= static_cast<std::size_t>(put);
    }
    return true;
  }

 private:
  const int descriptor_;
};

}  // namespace

std::string cache_key(std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string key;
  for (const std::uint64_t start : {std::uint64_t{0xcbf29ce484222325}, std::uint64_t{0x9e3779b97f4a7c15}}) {
    const std::uint64_t value = hash(text.data(), text.size(), start);
    for (int shift = 60; shift >= 0; shift -= 4) key.push_back(kDigits[value >> shift & 15]);
  }
  return key;
}

Binary load_binary(const std::string& key) {
  const std::string where = folder();
  if (where.empty()) return {};
  const File file(open((where + "/" + key).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  Header header;
  if (!file.is_open() || !file.belongs_to_this_user() || !file.read_all(&header, sizeof header)) return {};
  if (header.bytes == 0 || header.bytes > kMostBytes) return {};
  Binary binary(header.bytes);
  if (!file.read_all(binary.data(), binary.size())) return {};
  const Header expected{.bytes = binary.size(), .hash = hash(binary.data(), binary.size())};
  return header == expected ? binary : Binary{};
}

void store_binary(const std::string& key, const Binary& binary) {
  const std::string where = folder();
  if (where.empty() || binary.empty() || binary.size() > kMostBytes) return;
  rlimit most{};  // a write beyond it would raise SIGXFSZ
  if (getrlimit(RLIMIT_FSIZE, &most) != 0 || most.rlim_cur < sizeof(Header) + binary.size()) return;
  std::error_code failed;
  std::filesystem::create_directories(where, failed);
  if (failed) return;
  std::string temporary = where + "/.new-XXXXXX";
  const File file(mkostemp(temporary.data(), O_CLOEXEC));
  if (!file.is_open()) return;
  const Header header{.bytes = binary.size(), .hash = hash(binary.data(), binary.size())};
  const bool whole = file.write_all(&header, sizeof header) && file.write_all(binary.data(), binary.size());
  if (!whole || rename(temporary.c_str(), (where + "/" + key).c_str()) != 0) unlink(temporary.c_str());
}

}  // namespace tensorstat::cl_engine
