#include "stats/data/files/zip/unpacked_bytes.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "stats/core/base/crc32.hpp"
#include "stats/core/base/printable.hpp"

namespace tensorstat {
namespace {

constexpr std::size_t kPackedBytes = std::size_t{1} << 16, kUnpackedWindowBytes = std::size_t{1} << 18;

class UnpackedBytes : public ByteSource {
 public:
  UnpackedBytes(std::shared_ptr<const RandomFile> file, std::string label, const Packed& packed)
      : file_(std::move(file)), label_(std::move(label)), packed_(packed) {}
  const std::string& path() const override { return file_->path(); }
  std::uint64_t modified_us() const override { return file_->modified_us(); }
  bool seeks() const override { return false; }
  void release() override {
    unpacker_ = nullptr;
    piece_ = {};
    window_ = {};
  }

  Status read_at(std::uint64_t offset_bytes, std::span<std::byte> out) override {
    if (offset_bytes < window_at_ || unpacker_ == nullptr) {
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
        unpacker_ = nullptr;
        return moved;
      }
    }
    return {};
  }

 private:
  Error damaged(const std::string& what) const { return {Code::kUnreadable, printable_name(label_) + ": " + what}; }

  Status begin() {
    auto unpacker = make_unpacker(packed_.packing);
    if (!unpacker) return Error{unpacker.error().code, printable_name(label_) + ": " + unpacker.error().message};
    unpacker_ = *std::move(unpacker);
    piece_.resize(kPackedBytes);
    left_ = {};
    taken_ = window_at_ = 0;
    window_.clear();
    crc_ = 0;
    return {};
  }

  // Replaces the window by the next bytes.
  Status move_window() {
    window_at_ += window_.size();
    const std::uint64_t left = packed_.bytes - window_at_;
    if (left == 0) return damaged("it was read beyond its end");
    const std::size_t due = std::min<std::uint64_t>(left, kUnpackedWindowBytes);
    const bool is_last = due == left;
    window_.resize(due + is_last);  // one byte more detects data after the expected end
    std::span<std::byte> room(window_);
    auto state = Unpacker::State::kGoesOn;
    for (bool is_moving = true; is_moving && !room.empty() && state == Unpacker::State::kGoesOn;) {
      if (left_.empty()) {
        if (Status read = read_packed(); !read) return read;
      }
      const std::size_t before = left_.size() + room.size();
      state = unpacker_->unpack(left_, room);
      is_moving = left_.size() + room.size() != before || (left_.empty() && taken_ != packed_.packed_bytes);
    }
    const std::size_t got = window_.size() - room.size();
    window_.resize(std::min(got, due));
    if (state == Unpacker::State::kNoMemory) return damaged("not enough memory to unpack it");
    if (state == Unpacker::State::kDamaged) {
      return damaged("is damaged: no bytes that " + std::string(name(packed_.packing)) + " packed");
    }
    if (got < due) {
      return damaged("is damaged: it unpacks to " + std::to_string(window_at_ + got) + " bytes of the " +
                     std::to_string(packed_.bytes) + " that are due");
    }
    crc_ = crc32_of(crc_, std::as_bytes(std::span(window_)));
    if (!is_last) return {};
    // LZMA of zip archives may have no mark at its end.
    if (got > due || (state != Unpacker::State::kEnded && packed_.packing != Packing::kLzmaOfZip)) {
      return damaged("is damaged: it does not end where the " + std::to_string(packed_.bytes) +
                     " bytes that are due do");
    }
    return crc_ == packed_.crc ? Status() : damaged("is damaged: its bytes do not match its checksum");
  }

  Status read_packed() {
    const std::size_t count = std::min<std::uint64_t>(kPackedBytes, packed_.packed_bytes - taken_);
    const auto piece = std::span(piece_).first(count);
    if (Status read = file_->read_at(packed_.offset_bytes + taken_, piece); !read) return read;
    taken_ += count;
    left_ = piece;  // empty at the end
    return {};
  }

  const std::shared_ptr<const RandomFile> file_;
  const std::string label_;
  const Packed packed_;
  std::unique_ptr<Unpacker> unpacker_;
  std::vector<std::byte> piece_, window_;
  std::span<const std::byte> left_;  // of piece_
  std::uint64_t taken_ = 0;          // packed bytes that were read
  std::uint64_t window_at_ = 0;      // the window's offset in the unpacked bytes
  std::uint32_t crc_ = 0;
};

}  // namespace

std::unique_ptr<ByteSource> unpacked(std::shared_ptr<const RandomFile> file, std::string label, const Packed& packed) {
  return std::make_unique<UnpackedBytes>(std::move(file), std::move(label), packed);
}

}  // namespace tensorstat
