// R6a to R6c: what the backward of a call makes.
#include "stats/answer/origin/ended.hpp"
#include "stats/answer/origin/rules.hpp"

namespace tensorstat::origin_rules {
namespace {

// The backward of the module that has the parameter; of the outermost call, where no module has it.
std::uint32_t backward_of(const StepRows& rows, std::string_view owner) {
  std::uint32_t backward = kNoCall;
  for (std::uint32_t i = 0; i < rows.model.calls.size(); ++i) {
    const Call& each = rows.call(i);
    if (each.phase != Phase::kBackward) continue;
    if (rows.path_of(i) == owner || (owner.empty() && rows.is_outermost(each))) backward = i;
  }
  return backward;
}

}  // namespace

const Zoom* zoom_of_backward(const StepRows& rows, std::uint32_t index) {
  const Call& call = rows.call(index);
  const Zoom* zoom = rows.hints.zoom_because_of(call.rank, call.iteration, rows.text(call.name));
  if (zoom == nullptr) zoom = rows.zoom_of(index);
  return found(zoom) || (zoom != nullptr && zoom->result == Zoom::Outcome::kRefused) ? zoom : nullptr;
}

std::optional<Fault> made_by_parents_backward(const Scene& scene, const StepRows& rows) {
  const std::uint32_t parent = rows.call(scene.call).parent;
  if (parent == kNoCall) return std::nullopt;
  const std::uint32_t after = rows.last_before(parent, Phase::kBackward, scene.call);
  const bool is_after_seen = after == kNoCall || !rows.call(after).outputs.empty();
  const Zoom* zoom = zoom_of_backward(rows, scene.call);
  Fault fault;
  if (!is_after_seen && hands_on(rows.text(rows.call(parent).op_type))) {
    fault = fault_at(scene, rows, FaultKind::kProduced, after);  // nothing else is between them
  } else if (found(zoom) || (is_after_seen && rows.given_to(rows.call(parent)) == InputState::kClean)) {
    fault = fault_at(scene, rows, FaultKind::kProduced, parent);
    fault.is_own_code = true;
  } else {
    fault = unknown(scene, rows, is_after_seen ? parent : after, "the gradients between them are not in the rows");
  }
  fault.zoom = zoom;
  if (fault.call != after || fault.kind == FaultKind::kUnknown) fault.after = after;
  fault.before = scene.call;
  fault.back_of = last_ended(rows, [&](const Fault& ended) {
    return is_same_module(rows, ended, fault.call) || is_same_module(rows, ended, scene.call);
  });
  if (auto again = brought_back(scene, rows, fault.back_of, fault.call)) return again;
  return fault;
}

std::optional<Fault> made_in_backward(const Scene& scene, const StepRows& rows) {
  const std::uint32_t last_child =
      rows.has_children[scene.call] ? rows.last_before(scene.call, Phase::kBackward, kNoCall) : kNoCall;
  const Zoom* zoom = zoom_of_backward(rows, scene.call);
  Fault fault;
  if (scene.given == InputState::kClean || found(zoom)) {
    fault = fault_at(scene, rows, FaultKind::kProduced, scene.call);
    fault.is_own_code = last_child != kNoCall;
    fault.after = last_child;
    fault.zoom = zoom;
  } else {
    fault = unknown(scene, rows, scene.call, "the gradients of its results are not in the rows");
    fault.after = rows.last_before(rows.call(scene.call).parent, Phase::kBackward, scene.call);
  }
  fault.back_of = last_ended(rows, [&](const Fault& ended) { return is_same_module(rows, ended, scene.call); });
  if (auto again = brought_back(scene, rows, fault.back_of, scene.call)) return again;
  return fault;
}

std::optional<Fault> made_for_parameter(const Scene& scene, const StepRows& rows) {
  const std::uint32_t backward = backward_of(rows, rows.owner_of(rows.name_of(scene.call)));
  const Zoom* zoom = zoom_of_backward(rows, scene.call);
  Fault fault;
  if (backward != kNoCall && (found(zoom) || rows.given_to(rows.call(backward)) == InputState::kClean)) {
    fault = fault_at(scene, rows, FaultKind::kProduced, backward);
    fault.zoom = zoom;
    fault.back_of = last_ended(rows, [&](const Fault& ended) { return is_same_module(rows, ended, backward); });
  } else {
    fault = unknown(scene, rows, backward == kNoCall ? scene.call : backward,
                    "the gradients that its module was given are not in the rows");
    fault.back_of = last_ended(rows, [](const Fault&) { return true; });
  }
  fault.phase = Phase::kBackward;
  if (fault.back_of != nullptr && is_same_module(rows, *fault.back_of, backward)) {
    if (auto again = brought_back(scene, rows, fault.back_of, backward)) return again;
  }
  return fault;
}

}  // namespace tensorstat::origin_rules
