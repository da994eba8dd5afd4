#include "stats/data/files/npy/npy_writer.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "stats/core/base/unfinished_files.hpp"
#include "stats/data/files/io/file_size_signal.hpp"
#include "stats/data/files/io/folders.hpp"
#include "stats/data/files/io/open_file.hpp"

namespace tensorstat {
namespace {

// A file that gets its name only when it is complete.
class NewFile {
 public:
  explicit NewFile(std::string path) : path_(std::move(path)) {
    folder_ = path_.substr(0, path_.rfind('/') == path_.npos ? 0 : path_.rfind('/') + 1);
    if (!open() && error_ == ENOENT) {
      const auto unmade = make_folders(std::filesystem::path(path_).parent_path());
      if (unmade) {
        unmade_folder_ = unmade->folder;
        error_ = unmade->error;
        return;
      }
      open();
    }
  }
  ~NewFile() {
    if (file_ >= 0) ::close(file_);
    if (!hidden_.empty()) ::unlink(hidden_.c_str());
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(std::string_view text) {
    WithoutFileSizeSignal guard;
    while (error_ == 0 && !text.empty()) {
      const ssize_t count = ::write(file_, text.data(), text.size());
      if (count > 0) {
        text.remove_prefix(static_cast<std::size_t>(count));
      } else if (count == 0 || errno != EINTR) {
        error_ = count == 0 ? ENOSPC : errno;
        if (error_ == EFBIG) guard.take();
      }
    }
  }

  Status finish(bool synced = false) {
    if (error_ == 0 && synced && ::fsync(file_) != 0) error_ = errno;
    if (error_ == 0 && ::fchmod(file_, S_IRUSR) != 0) error_ = errno;
    // The second descriptor keeps the lock until the file is renamed. The first is closed before that, so that its
    // error is known.
    const int lock = error_ == 0 ? ::fcntl(file_, F_DUPFD_CLOEXEC, 0) : -1;
    if (file_ >= 0 && ::close(std::exchange(file_, -1)) != 0 && error_ == 0) error_ = errno;
    if (error_ == 0 && ::rename(hidden_.c_str(), path_.c_str()) != 0) error_ = errno;
    if (lock >= 0) ::close(lock);  // nothing was written through it, so it has no error
    if (error_ != 0) {
      return Error{Code::kUnwritable,
                   "cannot write " + path_ + ": " +
                       (unmade_folder_.empty() ? "" : "the folder " + unmade_folder_ + " cannot be made: ") +
                       std::generic_category().message(error_)};
    }
    hidden_.clear();
    return {};
  }

 private:
  // Process id and counter make the hidden name unique. It is short, because the final name may have 255 bytes.
  // Processes of two containers may have the same id, and a killed process leaves its file; then the next counter is
  // tried. The lock tells remove_unfinished_files() that the file is in use.
  bool open() {
    static std::atomic<std::uint64_t> counter{0};
    constexpr int kTries = 100;
    for (int tries = 0; tries < kTries; ++tries) {
      std::string name =
          folder_ + std::string(kUnfinishedPrefix) + std::to_string(getpid()) + "-" + std::to_string(counter++);
      file_ = open_file(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, S_IRUSR | S_IWUSR);
      error_ = file_ < 0 ? errno : 0;
      if (error_ == EEXIST) continue;
      if (file_ < 0) return false;
      hidden_ = std::move(name);
      if (is_ours()) return true;
      ::close(std::exchange(file_, -1));  // remove_unfinished_files() removed it just before it was locked
      error_ = EEXIST;
    }
    return false;
  }

  bool is_ours() {
    struct stat now;
    if (::flock(file_, LOCK_EX | LOCK_NB) != 0) return errno != EWOULDBLOCK;
    if (::fstat(file_, &now) != 0) return error_ = errno, true;
    return now.st_nlink != 0;
  }

  std::string path_, folder_, hidden_;
  std::string unmade_folder_;  // the folder, if error_ is the error of making one
  int file_ = -1;
  int error_ = 0;
};

constexpr std::string_view kDescriptions[] = {
#define TENSORSTAT_DESCR(id, name, descr, bytes, ...) bytes == 1 ? "|" descr : "<" descr,
    TENSORSTAT_DTYPES(TENSORSTAT_DESCR)
#undef TENSORSTAT_DESCR
};

}  // namespace

std::string_view npy_descr(Dtype dtype) {
  if (dtype == Dtype::kBfloat16) dtype = Dtype::kFloat32;
  return kDescriptions[static_cast<std::size_t>(dtype)];
}

std::string npy_header(std::string_view descr, const Shape& shape) {
  std::string dictionary = "{'descr': '" + std::string(descr) + "', 'fortran_order': False, 'shape': (";
  for (const auto dimension : shape) dictionary += std::to_string(dimension) + ",";
  dictionary += "), }";
  std::size_t prefix = 10;  // magic, version, length
  const auto padding = [&] { return 64 - (prefix + dictionary.size() + 1) % 64; };
  const bool large = dictionary.size() + padding() + 1 > 65535;
  if (large) prefix = 12;
  dictionary.append(padding(), ' ');
  dictionary += '\n';
  std::string header = "\x93NUMPY";
  header += large ? '\x02' : '\x01';
  header += '\0';
  for (std::size_t i = 0; i < prefix - 8; ++i) {
    header += static_cast<char>(dictionary.size() >> (8 * i) & 0xff);
  }
  return header + dictionary;
}

void widen(Widening widening, std::span<const std::byte> bytes, std::uint64_t first, std::uint64_t count,
           std::string& out) {
  static_assert(std::endian::native == std::endian::little);
  switch (widening) {
    case Widening::kNone:
      break;
    case Widening::kBfloat16:
      for (std::uint64_t i = first; i < first + count; ++i) {
        const char wide[4] = {0, 0, static_cast<char>(bytes[2 * i]), static_cast<char>(bytes[2 * i + 1])};
        out.append(wide, 4);
      }
      break;
    case Widening::kInt4:
      for (std::uint64_t i = first; i < first + count; ++i) {
        const auto nibble = std::to_integer<int>(bytes[i / 2]) >> (i % 2 * 4) & 0xf;
        out += static_cast<char>(nibble < 8 ? nibble : nibble - 16);
      }
      break;
    case Widening::kUint1:
      for (std::uint64_t i = first; i < first + count; ++i) {
        out += static_cast<char>(std::to_integer<int>(bytes[i / 8]) >> (7 - i % 8) & 1);
      }
      break;
  }
}

std::uint64_t widening_factor(Widening widening) {
  switch (widening) {
    case Widening::kNone:
      break;
    case Widening::kBfloat16:
    case Widening::kInt4:
      return 2;
    case Widening::kUint1:
      return 8;
  }
  return 1;
}

Status write_npy(const std::string& path, const NpyContent& content, bool synced) {
  NewFile file(path);
  file.write(npy_header(content.descr, content.shape));
  if (content.widening == Widening::kNone) {
    file.write({reinterpret_cast<const char*>(content.bytes.data()), content.bytes.size()});
    return file.finish(synced);
  }
  constexpr std::uint64_t kPiece = 1 << 16;
  std::uint64_t count = 1;
  for (const auto dimension : content.shape) count *= dimension;
  std::string piece;
  for (std::uint64_t first = 0; first < count; first += kPiece) {
    piece.clear();
    widen(content.widening, content.bytes, first, std::min(kPiece, count - first), piece);
    file.write(piece);
  }
  return file.finish(synced);
}

Status write_whole_file(const std::string& path, std::string_view text) {
  NewFile file(path);
  file.write(text);
  return file.finish();
}

Status write_whole_file(const std::string& path, const std::function<Status(const WritePiece& write)>& fill,
                        bool synced) {
  NewFile file(path);
  if (Status filled = fill([&](std::string_view piece) { file.write(piece); }); !filled) return filled;
  return file.finish(synced);
}

}  // namespace tensorstat
