#include "stats/data/files/io/random_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <system_error>
#include <utility>
#include <vector>

#include "stats/core/base/printable.hpp"
#include "stats/data/files/io/open_file.hpp"

namespace tensorstat {
namespace {

std::string system_words(int error) { return std::generic_category().message(error); }

std::uint64_t microseconds(const timespec& time) {
  const std::int64_t us = std::int64_t{time.tv_sec} * 1'000'000 + time.tv_nsec / 1'000;
  return us > 0 ? us : 0;
}

constexpr int kFlags = O_RDONLY | O_NONBLOCK | O_NOCTTY;

// Reads of at least this size go directly to the system.
constexpr std::size_t kLargeBytes = std::size_t{64} << 10;
// The size of the read-ahead. It doubles each time that all of it was used.
constexpr std::size_t kLeastAheadBytes = std::size_t{8} << 10, kMostAheadBytes = std::size_t{256} << 10;
// Headers and padding between two tensors may be up to this long.
constexpr std::uint64_t kGapBytes = 4096;

}  // namespace

struct RandomFile::Window {
  std::mutex mutex;
  std::uint64_t at_bytes = 0;
  std::vector<std::byte> bytes;

  std::uint64_t end_bytes() const { return at_bytes + bytes.size(); }
};

Result<RandomFile> RandomFile::open(std::string path) {
  RandomFile file;
  file.own_ = std::make_shared<const OwnFile>(open_file(path.c_str(), kFlags));
  struct stat facts;
  if (!file.own_->is_open() || ::fstat(file.own_->descriptor(), &facts) != 0) {
    return Error{Code::kUnreadable, printable(path) + ": cannot be opened: " + system_words(errno)};
  }
  if (!S_ISREG(facts.st_mode)) {
    return Error{Code::kUnreadable,
                 printable(path) + (S_ISDIR(facts.st_mode) ? ": is a directory" : ": is no regular file")};
  }
  file.path_ = std::move(path);
  file.size_bytes_ = facts.st_size;
  file.modified_us_ = microseconds(facts.st_mtim);
  file.window_ = std::make_unique<Window>();
  return file;
}

RandomFile RandomFile::part(std::uint64_t offset_bytes, std::uint64_t bytes) const {
  RandomFile part;
  part.path_ = path_;
  part.own_ = own_;
  part.base_bytes_ = base_bytes_ + offset_bytes;
  part.size_bytes_ = bytes;
  part.modified_us_ = modified_us_;
  part.window_ = std::make_unique<Window>();
  return part;
}

RandomFile::RandomFile(RandomFile&& other) noexcept { *this = std::move(other); }

RandomFile& RandomFile::operator=(RandomFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(own_, other.own_);
  std::swap(base_bytes_, other.base_bytes_);
  std::swap(size_bytes_, other.size_bytes_);
  std::swap(modified_us_, other.modified_us_);
  std::swap(window_, other.window_);
  return *this;
}

RandomFile::~RandomFile() = default;

Status RandomFile::read_at(std::uint64_t offset_bytes, std::span<std::byte> out) const {
  if (out.size() >= kLargeBytes) {
    const auto got = read_some(offset_bytes, out, out.size());
    return got ? Status() : got.error();
  }
  const std::lock_guard lock(window_->mutex);
  while (!out.empty()) {
    if (offset_bytes < window_->at_bytes || offset_bytes >= window_->end_bytes()) {
      if (Status moved = move_window(offset_bytes, out.size()); !moved) return moved;
    }
    const std::size_t count = std::min<std::uint64_t>(out.size(), window_->end_bytes() - offset_bytes);
    std::memcpy(out.data(), window_->bytes.data() + (offset_bytes - window_->at_bytes), count);
    offset_bytes += count;
    out = out.subspan(count);
  }
  return {};
}

// Moves the window to `offset_bytes` and reads at least `wanted` bytes into it.
Status RandomFile::move_window(std::uint64_t offset_bytes, std::size_t wanted) const {
  Window& window = *window_;
  const bool goes_on =
      !window.bytes.empty() && offset_bytes >= window.end_bytes() && offset_bytes - window.end_bytes() <= kGapBytes;
  const std::size_t ahead =
      goes_on ? std::clamp(2 * window.bytes.size(), kLeastAheadBytes, kMostAheadBytes) : kLeastAheadBytes;
  const std::uint64_t there = size_bytes_ - std::min(size_bytes_, offset_bytes);
  window.bytes.resize(std::max<std::uint64_t>(wanted, std::min<std::uint64_t>(ahead, there)));
  window.at_bytes = offset_bytes;
  const auto got = read_some(offset_bytes, window.bytes, wanted);
  window.bytes.resize(got ? *got : 0);
  return got ? Status() : got.error();
}

// Reads at least `wanted` bytes into `out`, and more if the system gives more. Returns how many.
Result<std::size_t> RandomFile::read_some(std::uint64_t offset_bytes, std::span<std::byte> out,
                                          std::size_t wanted) const {
  constexpr std::size_t kMostBytes = std::size_t{1} << 30;  // Linux reads no more than 2 GiB at once
  OwnFile again;
  int descriptor = own_->descriptor();
  if (descriptor < 0) {
    again = OwnFile(open_file(path_.c_str(), kFlags));
    if (!again.is_same_as(*own_)) {
      return Error{Code::kUnreadable,
                   printable(path_) + ": the program has closed its descriptor, and the file is not there any more"};
    }
    descriptor = again.descriptor();
  }
  std::size_t done = 0;
  while (done < wanted) {
    const std::uint64_t offset = base_bytes_ + offset_bytes + done;
    const ssize_t got = ::pread(descriptor, out.data() + done, std::min(out.size() - done, kMostBytes), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      return Error{Code::kUnreadable, printable(path_) + ": cannot be read at byte " + std::to_string(offset) + ": " +
                                          system_words(errno)};
    }
    if (got == 0) {
      return Error{Code::kUnreadable, printable(path_) + ": was cut short while being read: it had " +
                                          std::to_string(size_bytes_) + " bytes, and has no byte " +
                                          std::to_string(offset) + " now"};
    }
    done += got;
  }
  return done;
}

}  // namespace tensorstat
