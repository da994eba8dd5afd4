// The elements of a view of a storage, one after another in C order.
#pragma once

#include <cstdint>
#include <memory>
#include <tensorstat/status.hpp>
#include <tensorstat/tensor.hpp>

#include "stats/files/io/byte_source.hpp"
#include "stats/files/io/random_file.hpp"

namespace tensorstat {

// A view that ends within its storage: whoever makes one has checked that.
struct StridedView {
  std::uint64_t offset_bytes = 0;  // of the first element, in the file
  std::uint32_t element_bytes = 1;
  Shape shape, stride;  // the stride in elements; 0 repeats
};

// How many elements of the storage the view spans, from its first on; 0 of an empty one. An error beyond 2^64 bytes.
Result<std::uint64_t> span_of(const StridedView& view);

// Whether the elements lie in C order, one after another; or in Fortran order.
bool is_c_order(const StridedView& view);
bool is_fortran_order(const StridedView& view);

// The bytes of any view. What it spans is taken into memory where that is at most `window_bytes`, and read row by row
// else.
std::unique_ptr<ByteSource> strided_bytes(std::shared_ptr<const RandomFile> file, StridedView view,
                                          std::uint64_t window_bytes);

}  // namespace tensorstat
