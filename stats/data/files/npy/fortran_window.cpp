#include "stats/data/files/npy/fortran_window.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

namespace tensorstat {
namespace {

constexpr std::size_t kWindowBytes = std::size_t{1} << 20;
constexpr std::size_t kTileBytes = std::size_t{4} << 20;
constexpr std::size_t kTileColumns = 64;
// If columns are closer than this in the file, reading everything between them is cheaper than seeking.
constexpr std::size_t kSeekBytes = kTileBytes / kTileColumns;
// Padding between the columns of a tile, so that the same row of all columns does not map to one cache set.
constexpr std::size_t kPadding = 64;

// Copies elements of kBytes, `stride` bytes apart, to contiguous memory.
template <std::size_t kBytes>
void gather(const std::byte* from, std::size_t stride, std::byte* to, std::size_t count) {
  for (; count > 0; --count, from += stride, to += kBytes) std::memcpy(to, from, kBytes);
}

// Transposes a tile. Column `i` begins at from + i * column_stride; its element `row` goes to to + targets[i] + row *
// row_stride. Eight rows at a time fit into the L1 cache.
template <std::size_t kBytes>
void turn(const std::byte* from, std::size_t column_stride, std::span<const std::uint64_t> targets, std::byte* to,
          std::size_t row_stride, std::size_t rows) {
  constexpr std::size_t kRows = 8;
  for (std::size_t first = 0; first < rows; first += kRows) {
    const std::size_t last = std::min(rows, first + kRows);
    for (std::size_t i = 0; i < targets.size(); ++i) {
      for (std::size_t row = first; row < last; ++row) {
        std::memcpy(to + targets[i] + row * row_stride, from + i * column_stride + row * kBytes, kBytes);
      }
    }
  }
}

// Calls `action` with the element size as a constant, so that each copy is one load and one store.
void with_size(std::size_t element_bytes, auto action) {
  switch (element_bytes) {
    case 1:
      return action(std::integral_constant<std::size_t, 1>());
    case 2:
      return action(std::integral_constant<std::size_t, 2>());
    case 4:
      return action(std::integral_constant<std::size_t, 4>());
    case 8:
      return action(std::integral_constant<std::size_t, 8>());
    default:
      return action(std::integral_constant<std::size_t, 16>());
  }
}

}  // namespace

FortranWindow::FortranWindow(Shape shape, std::size_t element_bytes, std::uint64_t data_offset_bytes,
                             std::size_t window_bytes)
    : shape_(std::move(shape)),
      element_bytes_(element_bytes),
      data_offset_bytes_(data_offset_bytes),
      c_(shape_.size()),
      fortran_(shape_.size()) {
  for (std::size_t i = 0; i < shape_.size(); ++i) {
    fortran_[i] = count_;
    count_ *= shape_[i];
  }
  std::uint64_t stride = 1;
  for (std::size_t i = shape_.size(); i-- > 0; stride *= shape_[i]) c_[i] = stride;
  const std::uint64_t room = std::max<std::uint64_t>(window_bytes / element_bytes, 1);
  while (c_[axis_] > room) ++axis_;  // the last stride is 1
  rows_ = std::min(shape_[axis_], room / c_[axis_]);
}

Result<std::span<const std::byte>> FortranWindow::from(ByteSource& bytes, std::uint64_t position) {
  if (position < begin_ || position >= end_) {
    if (Status loaded = load(bytes, position); !loaded) return loaded.error();
  }
  return std::span<const std::byte>(window_).subspan((position - begin_) * element_bytes_,
                                                     (end_ - position) * element_bytes_);
}

Status FortranWindow::load(ByteSource& bytes, std::uint64_t position) {
  std::uint64_t stored = 0;  // where the box begins in the file, in elements
  std::uint64_t rest = position;
  for (std::size_t i = 0; i < axis_; ++i) {
    stored += rest / c_[i] * fortran_[i];
    rest %= c_[i];
  }
  const std::uint64_t low = rest / c_[axis_] / rows_ * rows_;
  const std::uint64_t rows = std::min(rows_, shape_[axis_] - low);
  stored += low * fortran_[axis_];
  begin_ = end_ = position - rest + low * c_[axis_];
  window_.resize(rows * c_[axis_] * element_bytes_);

  // A column is the elements with the same later indices. Its elements are `gap` apart in the file and one row apart in
  // the window. Tiles of columns are gathered and transposed.
  const std::uint64_t gap = fortran_[axis_];
  const std::uint64_t columns = c_[axis_];
  const bool reads_through =
      gap * shape_[axis_] * element_bytes_ <= kSeekBytes && rows * gap * element_bytes_ <= kWindowBytes;
  const std::uint64_t column_room = kTileBytes / kTileColumns / element_bytes_;
  const std::uint64_t tile_rows =
      std::min({rows, column_room, std::max<std::uint64_t>(kWindowBytes / element_bytes_ / gap, 1)});
  const std::size_t column_stride = tile_rows * element_bytes_ + kPadding;
  tile_.resize(kTileColumns * column_stride);
  for (std::uint64_t row = 0; row < rows; row += tile_rows) {
    const std::uint64_t count = std::min(tile_rows, rows - row);
    const std::uint64_t span = (count - 1) * gap + 1;
    std::uint64_t source = stored + row * gap, target = row * columns;
    std::vector<std::uint64_t> index(shape_.size(), 0), targets;
    for (std::uint64_t column = 0; column < columns; ++column) {
      const auto piece = fetch(bytes, source, span, reads_through ? kWindowBytes / element_bytes_ : span);
      if (!piece) return piece.error();
      std::byte* const gathered = tile_.data() + targets.size() * column_stride;
      with_size(element_bytes_, [&](auto size) { gather<size>(*piece, gap * element_bytes_, gathered, count); });
      targets.push_back(target * element_bytes_);
      if (targets.size() == kTileColumns || column + 1 == columns) {
        with_size(element_bytes_, [&](auto size) {
          turn<size>(tile_.data(), column_stride, targets, window_.data(), columns * element_bytes_, count);
        });
        targets.clear();
      }
      for (std::size_t i = axis_ + 1; i < shape_.size(); ++i) {
        source += fortran_[i];
        target += c_[i];
        if (++index[i] < shape_[i]) break;
        source -= shape_[i] * fortran_[i];
        target -= shape_[i] * c_[i];
        index[i] = 0;
      }
    }
  }
  end_ = begin_ + rows * c_[axis_];
  return {};
}

// Returns `count` stored elements from `first`. Reads up to `ahead` elements, because more will be needed.
Result<const std::byte*> FortranWindow::fetch(ByteSource& bytes, std::uint64_t first, std::size_t count,
                                              std::size_t ahead) {
  if (first < piece_begin_ || first + count > piece_end_) {
    const std::uint64_t length = std::min<std::uint64_t>(std::max(count, ahead), count_ - first);
    piece_.resize(length * element_bytes_);
    piece_begin_ = piece_end_ = first;
    Status read = bytes.read_at(data_offset_bytes_ + first * element_bytes_, piece_);
    if (!read) return read.error();
    piece_end_ = first + length;
  }
  return piece_.data() + (first - piece_begin_) * element_bytes_;
}

}  // namespace tensorstat
