// How the elements of a tensor fall into rows, in the terms in which they are folded.
#pragma once

#include <cstdint>
#include <vector>

#include <tensorstat/by.hpp>

namespace tensorstat {

struct RowPlan {
  // Neighbouring axes that are kept, or that are not, as one; axes of length 1 left out.
  struct Group {
    bool is_kept;
    std::uint64_t length;
  };
  Shape shape{};               // of the rows, as row_shape says it
  std::uint64_t rows = 1;      // how many they are
  std::vector<bool> kept{};    // which axes are, by axis; of blocks none
  std::vector<Group> groups{};  // none of blocks

  // Each row's elements follow each other: nothing is kept behind an axis that is not.
  bool is_sliced() const { return groups.empty() || (groups.size() <= 2 && groups.front().is_kept) || rows == 1; }
  // The last axis is kept: a row's elements lie in a column.
  bool has_columns() const { return !is_sliced() && groups.back().is_kept; }
};

// Refuses what row_shape refuses.
Result<RowPlan> row_plan(const By& by);

}  // namespace tensorstat
