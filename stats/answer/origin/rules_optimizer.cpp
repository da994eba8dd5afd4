// R1, R8 and R9: parameters before the forward, gradients at the step, and what the optimizer writes.
#include <algorithm>

#include "stats/answer/origin/rules.hpp"
#include "stats/data/rows/names/row_kind.hpp"

namespace tensorstat::origin_rules {

std::optional<Fault> is_of_parameter(const Scene& scene, const StepRows& rows) {
  return fault_at(scene, rows, FaultKind::kParameter, scene.call);
}

std::optional<Fault> changed_after_backward(const Scene& scene, const StepRows& rows) {
  if (rows.model.form == Form::kModules) return made_for_parameter(scene, rows);
  if (scene.given == InputState::kUnseen)
    return unknown(scene, rows, scene.call, "what backward made of it is not in the rows");
  const std::uint64_t ranks = std::max<std::uint64_t>(rows.hints.world_size(), rows.around.ranks.size());
  const bool are_all_here = ranks <= rows.around.ranks.size();
  Fault fault = are_all_here
                    ? fault_at(scene, rows, FaultKind::kGradient, scene.call)
                    : unknown(scene, rows, scene.call,
                              "it was received from a rank whose rows are not here, or changed between backward and "
                              "the step");
  fault.may_be_received = ranks > 1;
  return fault;
}

std::optional<Fault> written_by_optimizer(const Scene& scene, const StepRows& rows) {
  const Call& call = rows.call(scene.call);
  std::string_view parameter = rows.text(call.name);
  const bool is_state = row_kind(rows.text(call.op_type)) == RowKind::kOptimizerState;
  if (is_state) parameter = parameter.substr(0, parameter.rfind('/'));
  bool has_gradient = false, has_value = is_state;
  for (const Call& each : rows.model.calls) {
    if (rows.text(each.name) != parameter) continue;
    has_gradient |= each.phase == Phase::kGradient;  // which is clean: nothing is open
    has_value |= each.phase == Phase::kParameter;
  }
  for (std::uint32_t index = 0; !has_value && index < scene.row; ++index) {
    const RecordRow& row = rows.row(index);
    has_value =
        row.name == call.name && row.rank == call.rank && row_kind(rows.text(row.op_type)) == RowKind::kParameter;
  }
  if (has_gradient && has_value && rows.hints.are_gradients_gone(call.rank, call.iteration)) {
    Fault fault = unknown(scene, rows, scene.call,
                          "its gradient was zeroed before step() of the watch, which saw it behind backward alone");
    fault.next = "call step() between optimizer.step() and optimizer.zero_grad()";
    return fault;
  }
  if (has_gradient && has_value) return fault_at(scene, rows, FaultKind::kOptimizer, scene.call);
  if (has_gradient) return unknown(scene, rows, scene.call, "its value before the step is not in the rows");
  if (rows.hints.has_gradients_off())
    return unwatched(scene, rows, scene.call, "its gradient is not known", "gradients");
  if (!has_value || rows.model.form != Form::kWatch)
    return unknown(scene, rows, scene.call, "its gradient is not in the rows");
  Fault fault = unknown(scene, rows, scene.call, "it had no gradient in this step");
  fault.next = "look at what else writes it, such as an average of weights";
  return fault;
}

}  // namespace tensorstat::origin_rules
