#include "stats/dump/fortran_window.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tensorstat {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

// Strides count bytes. The size is a constant, so that each copy is one load and one store.
template <std::size_t kBytes>
void scatter(const std::byte* from, std::size_t from_stride, std::byte* to, std::size_t to_stride,
             std::size_t count) {
  for (; count > 0; --count, from += from_stride, to += to_stride) std::memcpy(to, from, kBytes);
}

void scatter(std::size_t element_bytes, const std::byte* from, std::size_t from_stride,
             std::byte* to, std::size_t to_stride, std::size_t count) {
  switch (element_bytes) {
    case 1:
      return scatter<1>(from, from_stride, to, to_stride, count);
    case 2:
      return scatter<2>(from, from_stride, to, to_stride, count);
    case 4:
      return scatter<4>(from, from_stride, to, to_stride, count);
    default:
      return scatter<8>(from, from_stride, to, to_stride, count);
  }
}

}  // namespace

FortranWindow::FortranWindow(Shape shape, std::size_t element_bytes,
                             std::uint64_t data_offset_bytes, std::size_t window_bytes)
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

Result<std::span<const std::byte>> FortranWindow::from(const RandomFile& file,
                                                       std::uint64_t position) {
  if (position < begin_ || position >= end_) {
    if (Status loaded = load(file, position); !loaded) return loaded.error();
  }
  return std::span<const std::byte>(window_).subspan((position - begin_) * element_bytes_,
                                                     (end_ - position) * element_bytes_);
}

Status FortranWindow::load(const RandomFile& file, std::uint64_t position) {
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

  // One step of the odometer over the later indices reads `rows` elements that lie `gap` apart.
  const std::uint64_t gap = fortran_[axis_];
  const std::uint64_t at_once = std::max<std::uint64_t>(kPieceBytes / element_bytes_ / gap, 1);
  const bool whole_file = gap == 1 && rows == shape_[axis_];
  std::vector<std::uint64_t> index(shape_.size(), 0);
  for (std::uint64_t step = 0; step < c_[axis_]; ++step) {
    std::uint64_t source = stored, target = 0;
    for (std::size_t i = axis_ + 1; i < shape_.size(); ++i) {
      source += index[i] * fortran_[i];
      target += index[i] * c_[i];
    }
    for (std::uint64_t row = 0; row < rows; row += at_once) {
      const std::uint64_t count = std::min(at_once, rows - row);
      const std::uint64_t span = (count - 1) * gap + 1;
      const auto piece =
          fetch(file, source + row * gap, span, whole_file ? kPieceBytes / element_bytes_ : span);
      if (!piece) return piece.error();
      scatter(element_bytes_, *piece, gap * element_bytes_,
              window_.data() + (target + row * c_[axis_]) * element_bytes_,
              c_[axis_] * element_bytes_, count);
    }
    for (std::size_t i = axis_ + 1; i < shape_.size() && ++index[i] == shape_[i]; ++i) index[i] = 0;
  }
  end_ = begin_ + rows * c_[axis_];
  return {};
}

// `count` stored elements from `first` on; reads `ahead` where more will be wanted.
Result<const std::byte*> FortranWindow::fetch(const RandomFile& file, std::uint64_t first,
                                              std::size_t count, std::size_t ahead) {
  if (first < piece_begin_ || first + count > piece_end_) {
    const std::uint64_t length = std::min<std::uint64_t>(std::max(count, ahead), count_ - first);
    piece_.resize(length * element_bytes_);
    piece_begin_ = piece_end_ = first;
    Status read = file.read_at(data_offset_bytes_ + first * element_bytes_, piece_);
    if (!read) return read.error();
    piece_end_ = first + length;
  }
  return piece_.data() + (first - piece_begin_) * element_bytes_;
}

}  // namespace tensorstat
