// A view of a torch storage: where its elements lie.
#pragma once

#include <cstdint>
#include <tensorstat/status.hpp>
#include <tensorstat/tensor.hpp>

#include "stats/data/files/io/tiled_bytes.hpp"

namespace tensorstat {

// A view that ends within its storage: whoever makes one has checked that.
struct StridedView {
  std::uint64_t offset_bytes = 0;  // of the first element, in the file
  std::uint32_t element_bytes = 1;
  Shape shape, stride;  // the stride in elements; 0 repeats
};

// The number of elements of the storage from the view's first to its last; 0 if the view is empty. An error beyond 2^64
// bytes.
Result<std::uint64_t> span_of(const StridedView& view);

// Whether the elements lie in C order, one after another; or in Fortran order.
bool is_c_order(const StridedView& view);
bool is_fortran_order(const StridedView& view);

// The view for tiled_bytes(). `span`: span_of(view).
Tiles tiles_of(const StridedView& view, std::uint64_t span, std::uint64_t most_held_bytes);

}  // namespace tensorstat
