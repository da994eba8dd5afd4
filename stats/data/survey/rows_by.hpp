// Measures the rows of a tensor in a file, in bounded memory.
#pragma once

#include <cstdint>
#include <functional>
#include <tensorstat/meter.hpp>

#include "stats/data/files/tensor_reader.hpp"

namespace tensorstat {

struct RowListener {
  std::function<void(std::uint64_t bytes)> read;  // `bytes` more have been read
  // Called once for each row, in order: its index in row_shape(by), the shape of its elements, its values. The index of
  // a block is the indices of the kept axes and its first element behind them.
  std::function<void(Shape&& index, Shape&& shape, const Measurement& measured)> row;
};

// Measures the rows of a tensor. `by.shape` is not read; the tensor's is used. With blocks, by.axes are its first axes,
// or none, which means all but the last: a block ends where their index changes. The file is read in slabs along the
// first axis. In memory are one slab, which is one index of that axis or 64 MiB, and a partial for each row.
// kUnsupported: digests of rows that extend over several slabs.
Status measure_rows(Meter& meter, const Request& request, TensorReader& reader, By by, const RowListener& listener);

}  // namespace tensorstat
