// The rows of a tensor in a file, in bounded memory.
#pragma once

#include <cstdint>
#include <functional>
#include <tensorstat/meter.hpp>

#include "stats/files/tensor_reader.hpp"

namespace tensorstat {

struct RowListener {
  std::function<void(std::uint64_t bytes)> read;  // so many more have been read
  // Once a row, in their order: its indices in row_shape(by), the shape of what it is of.
  std::function<void(Shape&& index, Shape&& shape, const Measurement& measured)> row;
};

// Measures the rows of a tensor; `by` has no shape yet. The file is read in slabs along the first axis: as many bytes as
// one index of it has, or 64 MiB, are held at a time, and of each row a partial. Digests of rows that reach across
// slabs are refused (kUnsupported).
Status measure_rows(Meter& meter, const Request& request, TensorReader& reader, By by, const RowListener& listener);

}  // namespace tensorstat
