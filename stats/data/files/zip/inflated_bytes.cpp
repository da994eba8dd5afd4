#include "stats/data/files/zip/inflated_bytes.hpp"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "stats/core/base/crc32.hpp"
#include "stats/core/base/printable.hpp"

namespace tensorstat {
namespace {

constexpr std::size_t kPackedBytes = std::size_t{1} << 16, kInflatedWindowBytes = std::size_t{1} << 18;

class InflatedBytes : public ByteSource {
 public:
  InflatedBytes(std::shared_ptr<const RandomFile> file, std::string label, const Deflated& deflated)
      : file_(std::move(file)), label_(std::move(label)), deflated_(deflated) {}
  ~InflatedBytes() override { end(); }
  InflatedBytes(const InflatedBytes&) = delete;
  InflatedBytes& operator=(const InflatedBytes&) = delete;

  const std::string& path() const override { return file_->path(); }
  std::uint64_t modified_us() const override { return file_->modified_us(); }
  bool seeks() const override { return false; }

  Status read_at(std::uint64_t offset_bytes, std::span<std::byte> out) override {
    if (offset_bytes < window_at_ || !is_begun_) {
      if (Status begun = begin(); !begun) return begun;
    }
    while (!out.empty()) {
      const std::uint64_t known = window_at_ + window_.size();
      if (offset_bytes < known) {
        const std::size_t count = std::min<std::uint64_t>(out.size(), known - offset_bytes);
        std::memcpy(out.data(), window_.data() + (offset_bytes - window_at_), count);
        offset_bytes += count;
        out = out.subspan(count);
      } else if (Status moved = move_window(); !moved) {
        end();
        return moved;
      }
    }
    return {};
  }

 private:
  Error damaged(const std::string& what) const { return {Code::kUnreadable, printable_name(label_) + ": " + what}; }

  void end() {
    if (is_begun_) ::inflateEnd(&stream_);
    is_begun_ = false;
  }

  Status begin() {
    end();
    stream_ = {};
    if (::inflateInit2(&stream_, -MAX_WBITS) != Z_OK) return damaged("not enough memory to unpack it");
    is_begun_ = true;
    packed_.resize(kPackedBytes);
    taken_ = window_at_ = 0;
    window_.clear();
    crc_ = 0;
    return {};
  }

  // Replaces the window by the next bytes.
  Status move_window() {
    window_at_ += window_.size();
    const std::uint64_t left = deflated_.bytes - window_at_;
    if (left == 0) return damaged("it was read beyond its end");
    const std::size_t due = std::min<std::uint64_t>(left, kInflatedWindowBytes);
    const bool is_last = due == left;
    window_.resize(due + is_last);  // one byte more detects data after the expected end
    stream_.next_out = reinterpret_cast<Bytef*>(window_.data());
    stream_.avail_out = static_cast<uInt>(window_.size());
    int status = Z_OK;
    while (stream_.avail_out != 0 && status == Z_OK) {
      if (stream_.avail_in == 0) {
        if (Status read = read_packed(); !read) return read;
      }
      status = ::inflate(&stream_, Z_NO_FLUSH);
    }
    const std::size_t got = window_.size() - stream_.avail_out;
    window_.resize(std::min(got, due));
    if (status == Z_MEM_ERROR) return damaged("not enough memory to unpack it");
    if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) {
      return damaged("is damaged: no deflated bytes");
    }
    if (got < due) {
      return damaged("is damaged: it unpacks to " + std::to_string(window_at_ + got) + " bytes of the " +
                     std::to_string(deflated_.bytes) + " that are due");
    }
    crc_ = crc32_of(crc_, std::as_bytes(std::span(window_)));
    if (!is_last) return {};
    if (got > due || status != Z_STREAM_END) {
      return damaged("is damaged: it does not end where the " + std::to_string(deflated_.bytes) +
                     " bytes that are due do");
    }
    return crc_ == deflated_.crc ? Status() : damaged("is damaged: its bytes do not match its checksum");
  }

  Status read_packed() {
    const std::size_t count = std::min<std::uint64_t>(kPackedBytes, deflated_.packed_bytes - taken_);
    const auto piece = std::span(packed_).first(count);
    if (Status read = file_->read_at(deflated_.offset_bytes + taken_, piece); !read) return read;
    taken_ += count;
    stream_.next_in = reinterpret_cast<Bytef*>(packed_.data());
    stream_.avail_in = static_cast<uInt>(count);  // 0 at the end: inflate() then reports that input is missing
    return {};
  }

  const std::shared_ptr<const RandomFile> file_;
  const std::string label_;
  const Deflated deflated_;
  z_stream stream_ = {};
  bool is_begun_ = false;
  std::vector<std::byte> packed_, window_;
  std::uint64_t taken_ = 0;      // packed bytes that inflate() has received
  std::uint64_t window_at_ = 0;  // the window's offset in the unpacked bytes
  std::uint32_t crc_ = 0;
};

}  // namespace

std::unique_ptr<ByteSource> inflated(std::shared_ptr<const RandomFile> file, std::string label,
                                     const Deflated& deflated) {
  return std::make_unique<InflatedBytes>(std::move(file), std::move(label), deflated);
}

}  // namespace tensorstat
