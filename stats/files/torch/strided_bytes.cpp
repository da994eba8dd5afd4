#include "stats/files/torch/strided_bytes.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <span>
#include <utility>
#include <vector>

namespace tensorstat {
namespace {

constexpr std::uint64_t kMostHoleBytes = 4096;  // more than that between two elements: each is read by itself

// Whether the dimensions, taken in the order that `dimension` gives from the fastest on, lie without holes.
template <typename Dimension>
bool is_dense(const StridedView& view, Dimension dimension) {
  std::uint64_t expected = 1;
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    const std::size_t d = dimension(i);
    if (view.shape[d] == 1) continue;
    if (view.stride[d] != expected) return false;
    expected *= view.shape[d];
  }
  return true;
}

class StridedBytes : public ByteSource {
 public:
  StridedBytes(std::shared_ptr<const RandomFile> file, StridedView view, std::uint64_t window_bytes)
      : file_(std::move(file)), view_(std::move(view)), window_bytes_(window_bytes) {
    if (view_.shape.empty()) view_.shape = view_.stride = {1};
  }

  const std::string& path() const override { return file_->path(); }
  std::uint64_t modified_us() const override { return file_->modified_us(); }
  bool seeks() const override { return true; }

  // The library asks for whole elements, from a whole element on.
  Status read_at(std::uint64_t offset_bytes, std::span<std::byte> out) override try {
    if (Status held = hold(); !held) return held;
    const std::uint64_t row_length = view_.shape.back();
    std::uint64_t element = offset_bytes / view_.element_bytes;
    while (!out.empty()) {
      const std::uint64_t in_row = element % row_length;
      const std::uint64_t count = std::min<std::uint64_t>(row_length - in_row, out.size() / view_.element_bytes);
      if (count == 0) return Error{Code::kInvalid, "a part of an element was asked for"};
      const std::uint64_t first = row_at(element / row_length) + in_row * view_.stride.back();
      if (Status read = read_row(first, out.first(count * view_.element_bytes)); !read) return read;
      out = out.subspan(count * view_.element_bytes);
      element += count;
    }
    return {};
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }

 private:
  // The element of the storage that a row begins with, from the view's first on.
  std::uint64_t row_at(std::uint64_t row) const {
    std::uint64_t at = 0;
    for (std::size_t d = view_.shape.size() - 1; d-- > 0; row /= view_.shape[d]) {
      at += row % view_.shape[d] * view_.stride[d];
    }
    return at;
  }

  Status hold() {
    const auto span = span_of(view_);
    if (!span) return span.error();
    if (!held_.empty() || *span * view_.element_bytes > window_bytes_) return {};
    std::vector<std::byte> bytes(*span * view_.element_bytes);
    if (Status read = file_->read_at(view_.offset_bytes, bytes); !read) return read;
    held_ = std::move(bytes);
    return {};
  }

  Status fetch(std::uint64_t element, std::span<std::byte> out) const {
    const std::uint64_t at = element * view_.element_bytes;
    if (held_.empty()) return file_->read_at(view_.offset_bytes + at, out);
    std::memcpy(out.data(), held_.data() + at, out.size());
    return {};
  }

  // Elements of one row, from the element `first` of the storage on.
  Status read_row(std::uint64_t first, std::span<std::byte> out) {
    const std::size_t size = view_.element_bytes;
    const std::uint64_t stride = view_.stride.back();
    if (stride == 1) return fetch(first, out);
    if (stride == 0) {
      if (Status read = fetch(first, out.first(size)); !read) return read;
      for (std::size_t at = size; at < out.size(); at += size) std::memcpy(out.data() + at, out.data(), size);
      return {};
    }
    if (!held_.empty() || stride * size > kMostHoleBytes) {
      for (std::size_t at = 0; at < out.size(); at += size, first += stride) {
        if (Status read = fetch(first, out.subspan(at, size)); !read) return read;
      }
      return {};
    }
    const std::size_t most = std::size_t{1} << 20;
    while (!out.empty()) {
      const std::size_t count = std::min<std::size_t>(out.size() / size, most / (stride * size) + 1);
      row_.resize(((count - 1) * stride + 1) * size);
      if (Status read = fetch(first, row_); !read) return read;
      for (std::size_t i = 0; i < count; ++i) std::memcpy(out.data() + i * size, row_.data() + i * stride * size, size);
      out = out.subspan(count * size);
      first += count * stride;
    }
    return {};
  }

  const std::shared_ptr<const RandomFile> file_;
  StridedView view_;
  const std::uint64_t window_bytes_;
  std::vector<std::byte> held_, row_;
};

}  // namespace

Result<std::uint64_t> span_of(const StridedView& view) {
  const Error too_large{Code::kUnreadable, "has more than 2^64 bytes"};
  std::uint64_t last = 0;
  if (std::ranges::count(view.shape, std::uint64_t{0}) != 0) return std::uint64_t{0};
  for (std::size_t d = 0; d < view.shape.size(); ++d) {
    std::uint64_t step = 0;
    if (__builtin_mul_overflow(view.shape[d] - 1, view.stride[d], &step)) return too_large;
    if (__builtin_add_overflow(last, step, &last)) return too_large;
  }
  std::uint64_t bytes = 0;
  if (__builtin_add_overflow(last, std::uint64_t{1}, &last)) return too_large;
  if (__builtin_mul_overflow(last, std::uint64_t{view.element_bytes}, &bytes)) return too_large;
  return last;
}

bool is_c_order(const StridedView& view) {
  return is_dense(view, [&](std::size_t i) { return view.shape.size() - 1 - i; });
}

bool is_fortran_order(const StridedView& view) {
  return is_dense(view, [](std::size_t i) { return i; });
}

std::unique_ptr<ByteSource> strided_bytes(std::shared_ptr<const RandomFile> file, StridedView view,
                                          std::uint64_t window_bytes) {
  return std::make_unique<StridedBytes>(std::move(file), std::move(view), window_bytes);
}

}  // namespace tensorstat
