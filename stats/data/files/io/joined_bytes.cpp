#include "stats/data/files/io/joined_bytes.hpp"

#include <algorithm>
#include <utility>

#include "stats/data/files/io/random_file.hpp"

namespace tensorstat {
namespace {

class JoinedBytes : public ByteSource {
 public:
  JoinedBytes(std::shared_ptr<const RandomFile> file, std::vector<ByteRange> ranges)
      : file_(std::move(file)), ranges_(std::move(ranges)) {
    begins_.reserve(ranges_.size());
    std::uint64_t begin = 0;
    for (const ByteRange& range : ranges_) begins_.push_back(std::exchange(begin, begin + range.bytes));
  }
  const std::string& path() const override { return file_->path(); }
  std::uint64_t modified_us() const override { return file_->modified_us(); }
  bool seeks() const override { return true; }
  bool is_shareable() const override { return true; }

  Status read_at(std::uint64_t offset_bytes, std::span<std::byte> out) override {
    std::size_t index = std::ranges::upper_bound(begins_, offset_bytes) - begins_.begin();
    for (index -= index != 0; !out.empty() && index < ranges_.size(); ++index) {
      const std::uint64_t skipped = offset_bytes - begins_[index];
      const std::size_t count = std::min<std::uint64_t>(ranges_[index].bytes - skipped, out.size());
      if (Status read = file_->read_at(ranges_[index].offset_bytes + skipped, out.first(count)); !read) return read;
      out = out.subspan(count);
      offset_bytes += count;
    }
    return {};
  }

 private:
  const std::shared_ptr<const RandomFile> file_;
  const std::vector<ByteRange> ranges_;
  std::vector<std::uint64_t> begins_;  // of each range, in the joined bytes
};

}  // namespace

std::unique_ptr<ByteSource> joined_bytes(std::shared_ptr<const RandomFile> file, std::vector<ByteRange> ranges) {
  return std::make_unique<JoinedBytes>(std::move(file), std::move(ranges));
}

}  // namespace tensorstat
