// R2 to R4: what comes in, and what the calls of the forward make.
#include "stats/answer/origin/walk.hpp"

namespace tensorstat::origin_rules {

namespace {

bool has_gap_in(std::vector<std::uint32_t> slots) {
  std::ranges::sort(slots);
  for (std::uint32_t i = 0; i < slots.size(); ++i) {
    if (slots[i] != i) return true;
  }
  return false;
}

}  // namespace

bool Walk::came_in(const Scene& scene) {
  const Call& of = call(scene.call);
  if (of.parent != kNoCall) return false;
  const std::uint32_t before = last_before(kNoCall, Phase::kForward, scene.call);
  if (of.has_unseen_parent) {
    unknown(scene, scene.call, "what contains it is not in the rows").after = before;
    return true;
  }
  const bool is_other =
      before != kNoCall && path_of(model_.form, name_of(before)) != path_of(model_.form, name_of(scene.call));
  if (!is_other && !sees_code_) {
    unknown(scene, scene.call, "it came in with the data, or code of the model before its first module made it").phase =
        Phase::kInput;
    return true;
  }
  if (is_flat(model_.form) || !is_other) {
    begin(scene, FaultKind::kEntered, scene.call).phase = Phase::kInput;
    return true;
  }
  unknown(scene, scene.call, "it came in with the data, or code that is no call of the rows made it").after = before;
  return true;
}

bool Walk::made_by_parent(const Scene& scene) {
  const std::uint32_t parent = call(scene.call).parent;
  if (parent == kNoCall) return false;
  const std::uint32_t after = last_before(parent, Phase::kForward, scene.call);
  const std::uint32_t zoomed = zoomed_above(parent);
  Fault* fault = nullptr;
  if (const std::string why = unseen_between(parent, after); !why.empty()) {
    fault = &unknown(scene, parent, why);
  } else if (is_given_clean(parent) || zoomed != kNoCall) {
    fault = &begin(scene, FaultKind::kProduced, parent);
  } else {
    fault = &unknown(scene, parent, "its inputs are not in the rows");
  }
  fault->zoom = zoom_of(zoomed);
  fault->is_own_code = true;
  fault->after = after;
  fault->before = scene.call;
  return true;
}

bool Walk::made_by_call(const Scene& scene) {
  const Call& of = call(scene.call);
  const std::uint32_t last_child =
      has_children_[scene.call] ? last_before(scene.call, Phase::kForward, kNoCall) : kNoCall;
  if (const std::string why = unseen_between(scene.call, last_child); !why.empty()) {
    unknown(scene, scene.call, why).after = last_child;
    return true;
  }
  const auto by_call = [&] {
    if (may_hold_parameters(scene.call)) {
      unwatched(scene, scene.call, "a parameter of its own may hold it", "parameters").after = last_child;
      return;
    }
    Fault& fault = begin(scene, FaultKind::kProduced, scene.call);
    fault.is_own_code = last_child != kNoCall;
    fault.after = last_child;
  };
  if (is_flat(model_.form)) {
    // A launch has rows of all that it was given. Arguments that are no buffers have none.
    if (model_.form == Form::kLaunches ? scene.given != Given::kFaulty : scene.given == Given::kClean && !has_gap(of)) {
      return by_call(), true;
    }
    const std::uint32_t before = last_before(kNoCall, Phase::kForward, scene.call);
    if (text(of.op_type) == "Tensor") {
      unknown(scene, scene.call, "these are tensors, without the operators that made them");
    } else if (scene.given == Given::kClean) {
      unknown(scene, scene.call, "some of its inputs are not in the rows").after = before;
    } else if (of.inputs.empty()) {
      unknown(scene, scene.call, "its inputs are not in the rows").after = before;
    } else if (is_surely_overwritten(of)) {
      by_call();
    } else {
      unknown(scene, scene.call, "it wrote over its input, and what that was before is not in the rows").after = before;
    }
    return true;
  }
  const Zoom* zoom = zoom_of(scene.call);
  const bool is_held = zoom != nullptr && zoom->found == Zoom::Found::kHeld;
  if (scene.given == Given::kClean && !is_held) return by_call(), true;
  // Its inputs are not there, or a tensor that is none of them holds it.
  const bool was_given = zoom != nullptr && zoom->found == Zoom::Found::kGiven;
  if (found(zoom) || (!was_given && !is_held && is_given_clean(scene.call))) return by_call(), true;
  const std::uint32_t after = last_before(of.parent, Phase::kForward, scene.call);
  if (is_held) {
    if (zoom->held_by.empty()) {
      unknown(scene, scene.call, zoom->why).after = after;
    } else if (hints_.has_parameters_off() && record_.rows().front().iteration < of.iteration) {
      const std::string& name = zoom->parameter.empty() ? zoom->held_by : zoom->parameter;
      unwatched(scene, scene.call, "the parameter " + name + " holds it, written by something", "parameters").zoom =
          zoom;
    } else {
      Fault& fault = begin(scene, "R1", FaultKind::kParameter, scene.call);
      fault.phase = Phase::kParameter;
      fault.zoom = zoom;
    }
    return true;
  }
  if (was_given && of.parent != kNoCall) {
    const std::uint32_t zoomed = zoomed_above(of.parent);
    const bool is_sure = zoomed != kNoCall || is_given_clean(of.parent);
    rule_ = "R4";
    Fault& fault = is_sure ? begin(scene, FaultKind::kProduced, of.parent)
                           : unknown(scene, of.parent, "its inputs are not in the rows");
    fault.zoom = zoom_of(zoomed);
    fault.is_own_code = true;
    fault.after = after;
    fault.before = scene.call;
    return true;
  }
  unknown(scene, scene.call, "its inputs are not in the rows").after = last_child != kNoCall ? last_child : after;
  return true;
}

bool Walk::may_hold_parameters(std::uint32_t at) const {
  const Zoom* zoom = zoom_of(at);
  const bool is_looked_at = zoom != nullptr && zoom->found != Zoom::Found::kRefused;
  if (!hints_.has_parameters_off() || is_looked_at) return false;
  return hints_.is_holder(path_of(model_.form, name_of(at)));
}

std::uint32_t Walk::zoomed_above(std::uint32_t at) const {
  for (int steps = 0; at != kNoCall && steps < 64; at = call(at).parent, ++steps) {
    const Zoom* zoom = zoom_of(at);
    if (found(zoom)) return at;
    if (zoom == nullptr || zoom->found != Zoom::Found::kGiven) return kNoCall;
  }
  return kNoCall;
}

bool Walk::is_given_clean(std::uint32_t at) const {
  const Call& of = call(at);
  const Given given = given_to(of);
  const Zoom* zoom = zoom_of(at);
  if (given == Given::kUnseen && zoom != nullptr && zoom->given_finite) return true;
  if (given != Given::kUnseen || of.parent == kNoCall) return given == Given::kClean;
  if (!hands_on(text(call(of.parent).op_type))) return false;
  const std::uint32_t before = last_before(of.parent, Phase::kForward, at);
  return before == kNoCall ? is_given_clean(of.parent) : is_clean(call(before).outputs);
}

std::string Walk::unseen_between(std::uint32_t parent, std::uint32_t after) const {
  const auto why = [&](std::uint32_t at, bool is_input) -> std::string {
    const std::string* said = hints_.not_seen(call(at).rank, call(at).iteration, name_of(at), is_input);
    if (said == nullptr) return {};
    return (is_input ? "inputs of " : "results of ") + std::string(path_of(model_.form, name_of(at))) +
           " are not understood (" + *said + ")";
  };
  if (std::string said = why(parent, true); !said.empty()) return said;
  if (after != kNoCall) {
    if (std::string said = why(after, false); !said.empty()) return said;
  }
  // A call without rows of its results is no call of the model, but watch.ndjson names it.
  return hints_.child_not_seen(call(parent).rank, call(parent).iteration, name_of(parent));
}

bool Walk::has_gap(const Call& of) const {
  std::vector<std::uint32_t> slots;
  for (const std::uint32_t input : of.inputs) slots.push_back(row(input).slot);
  return has_gap_in(std::move(slots));
}

}  // namespace tensorstat::origin_rules
