#include "stats/core/row_plan.hpp"

#include <string>

#include "stats/core/caught.hpp"

namespace tensorstat {
namespace {

Status check_rows(const Shape& rows) {
  const auto count = element_count(rows);
  if (count && *count <= kMostRows) return {};
  return Error{Code::kInvalid, "rows of shape " + to_string(rows) + " are too many: at most " + std::to_string(kMostRows) +
                                   " rows are measured of one tensor"};
}

}  // namespace

Result<std::vector<bool>> kept_axes(const By& by) {
  const auto rank = static_cast<std::int64_t>(by.shape.size());
  std::vector<bool> kept(by.shape.size());
  for (const std::int64_t axis : by.axes) {
    const std::int64_t at = axis < 0 ? axis + rank : axis;
    if (at < 0 || at >= rank) {
      return Error{Code::kInvalid, "a tensor of shape " + to_string(by.shape) + " has no axis " + std::to_string(axis)};
    }
    if (kept[static_cast<std::size_t>(at)]) return Error{Code::kInvalid, "axis " + std::to_string(axis) + " is named twice"};
    kept[static_cast<std::size_t>(at)] = true;
  }
  return kept;
}

Result<Shape> row_shape(const By& by) try {
  Shape rows;
  if (by.block_elements != 0) {
    if (!by.axes.empty()) return Error{Code::kInvalid, "rows are by axis or by block, not both"};
    const auto count = element_count(by.shape);
    if (!count) return count.error();
    rows = {*count / by.block_elements + (*count % by.block_elements != 0 ? 1 : 0)};
  } else {
    const auto kept = kept_axes(by);
    if (!kept) return kept.error();
    for (std::size_t axis = 0; axis < by.shape.size(); ++axis) {
      if ((*kept)[axis]) rows.push_back(by.shape[axis]);
    }
  }
  if (Status status = check_rows(rows); !status) return status.error();
  return rows;
} catch (...) {
  return caught();
}

Result<RowPlan> row_plan(const By& by) {
  const auto rows = row_shape(by);
  if (!rows) return rows.error();
  const auto kept = kept_axes(by);
  RowPlan plan;
  plan.rows = *element_count(*rows);
  for (std::size_t axis = 0; axis < by.shape.size(); ++axis) {
    const std::uint64_t length = by.shape[axis];
    const bool is_kept = (*kept)[axis];
    if (length == 1) continue;
    if (plan.groups.empty() || plan.groups.back().is_kept != is_kept) {
      plan.groups.push_back({is_kept, length});
    } else {
      plan.groups.back().length *= length;
    }
  }
  return plan;
}

}  // namespace tensorstat
