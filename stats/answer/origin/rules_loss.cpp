// R5 and R6: the loss, and the gradient that it hands to the model.
#include "stats/answer/origin/walk.hpp"

namespace tensorstat::origin_rules {

bool Walk::made_in_loss(const Scene& scene) {
  if (!call(scene.call).is_of_loss) return false;
  Fault& fault = begin(scene, FaultKind::kLoss, scene.call);
  fault.is_of_backward = fault.phase == Phase::kBackward;
  if (!fault.is_of_backward) fault.phase = Phase::kLoss;
  return true;
}

bool Walk::made_by_loss(const Scene& scene) {
  bool has_results = false;
  for (std::uint32_t i = 0; i < model_.calls.size(); ++i) {
    const Call& each = call(i);
    if (each.phase != Phase::kForward || !is_outermost(each) || each.is_again) continue;
    if (const std::string* why = hints_.not_seen(each.rank, each.iteration, text(each.name), false)) {
      unknown(
          scene, scene.call,
          "results of " + std::string(path_of(model_.form, text(each.name))) + " are not understood (" + *why + ")");
      return true;
    }
    has_results |= !each.outputs.empty();
  }
  if (has_results) {
    begin(scene, FaultKind::kLoss, scene.call);
  } else {
    unknown(scene, scene.call, "the results of the model are not in the rows");
  }
  return true;
}

bool Walk::handed_by_loss(const Scene& scene) {
  const Call& of = call(scene.call);
  if (of.parent != kNoCall) return false;
  const std::uint32_t before = last_before(kNoCall, Phase::kBackward, scene.call);
  const bool is_other =
      before != kNoCall && path_of(model_.form, name_of(before)) != path_of(model_.form, name_of(scene.call));
  Fault* fault = nullptr;
  if (of.has_unseen_parent || is_other) {
    fault = &unknown(scene, scene.call,
                     of.has_unseen_parent ? "what contains it is not in the rows"
                                          : "code that is no call of the rows, or a sum of gradients, made it");
    fault->after = before;
  } else if (!sees_code_) {
    fault = &unknown(scene, scene.call,
                     "what follows made it: the loss, its backward, or code of the model behind its last module");
  } else {
    fault = &begin(scene, FaultKind::kLoss, loss_call());
    fault->is_of_backward = true;
    fault->has_no_loss = fault->call == kNoCall;
  }
  fault->back_of =
      last_ended([&](const Fault& ended) { return ended.ended_by == kNoCall || is_same_module(ended, scene.call); });
  return true;
}

std::uint32_t Walk::loss_call() const {
  for (std::uint32_t i = 0; i < model_.calls.size(); ++i) {
    if (call(i).phase == Phase::kLoss) return i;
  }
  return kNoCall;
}

}  // namespace tensorstat::origin_rules
