// R1, R8 and R9: parameters before the forward, gradients at the step, and what the optimizer writes.
#include "stats/answer/origin/walk.hpp"

namespace tensorstat::origin_rules {

bool Walk::is_of_parameter(const Scene& scene) {
  begin(scene, FaultKind::kParameter, scene.call);
  return true;
}

bool Walk::changed_after_backward(const Scene& scene) {
  if (model_.form == Form::kModules) return made_for_parameter(scene);
  if (scene.given == Given::kUnseen) {
    unknown(scene, scene.call, "what backward made of it is not in the rows");
    return true;
  }
  const std::uint64_t ranks = std::max<std::uint64_t>(hints_.world_size(), around_.ranks.size());
  if (ranks > around_.ranks.size()) {
    unknown(scene, scene.call,
            "it was received from a rank whose rows are not here, or changed between backward and the step");
    faults_.back().may_be_received = true;
  } else {
    begin(scene, FaultKind::kGradient, scene.call).may_be_received = ranks > 1;
  }
  return true;
}

bool Walk::written_by_optimizer(const Scene& scene) {
  const Call& of = call(scene.call);
  std::string_view parameter = text(of.name);
  if (text(of.op_type) == "OptimizerState") parameter = parameter.substr(0, parameter.rfind('/'));
  bool has_gradient = false, has_value = text(of.op_type) == "OptimizerState";
  for (const Call& each : model_.calls) {
    if (text(each.name) != parameter) continue;
    has_gradient |= each.phase == Phase::kGradient;  // which is clean: nothing is open
    has_value |= each.phase == Phase::kParameter;
  }
  for (std::uint32_t at = 0; !has_value && at < scene.row; ++at) {
    has_value = row(at).name == of.name && row(at).rank == of.rank && text(row(at).op_type) == "Parameter";
  }
  if (has_gradient && has_value && hints_.are_gradients_gone(of.rank, of.iteration)) {
    constexpr const char* kWhy =
        "its gradient was zeroed before step() of the watch, which saw it behind backward alone";
    unknown(scene, scene.call, kWhy).next = "call step() between optimizer.step() and optimizer.zero_grad()";
  } else if (has_gradient && has_value) {
    begin(scene, FaultKind::kOptimizer, scene.call);
  } else {
    if (!has_gradient && hints_.has_gradients_off()) {
      unwatched(scene, scene.call, "its gradient is not known", "gradients");
    } else if (!has_gradient && has_value && model_.form == Form::kWatch) {
      unknown(scene, scene.call, "it had no gradient in this step").next =
          "look at what else writes it, such as an average of weights";
    } else {
      unknown(scene, scene.call,
              has_gradient ? "its value before the step is not in the rows" : "its gradient is not in the rows");
    }
  }
  return true;
}

}  // namespace tensorstat::origin_rules
