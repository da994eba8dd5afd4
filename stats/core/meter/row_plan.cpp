#include "stats/core/meter/row_plan.hpp"

#include <string>

#include "stats/core/base/caught.hpp"

namespace tensorstat {
namespace {

Result<std::vector<bool>> axes_of(const By& by) {
  const auto rank = static_cast<std::int64_t>(by.shape.size());
  std::vector<bool> kept(by.shape.size());
  for (const std::int64_t axis : by.axes) {
    const std::int64_t position = axis < 0 ? axis + rank : axis;
    if (position < 0 || position >= rank) {
      return Error{Code::kInvalid, "a tensor of shape " + to_string(by.shape) + " has no axis " + std::to_string(axis)};
    }
    if (kept[static_cast<std::size_t>(position)])
      return Error{Code::kInvalid, "axis " + std::to_string(axis) + " is named twice"};
    kept[static_cast<std::size_t>(position)] = true;
  }
  return kept;
}

Status plan_blocks(const By& by, RowPlan& plan) {
  if (!by.axes.empty()) return Error{Code::kInvalid, "rows are by axis or by block, not both"};
  const auto elements = element_count(by.shape);
  if (!elements) return elements.error();
  plan.shape = {*elements / by.block_elements + (*elements % by.block_elements != 0 ? 1 : 0)};
  return {};
}

Status plan_axes(const By& by, RowPlan& plan) {
  auto kept = axes_of(by);
  if (!kept) return kept.error();
  plan.kept = *std::move(kept);
  for (std::size_t axis = 0; axis < by.shape.size(); ++axis) {
    const std::uint64_t length = by.shape[axis];
    const bool is_kept = plan.kept[axis];
    if (is_kept) plan.shape.push_back(length);
    if (length == 1) continue;
    if (plan.groups.empty() || plan.groups.back().is_kept != is_kept) {
      plan.groups.push_back({is_kept, length});
    } else {
      plan.groups.back().length *= length;
    }
  }
  return {};
}

}  // namespace

Result<RowPlan> row_plan(const By& by) {
  RowPlan plan;
  if (Status status = by.block_elements != 0 ? plan_blocks(by, plan) : plan_axes(by, plan); !status)
    return status.error();
  const auto count = element_count(plan.shape);
  if (!count || *count > kMostRows) {
    return Error{Code::kInvalid, "rows of shape " + to_string(plan.shape) + " are too many: at most " +
                                     std::to_string(kMostRows) + " rows are measured of one tensor"};
  }
  plan.rows = *count;
  return plan;
}

Result<Shape> row_shape(const By& by) try {
  auto plan = row_plan(by);
  if (!plan) return plan.error();
  return std::move(plan->shape);
} catch (...) {
  return caught();
}

Result<std::vector<bool>> kept_axes(const By& by) try {
  auto plan = row_plan(by);
  if (!plan) return plan.error();
  plan->kept.resize(by.shape.size());
  return std::move(plan->kept);
} catch (...) {
  return caught();
}

}  // namespace tensorstat
