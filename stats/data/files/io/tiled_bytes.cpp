#include "stats/data/files/io/tiled_bytes.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace tensorstat {
namespace {

constexpr std::uint64_t kMostHoleBytes = 4096;                    // with more between two elements, each is read alone
constexpr std::uint64_t kMostReadBytes = std::uint64_t{1} << 20;  // elements with their holes, in one read
constexpr std::uint64_t kLongRowBytes = std::uint64_t{1} << 16;   // a row of this span is worth a read of its own

class TiledBytes : public ByteSource {
 public:
  TiledBytes(std::unique_ptr<ByteSource> bytes, Tiles tiles) : bytes_(std::move(bytes)), tiles_(std::move(tiles)) {
    for (const TiledAxis& axis : tiles_.axes) element_count_ *= axis.length;
    has_long_rows_ = are_rows_in_order();
    for (TiledAxis& axis : tiles_.axes) {  // blocks of one element are strided elements
      if (axis.block == 1) axis = {axis.length, std::max<std::uint64_t>(axis.length, 1), 0, axis.outer_stride};
    }
  }
  const std::string& path() const override { return bytes_->path(); }
  std::uint64_t modified_us() const override { return bytes_->modified_us(); }
  bool seeks() const override { return bytes_->seeks(); }
  bool is_separate() const override { return bytes_->is_separate(); }
  void release() override {
    bytes_->release();
    held_ = {};
    with_holes_ = {};
  }

  // Reads whole elements only.
  Status read_at(std::uint64_t first_byte, std::span<std::byte> out) override try {
    if (Status status = hold(); !status) return status;
    const std::uint64_t size = tiles_.element_bytes;
    const TiledAxis& row = tiles_.axes.back();
    std::uint64_t element = first_byte / size;
    while (!out.empty()) {
      const std::uint64_t in_row = element % row.length;
      const std::uint64_t in_block = std::min(row.length - in_row, row.block - in_row % row.block);
      const std::uint64_t count = std::min<std::uint64_t>(in_block, out.size() / size);
      if (count == 0) return Error{Code::kInvalid, "a part of an element was asked for"};
      const std::uint64_t first = row_at(element / row.length) + row.offset(in_row);
      if (Status read = read_block(first, row.inner_stride, out.first(count * size)); !read) return read;
      out = out.subspan(count * size);
      element += count;
    }
    return {};
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }

 private:
  // Whether the elements lie in their order, and in rows so long that each is read by itself as fast as all at once.
  bool are_rows_in_order() const {
    std::uint64_t span = 1;  // of the axes behind this one, in elements
    for (std::size_t i = tiles_.axes.size(); i-- > 0;) {
      const TiledAxis& axis = tiles_.axes[i];
      if (axis.length == 0 || axis.block != axis.length) return false;
      if (axis.length > 1 && axis.inner_stride < span) return false;
      span += (axis.length - 1) * axis.inner_stride;
      const bool is_row = i + 1 == tiles_.axes.size();
      if (is_row && i != 0 && span < kLongRowBytes / tiles_.element_bytes) return false;
    }
    return true;
  }

  // The offset of a row's first element, in elements.
  std::uint64_t row_at(std::uint64_t row) const {
    std::uint64_t offset = 0;
    for (std::size_t i = tiles_.axes.size() - 1; i-- > 0; row /= tiles_.axes[i].length) {
      offset += tiles_.axes[i].offset(row % tiles_.axes[i].length);
    }
    return offset;
  }

  Status hold() {
    if (!held_.empty() || tiles_.span_bytes > tiles_.most_held_bytes) return {};
    if (has_long_rows_ || tiles_.span_bytes / kMostHoleBytes > element_count_) return {};
    std::vector<std::byte> all(tiles_.span_bytes);
    if (Status read = bytes_->read_at(tiles_.at_bytes, all); !read) return read;
    held_ = std::move(all);
    return {};
  }

  // Contiguous elements.
  Status fetch(std::uint64_t first, std::span<std::byte> out) {
    const std::uint64_t offset = first * tiles_.element_bytes;
    if (held_.empty()) return bytes_->read_at(tiles_.at_bytes + offset, out);
    std::memcpy(out.data(), held_.data() + offset, out.size());
    return {};
  }

  // Elements of one block, from the offset `first` on.
  Status read_block(std::uint64_t first, std::uint64_t stride, std::span<std::byte> out) {
    const std::uint64_t size = tiles_.element_bytes;
    if (stride == 1) return fetch(first, out);
    if (stride == 0) {
      if (Status read = fetch(first, out.first(size)); !read) return read;
      for (std::size_t done = size; done < out.size(); done *= 2) {
        std::memcpy(out.data() + done, out.data(), std::min(done, out.size() - done));
      }
      return {};
    }
    if (!held_.empty() || stride > kMostHoleBytes / size) {
      for (std::size_t offset = 0; offset < out.size(); offset += size, first += stride) {
        if (Status read = fetch(first, out.subspan(offset, size)); !read) return read;
      }
      return {};
    }
    while (!out.empty()) {
      const std::uint64_t count = std::min(out.size() / size, kMostReadBytes / (stride * size) + 1);
      with_holes_.resize(((count - 1) * stride + 1) * size);
      if (Status read = fetch(first, with_holes_); !read) return read;
      for (std::uint64_t i = 0; i < count; ++i) {
        std::memcpy(out.data() + i * size, with_holes_.data() + i * stride * size, size);
      }
      out = out.subspan(count * size);
      first += count * stride;
    }
    return {};
  }

  const std::unique_ptr<ByteSource> bytes_;
  Tiles tiles_;
  std::uint64_t element_count_ = 1;
  bool has_long_rows_ = false;
  std::vector<std::byte> held_, with_holes_;
};

}  // namespace

std::unique_ptr<ByteSource> tiled_bytes(std::unique_ptr<ByteSource> bytes, Tiles tiles) {
  return std::make_unique<TiledBytes>(std::move(bytes), std::move(tiles));
}

}  // namespace tensorstat
