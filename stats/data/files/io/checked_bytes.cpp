#include "stats/data/files/io/checked_bytes.hpp"

#include <utility>

#include "stats/core/base/crc32.hpp"
#include "stats/core/base/printable.hpp"

namespace tensorstat {
namespace {

class CheckedBytes : public ByteSource {
 public:
  CheckedBytes(std::shared_ptr<const RandomFile> file, std::string label, ByteRange range, std::uint32_t crc)
      : file_(std::move(file)),
        label_(std::move(label)),
        end_(range.offset_bytes + range.bytes),
        crc_(crc),
        next_(range.offset_bytes) {}

  const std::string& path() const override { return file_->path(); }
  std::uint64_t modified_us() const override { return file_->modified_us(); }
  bool seeks() const override { return true; }

  Status read_at(std::uint64_t offset_bytes, std::span<std::byte> out) override {
    Status read = file_->read_at(offset_bytes, out);
    return read ? accept(offset_bytes, out) : read;
  }

  const RandomFile* file() const override { return file_.get(); }

  Status accept(std::uint64_t offset_bytes, std::span<const std::byte> out) override {
    // Bytes that were read before, such as a header's, count once. Bytes out of order do not count.
    const bool goes_on = offset_bytes <= next_ && offset_bytes + out.size() > next_;
    if (goes_on) {
      seen_ = crc32_of(seen_, std::span(out).subspan(next_ - offset_bytes));
      next_ = offset_bytes + out.size();
    }
    if (next_ != end_ || seen_ == crc_) return {};
    return Error{Code::kUnreadable, printable_name(label_) + ": is damaged: its bytes do not match its checksum"};
  }

 private:
  const std::shared_ptr<const RandomFile> file_;
  const std::string label_;
  const std::uint64_t end_;
  const std::uint32_t crc_;
  std::uint64_t next_;  // the end of the bytes that were read in order
  std::uint32_t seen_ = 0;
};

}  // namespace

std::unique_ptr<ByteSource> checked(std::shared_ptr<const RandomFile> file, std::string label, ByteRange range,
                                    std::uint32_t crc) {
  return std::make_unique<CheckedBytes>(std::move(file), std::move(label), range, crc);
}

}  // namespace tensorstat
