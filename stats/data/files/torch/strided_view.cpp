#include "stats/data/files/torch/strided_view.hpp"

#include <algorithm>

namespace tensorstat {
namespace {

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

Tiles tiles_of(const StridedView& view, std::uint64_t span, std::uint64_t most_held_bytes) {
  Tiles tiles{.at_bytes = view.offset_bytes,
              .span_bytes = span * view.element_bytes,
              .element_bytes = view.element_bytes,
              .axes = {},
              .most_held_bytes = most_held_bytes};
  for (std::size_t d = 0; d < view.shape.size(); ++d) {
    tiles.axes.push_back({.length = view.shape[d], .block = view.shape[d], .inner_stride = view.stride[d]});
  }
  return tiles;
}

}  // namespace tensorstat
