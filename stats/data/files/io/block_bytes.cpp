#include "stats/data/files/io/block_bytes.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace tensorstat {
namespace {

constexpr std::size_t kValuesAtOnce = std::size_t{1} << 16;

class BlockBytes : public ByteSource {
 public:
  BlockBytes(std::unique_ptr<ByteSource> blocks, const BlockFormat& format, std::uint64_t first_block_bytes)
      : blocks_(std::move(blocks)), format_(format), first_block_bytes_(first_block_bytes) {}
  const std::string& path() const override { return blocks_->path(); }
  std::uint64_t modified_us() const override { return blocks_->modified_us(); }
  bool seeks() const override { return blocks_->seeks(); }
  bool is_shareable() const override { return blocks_->is_shareable(); }
  bool is_separate() const override { return blocks_->is_separate(); }
  ByteSource* original() override { return blocks_.get(); }

  // Keeps no state, so that several threads may read. Reads whole values only.
  Status read_at(std::uint64_t first_byte, std::span<std::byte> out) override {
    const std::uint32_t a_block = format_.values;
    std::vector<std::byte> blocks;
    std::vector<float> values;
    for (std::uint64_t first = first_byte / sizeof(float); !out.empty();) {
      const std::uint64_t skipped = first % a_block;
      const std::uint64_t wanted = std::min(skipped + out.size() / sizeof(float), kValuesAtOnce);
      const std::uint64_t count = (wanted + a_block - 1) / a_block;
      blocks.resize(count * format_.bytes);
      values.resize(count * a_block);
      const std::uint64_t offset = first_block_bytes_ + first / a_block * format_.bytes;
      if (Status read = blocks_->read_at(offset, blocks); !read) return read;
      format_.decode(blocks.data(), count, values.data());
      const std::size_t bytes = (wanted - skipped) * sizeof(float);
      std::memcpy(out.data(), values.data() + skipped, bytes);
      out = out.subspan(bytes);
      first += wanted - skipped;
    }
    return {};
  }

 private:
  const std::unique_ptr<ByteSource> blocks_;
  const BlockFormat& format_;
  const std::uint64_t first_block_bytes_;
};

}  // namespace

std::unique_ptr<ByteSource> decoded_blocks(std::unique_ptr<ByteSource> blocks, const BlockFormat& format,
                                           std::uint64_t first_block_bytes) {
  return std::make_unique<BlockBytes>(std::move(blocks), format, first_block_bytes);
}

}  // namespace tensorstat
