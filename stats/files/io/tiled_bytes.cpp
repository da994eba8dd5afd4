#include "stats/files/io/tiled_bytes.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace tensorstat {
namespace {

constexpr std::uint64_t kMostHeldTiles = std::uint64_t{256} << 20;

class TiledBytes : public ByteSource {
 public:
  TiledBytes(std::unique_ptr<ByteSource> bytes, Tiles tiles) : bytes_(std::move(bytes)), tiles_(std::move(tiles)) {}
  const std::string& path() const override { return bytes_->path(); }
  std::uint64_t modified_us() const override { return bytes_->modified_us(); }
  bool seeks() const override { return bytes_->seeks(); }
  bool is_separate() const override { return bytes_->is_separate(); }

  // Reads whole elements only.
  Status read_at(std::uint64_t first_byte, std::span<std::byte> out) override try {
    const std::uint64_t size = tiles_.element_bytes, row_length = tiles_.axes.back().length;
    std::uint64_t element = first_byte / size;
    while (!out.empty()) {
      const std::uint64_t in_row = element % row_length;
      const std::uint64_t count = std::min<std::uint64_t>(row_length - in_row, out.size() / size);
      if (count == 0) return Error{Code::kInvalid, "a part of an element was asked for"};
      if (Status read = read_row(row_at(element / row_length), in_row, out.first(count * size)); !read) return read;
      out = out.subspan(count * size);
      element += count;
    }
    return {};
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }

 private:
  // The offset of a row's first element, in elements.
  std::uint64_t row_at(std::uint64_t row) const {
    std::uint64_t at = 0;
    for (std::size_t i = tiles_.axes.size() - 1; i-- > 0;) {
      at += tiles_.axes[i].offset(row % tiles_.axes[i].length);
      row /= tiles_.axes[i].length;
    }
    return at;
  }

  Status read_row(std::uint64_t row, std::uint64_t first, std::span<std::byte> out) {
    const TiledAxis& axis = tiles_.axes.back();
    const std::uint64_t size = tiles_.element_bytes, count = out.size() / size;
    const std::byte* from = nullptr;  // the byte at `begin`, an offset in elements
    std::uint64_t begin = 0;
    if (tiles_.span_bytes <= kMostHeldTiles) {
      if (held_.empty()) {
        std::vector<std::byte> all(tiles_.span_bytes);
        if (Status read = bytes_->read_at(tiles_.at_bytes, all); !read) return read;
        held_ = std::move(all);
      }
      from = held_.data();
    } else {
      std::uint64_t end = 0;  // strides may be in any order
      begin = ~std::uint64_t{0};
      for (std::uint64_t i = first; i < first + count; ++i) {
        begin = std::min(begin, row + axis.offset(i));
        end = std::max(end, row + axis.offset(i) + 1);
      }
      row_.resize((end - begin) * size);
      if (Status read = bytes_->read_at(tiles_.at_bytes + begin * size, row_); !read) return read;
      from = row_.data();
    }
    for (std::uint64_t i = 0; i < count; ++i) {
      std::memcpy(out.data() + i * size, from + (row + axis.offset(first + i) - begin) * size, size);
    }
    return {};
  }

  const std::unique_ptr<ByteSource> bytes_;
  const Tiles tiles_;
  std::vector<std::byte> held_, row_;
};

}  // namespace

std::unique_ptr<ByteSource> tiled_bytes(std::unique_ptr<ByteSource> bytes, Tiles tiles) {
  return std::make_unique<TiledBytes>(std::move(bytes), std::move(tiles));
}

}  // namespace tensorstat
