// How the elements of a tensor are divided into rows.
#pragma once

#include <cstdint>
#include <tensorstat/by.hpp>
#include <vector>

namespace tensorstat {

struct RowPlan {
  // Neighbouring axes that are all kept, or all not kept, joined to one. Axes of length 1 are omitted.
  struct Group {
    bool is_kept;
    std::uint64_t length;
  };
  Shape shape{};                // row_shape(by)
  std::uint64_t rows = 1;       // the number of rows
  std::vector<bool> kept{};     // for each axis; all false for blocks
  std::vector<Group> groups{};  // empty for blocks

  // Each row is contiguous: no kept axis follows one that is not kept.
  bool is_sliced() const { return groups.empty() || (groups.size() <= 2 && groups.front().is_kept) || rows == 1; }
  // The last axis is kept: the elements of a row lie in a column.
  bool has_columns() const { return !is_sliced() && groups.back().is_kept; }
};

// Errors are row_shape's.
Result<RowPlan> row_plan(const By& by);

}  // namespace tensorstat
