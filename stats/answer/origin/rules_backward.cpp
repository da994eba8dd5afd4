// R6a to R6c: what the backward of a call makes.
#include "stats/answer/origin/walk.hpp"

namespace tensorstat::origin_rules {

bool Walk::made_by_parents_backward(const Scene& scene) {
  const std::uint32_t parent = call(scene.call).parent;
  if (parent == kNoCall) return false;
  const std::uint32_t after = last_before(parent, Phase::kBackward, scene.call);
  const bool is_after_seen = after == kNoCall || !call(after).outputs.empty();
  Fault* fault = nullptr;
  const Zoom* zoom = zoom_of_backward(scene.call);
  if (!is_after_seen && hands_on(text(call(parent).op_type))) {
    fault = &begin(scene, FaultKind::kProduced, after);  // nothing else is between them
  } else if (found(zoom) || (is_after_seen && given_to(call(parent)) == Given::kClean)) {
    fault = &begin(scene, FaultKind::kProduced, parent);
    fault->is_own_code = true;
  } else {
    fault = &unknown(scene, is_after_seen ? parent : after, "the gradients between them are not in the rows");
  }
  fault->zoom = zoom;
  if (fault->call != after) fault->after = after;
  fault->before = scene.call;
  fault->back_of = last_ended(
      [&](const Fault& ended) { return is_same_module(ended, fault->call) || is_same_module(ended, scene.call); });
  return true;
}

bool Walk::made_in_backward(const Scene& scene) {
  const std::uint32_t last_child =
      has_children_[scene.call] ? last_before(scene.call, Phase::kBackward, kNoCall) : kNoCall;
  const Zoom* zoom = zoom_of_backward(scene.call);
  if (scene.given == Given::kClean || found(zoom)) {
    Fault& fault = begin(scene, FaultKind::kProduced, scene.call);
    fault.is_own_code = last_child != kNoCall;
    fault.after = last_child;
    fault.zoom = zoom;
  } else {
    unknown(scene, scene.call, "the gradients of its results are not in the rows").after =
        last_before(call(scene.call).parent, Phase::kBackward, scene.call);
  }
  faults_.back().back_of = last_ended([&](const Fault& ended) { return is_same_module(ended, scene.call); });
  return true;
}

bool Walk::made_for_parameter(const Scene& scene) {
  const std::string owner(owner_of(name_of(scene.call)));
  std::uint32_t backward = kNoCall;
  for (std::uint32_t i = 0; i < model_.calls.size(); ++i) {
    const Call& each = call(i);
    if (each.phase != Phase::kBackward) continue;
    const std::string_view path = path_of(model_.form, text(each.name));
    if (path == owner || (owner.empty() && is_outermost(each))) backward = i;
  }
  const Zoom* zoom = zoom_of_backward(scene.call);
  if (backward != kNoCall && (found(zoom) || given_to(call(backward)) == Given::kClean)) {
    Fault& fault = begin(scene, FaultKind::kProduced, backward);
    fault.phase = Phase::kBackward;
    fault.zoom = zoom;
    fault.back_of = last_ended([&](const Fault& ended) { return is_same_module(ended, backward); });
  } else {
    Fault& fault = unknown(scene, backward == kNoCall ? scene.call : backward,
                           "the gradients that its module was given are not in the rows");
    fault.phase = Phase::kBackward;
    fault.back_of = last_ended([](const Fault&) { return true; });
  }
  return true;
}

const Zoom* Walk::zoom_of_backward(std::uint32_t at) const {
  const Call& of = call(at);
  if (const Zoom* zoom = hints_.zoom_because_of(of.rank, of.iteration, text(of.name)))
    return found(zoom) ? zoom : nullptr;
  const Zoom* zoom = zoom_of(at);
  return found(zoom) ? zoom : nullptr;
}

bool Walk::is_same_module(const Fault& ended, std::uint32_t backward) const {
  if (backward == kNoCall) return false;
  const std::string_view path = path_of(model_.form, name_of(backward));
  const auto is = [&](std::uint32_t at) { return at != kNoCall && path_of(model_.form, name_of(at)) == path; };
  return is(ended.call) || is(ended.ended_by) || std::ranges::any_of(ended.carriers, is);
}

}  // namespace tensorstat::origin_rules
