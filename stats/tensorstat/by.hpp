// SPDX-License-Identifier: Apache-2.0
// Statistics of a tensor's parts: a row for each channel, or for each block of elements.
//
//   By by{.shape = {64, 3, 7, 7}, .axes = {0}};           // a row for each of 64 filters
//   auto rows = meter.measure_by(weights, by, request);   // rows[k]: weights[k], of 147 elements
#pragma once

#include <cstdint>
#include <vector>

#include <tensorstat/status.hpp>
#include <tensorstat/tensor.hpp>

namespace tensorstat {

// Which elements share a row: those with the same indices in the kept axes, or those of one block.
struct By {
  Shape shape;                        // the tensor's; it holds element_count
  std::vector<std::int64_t> axes{};   // that are kept, each once, in any order; -1 is the last
  std::uint64_t block_elements = 0;   // not 0: instead of axes, blocks of so many elements that follow each other in
                                      // C order. The last may be shorter
};

// The most rows of one tensor: 2^20. A column costs its partial while it is measured: 1 KiB; with `exponents` 3 to 17.
inline constexpr std::uint64_t kMostRows = std::uint64_t{1} << 20;

// The most that the partials of rows may take for quantiles, 1 GiB: up to 16 bytes for each bin of a dtype (partial.hpp), or
// for each element where a row has fewer. Values of rows, without partials, take it for one row a thread.
inline constexpr std::uint64_t kMostBinBytes = std::uint64_t{1} << 30;

// The shape of the rows: the lengths of the kept axes in the tensor's order, or the number of blocks. Rows are in C order
// of it; no axis keeps one row of everything. Refused (kInvalid): an axis that the shape does not have, an axis twice,
// axes and blocks at once, more than kMostRows.
Result<Shape> row_shape(const By& by);

// Of each axis, whether it is kept; of blocks none is. Refuses what row_shape refuses.
Result<std::vector<bool>> kept_axes(const By& by);

}  // namespace tensorstat
