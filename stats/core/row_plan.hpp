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
  std::vector<Group> groups;
  std::uint64_t rows = 1;

  // Each row's elements follow each other: nothing is kept behind an axis that is not.
  bool is_sliced() const { return groups.empty() || (groups.size() <= 2 && groups.front().is_kept) || rows == 1; }
  // The last axis is kept: a row's elements lie in a column.
  bool has_columns() const { return !is_sliced() && groups.back().is_kept; }
};

// Of `axes`; blocks need no plan.
Result<RowPlan> row_plan(const By& by);

// Which of the axes are kept, by axis.
Result<std::vector<bool>> kept_axes(const By& by);

}  // namespace tensorstat
