// SPDX-License-Identifier: Apache-2.0
// Statistics of a tensor's parts: one row of values for each channel, or for each block of elements.
//
//   By by{.shape = {64, 3, 7, 7}, .axes = {0}};           // a row for each of 64 filters
//   auto rows = meter.measure_by(weights, by, request);   // rows[k]: weights[k], 147 elements
#pragma once

#include <cstdint>
#include <tensorstat/status.hpp>
#include <tensorstat/tensor.hpp>
#include <vector>

namespace tensorstat {

// Which elements share a row: elements with the same indices in the kept axes, or the elements of one block.
struct By {
  Shape shape;                       // the tensor's; its product is element_count
  std::vector<std::int64_t> axes{};  // the kept axes, each once, in any order; -1 is the last
  std::uint64_t block_elements = 0;  // if not 0: `axes` is empty, and each row is a block of this many consecutive
                                     // elements in C order. The last may be shorter
};

// The limit of rows of one tensor. While it is measured, each row takes 1 KiB for its partial; with `exponents`, 3 to
// 17 KiB.
inline constexpr std::uint64_t kMostRows = std::uint64_t{1} << 20;

// The limit of memory for the quantiles in the partials of all rows: 1 GiB. A row takes up to 16 bytes for each bin of
// its dtype (partial.hpp), or for each element if it has fewer. measure_by() takes that for one row per thread only.
inline constexpr std::uint64_t kMostBinBytes = std::uint64_t{1} << 30;

// The shape of the rows: the lengths of the kept axes in the tensor's order, or {number of blocks}. Rows are numbered
// in C order of this shape. Without axes and blocks there is one row, {}. kInvalid: an axis that the shape does not
// have, an axis twice, both axes and blocks, more than kMostRows rows.
Result<Shape> row_shape(const By& by);

// One entry for each axis: whether it is kept; all false for blocks. Errors are row_shape's.
Result<std::vector<bool>> kept_axes(const By& by);

}  // namespace tensorstat
