// R2 to R4: what comes in, and what the calls of the forward make.
#include <algorithm>

#include "stats/answer/compare/fault_roles.hpp"
#include "stats/answer/origin/ended.hpp"
#include "stats/answer/origin/rules.hpp"

namespace tensorstat::origin_rules {

namespace {

constexpr const char* kNoInputs = "its inputs are not in the rows";

// Whether slots of its inputs are missing among those that have rows.
bool has_gap(const StepRows& rows, const Call& call) {
  std::vector<std::uint32_t> slots;
  for (const std::uint32_t input : call.inputs) slots.push_back(rows.row(input).slot);
  std::ranges::sort(slots);
  for (std::uint32_t i = 0; i < slots.size(); ++i) {
    if (slots[i] != i) return true;
  }
  return false;
}

// Where digests or finite statistics are the same, and not NaN alone.
bool is_surely_overwritten(const StepRows& rows, const Call& call) {
  return std::ranges::any_of(call.inputs, [&](std::uint32_t input) {
    return rows.is_overwritten(call, input) && proves_content(rows.record.statistics(rows.row(input)));
  });
}

// Whether a call may use parameters, and nobody looked at them.
bool may_hold_parameters(const StepRows& rows, std::uint32_t index) {
  const Zoom* zoom = rows.zoom_of(index);
  const bool is_looked_at = zoom != nullptr && zoom->result != Zoom::Outcome::kRefused;
  return rows.hints.has_parameters_off() && !is_looked_at && rows.hints.is_holder(rows.path_of(index));
}

bool is_in(std::string_view path, std::string_view outer) {
  return path.starts_with(outer) && (path.size() == outer.size() || path[outer.size()] == '.');
}

// In a Sequential, a call is given what the call before it gave, and nothing is between them.
bool is_given_clean(const StepRows& rows, std::uint32_t index) {
  const Call& call = rows.call(index);
  const InputState given = rows.given_to(call);
  const Zoom* zoom = rows.zoom_of(index);
  if (given == InputState::kUnseen && zoom != nullptr && zoom->given_finite) return true;
  if (given != InputState::kUnseen || call.parent == kNoCall) return given == InputState::kClean;
  if (!hands_on(rows.text(rows.call(call.parent).op_type))) return false;
  const std::uint32_t before = rows.last_before(call.parent, Phase::kForward, index);
  if (before == kNoCall) return is_given_clean(rows, call.parent);
  const std::vector<std::uint32_t>& outputs = rows.call(before).outputs;
  return !outputs.empty() && std::ranges::none_of(outputs, [&](std::uint32_t each) { return rows.is_faulty(each); });
}

// Why it cannot be told that the code of a call made something behind a call that it contains; "" if it can.
std::string unseen_between(const StepRows& rows, std::uint32_t parent, std::uint32_t after) {
  const auto why = [&](std::uint32_t index, bool is_input) -> std::string {
    const Call& call = rows.call(index);
    const std::string* reason = rows.hints.not_seen(call.rank, call.iteration, rows.name_of(index), is_input);
    if (reason == nullptr) return {};
    return (is_input ? "inputs of " : "results of ") + std::string(rows.path_of(index)) + " are not understood (" +
           *reason + ")";
  };
  if (std::string reason = why(parent, true); !reason.empty()) return reason;
  if (after != kNoCall) {
    if (std::string reason = why(after, false); !reason.empty()) return reason;
  }
  // A call without rows of its results is missing in the model, but watch.ndjson names it.
  return rows.hints.child_not_seen(rows.call(parent).rank, rows.call(parent).iteration, rows.name_of(parent));
}

Fault made_by(const Scene& scene, const StepRows& rows, std::uint32_t last_child) {
  const bool may_hold = may_hold_parameters(rows, scene.call);
  Fault fault = may_hold ? unwatched(scene, rows, scene.call, "a parameter of its own may hold it", "parameters")
                         : fault_at(scene, rows, FaultKind::kProduced, scene.call);
  fault.is_own_code = !may_hold && last_child != kNoCall;
  fault.after = last_child;
  return fault;
}

// An operator of a graph, or a launch.
Fault made_by_operator(const Scene& scene, const StepRows& rows) {
  const Call& call = rows.call(scene.call);
  // A launch has rows of all its buffers. Its other arguments have none.
  const bool is_given_clean = rows.model.form == Form::kLaunches
                                  ? scene.given != InputState::kFaulty
                                  : scene.given == InputState::kClean && !has_gap(rows, call);
  if (is_given_clean) return made_by(scene, rows, kNoCall);
  if (rows.text(call.op_type) == "Tensor")
    return unknown(scene, rows, scene.call, "these are tensors, without the operators that made them");
  const bool is_unclear = scene.given != InputState::kClean && !call.inputs.empty();
  if (is_unclear && is_surely_overwritten(rows, call)) return made_by(scene, rows, kNoCall);
  const char* const why = scene.given == InputState::kClean ? "some of its inputs are not in the rows"
                          : call.inputs.empty()
                              ? kNoInputs
                              : "it wrote over its input, and what that was before is not in the rows";
  Fault fault = unknown(scene, rows, scene.call, why);
  fault.after = rows.last_before(kNoCall, Phase::kForward, scene.call);
  return fault;
}

// A tensor that is not an input holds it.
Fault held_by_tensor(const Scene& scene, const StepRows& rows, const Zoom& zoom, std::uint32_t after) {
  Fault fault;
  if (zoom.held_by.empty()) {
    fault = unknown(scene, rows, scene.call, zoom.why);
    fault.after = after;
  } else if (rows.hints.has_parameters_off() &&
             rows.record.rows().front().iteration < rows.call(scene.call).iteration) {
    const std::string& name = zoom.parameter.empty() ? zoom.held_by : zoom.parameter;
    fault =
        unwatched(scene, rows, scene.call, "the parameter " + name + " holds it, written by something", "parameters");
    fault.zoom = &zoom;
  } else {
    fault = fault_at(scene, rows, FaultKind::kParameter, scene.call);
    fault.rule = "R1";
    fault.phase = Phase::kParameter;
    fault.zoom = &zoom;
  }
  return fault;
}

}  // namespace

std::uint32_t zoomed_above(const StepRows& rows, std::uint32_t index) {
  std::string_view blamed;
  for (int steps = 0; index != kNoCall && steps < 64; index = rows.call(index).parent, ++steps) {
    const Zoom* zoom = rows.zoom_of(index);
    if (zoom == nullptr || zoom->result == Zoom::Outcome::kHeld) return kNoCall;
    if (found(zoom)) {
      const bool is_around = blamed.empty() || zoom->by_container || zoom->inside == rows.path_of(index) ||
                             is_in(blamed, zoom->inside) || is_in(zoom->inside, blamed);
      return is_around ? index : kNoCall;
    }
    if (zoom->result != Zoom::Outcome::kGiven && blamed.empty()) blamed = rows.path_of(index);
  }
  return kNoCall;
}

std::optional<Fault> came_in(const Scene& scene, const StepRows& rows) {
  const Call& call = rows.call(scene.call);
  if (call.parent != kNoCall) return std::nullopt;
  const std::uint32_t before = rows.last_before(kNoCall, Phase::kForward, scene.call);
  const bool is_other = before != kNoCall && rows.path_of(before) != rows.path_of(scene.call);
  Fault fault;
  if (call.has_unseen_parent) {
    fault = unknown(scene, rows, scene.call, "what contains it is not in the rows");
    fault.after = before;
  } else if (!is_other && !rows.sees_code) {
    fault = unknown(scene, rows, scene.call,
                    "it came in with the data, or code of the model before its first module made it");
    fault.phase = Phase::kInput;
  } else if (is_flat(rows.model.form) || !is_other) {
    fault = fault_at(scene, rows, FaultKind::kEntered, scene.call);
    fault.phase = Phase::kInput;
  } else {
    fault = unknown(scene, rows, scene.call, "it came in with the data, or code that is no call of the rows made it");
    fault.after = before;
  }
  return fault;
}

std::optional<Fault> made_by_parent(const Scene& scene, const StepRows& rows) {
  const std::uint32_t parent = rows.call(scene.call).parent;
  if (parent == kNoCall) return std::nullopt;
  const std::uint32_t after = rows.last_before(parent, Phase::kForward, scene.call);
  const std::uint32_t zoomed = zoomed_above(rows, parent);
  std::string why = unseen_between(rows, parent, after);
  const bool is_held = zoomed == kNoCall && rows.is_held(rows.call(scene.call), scene.row);
  if (why.empty() && is_held) why = "it lies in a container: each call that was given that may have written it there";
  const bool is_sure = why.empty() && (zoomed != kNoCall || is_given_clean(rows, parent));
  Fault fault = is_sure ? fault_at(scene, rows, FaultKind::kProduced, parent)
                        : unknown(scene, rows, parent, why.empty() ? kNoInputs : why);
  fault.is_in_container = is_held && !is_sure;
  if (fault.is_in_container) fault.next = "watch(..., level=\"op\") would tell";
  fault.zoom = rows.zoom_of(zoomed);
  fault.is_own_code = true;
  fault.after = after;
  fault.before = scene.call;
  return fault;
}

std::optional<Fault> made_by_call(const Scene& scene, const StepRows& rows) {
  const Call& call = rows.call(scene.call);
  const std::uint32_t last_child =
      rows.has_children[scene.call] ? rows.last_before(scene.call, Phase::kForward, kNoCall) : kNoCall;
  if (std::string why = unseen_between(rows, scene.call, last_child); !why.empty()) {
    Fault fault = unknown(scene, rows, scene.call, std::move(why));
    fault.after = last_child;
    return fault;
  }
  if (is_flat(rows.model.form)) return made_by_operator(scene, rows);
  const Zoom* zoom = rows.zoom_of(scene.call);
  const bool is_held = zoom != nullptr && zoom->result == Zoom::Outcome::kHeld;
  const bool was_given = zoom != nullptr && zoom->result == Zoom::Outcome::kGiven;
  const bool is_clean = scene.given == InputState::kClean || (!was_given && is_given_clean(rows, scene.call));
  const std::uint32_t above = is_held || was_given || found(zoom) ? kNoCall : zoomed_above(rows, scene.call);
  if (above != kNoCall) {
    Fault fault = fault_at(scene, rows, FaultKind::kProduced, scene.call);
    fault.is_own_code = last_child != kNoCall;
    fault.after = last_child;
    fault.zoom = rows.zoom_of(above);
    return fault;
  }
  if (found(zoom) || (is_clean && !is_held)) return made_by(scene, rows, last_child);
  // Its inputs have no rows, or a tensor that is not an input holds it.
  const std::uint32_t after = rows.last_before(call.parent, Phase::kForward, scene.call);
  if (is_held) return held_by_tensor(scene, rows, *zoom, after);
  Fault fault;
  if (was_given && call.parent != kNoCall) {
    const std::uint32_t zoomed = zoomed_above(rows, call.parent);
    const bool is_sure = zoomed != kNoCall || is_given_clean(rows, call.parent);
    fault = is_sure ? fault_at(scene, rows, FaultKind::kProduced, call.parent)
                    : unknown(scene, rows, call.parent, kNoInputs);
    fault.rule = "R4";
    fault.zoom = rows.zoom_of(zoomed);
    fault.is_own_code = true;
    fault.after = after;
    fault.before = scene.call;
    return fault;
  }
  fault = unknown(scene, rows, scene.call, kNoInputs);
  fault.after = last_child != kNoCall ? last_child : after;
  return fault;
}

std::optional<Fault> written_by_forward(const Scene& scene, const StepRows& rows) {
  const std::string_view owner = rows.owner_of(rows.name_of(scene.call));
  std::uint32_t forward = kNoCall;
  for (std::uint32_t i = 0; i < rows.model.calls.size(); ++i) {
    const Call& each = rows.call(i);
    if (each.phase != Phase::kForward || each.is_again || each.is_of_loss) continue;
    if (rows.path_of(i) == owner || (owner.empty() && rows.is_outermost(each))) forward = i;
  }
  if (forward == kNoCall) {
    Fault fault = unknown(scene, rows, scene.call, "its module has no forward in the rows");
    fault.next = "look at what else writes it";
    return fault;
  }
  const Fault* ended =
      last_ended(rows, [&](const Fault& each) { return each.has_nan && is_same_module(rows, each, forward); });
  if (ended != nullptr) {
    Fault again = *ended;
    again.is_open = again.came_again = true;
    again.buffer_row = scene.row;
    again.again_of = ended;
    return again;
  }
  Fault fault = fault_at(scene, rows, FaultKind::kProduced, forward);
  fault.phase = Phase::kForward;
  return fault;
}

}  // namespace tensorstat::origin_rules
