// R5 and R6: the loss, and the gradient that it hands to the model.
#include <algorithm>
#include <span>

#include "stats/answer/origin/ended.hpp"
#include "stats/answer/origin/rules.hpp"

namespace tensorstat::origin_rules {

std::optional<Fault> made_in_loss(const Scene& scene, const StepRows& rows) {
  if (!rows.call(scene.call).is_of_loss) return std::nullopt;
  Fault fault = fault_at(scene, rows, FaultKind::kLoss, scene.call);
  fault.is_of_backward = fault.phase == Phase::kBackward;
  if (!fault.is_of_backward) {
    fault.phase = Phase::kLoss;
    return fault;
  }
  fault.back_of = last_ended(rows, [&](const Fault& ended) { return is_same_module(rows, ended, scene.call); });
  if (auto again = brought_back(scene, rows, fault.back_of, scene.call)) return again;
  return fault;
}

std::optional<Fault> made_by_loss(const Scene& scene, const StepRows& rows) {
  bool has_results = false;
  for (std::uint32_t i = 0; i < rows.model.calls.size(); ++i) {
    const Call& each = rows.call(i);
    if (each.phase != Phase::kForward || !rows.is_outermost(each) || each.is_again) continue;
    if (const std::string* why = rows.hints.not_seen(each.rank, each.iteration, rows.text(each.name), false)) {
      return unknown(scene, rows, scene.call,
                     "results of " + std::string(rows.path_of(i)) + " are not understood (" + *why + ")");
    }
    has_results |= !each.outputs.empty();
  }
  if (has_results) return fault_at(scene, rows, FaultKind::kLoss, scene.call);
  return unknown(scene, rows, scene.call, "the results of the model are not in the rows");
}

namespace {

// Whether the model may have used this result itself, as it does the keys of a cache that it gives back: the gradient
// then has a part from inside. It has one only if backward has been inside of the call already.
bool may_come_from_inside(const Scene& scene, const StepRows& rows) {
  const Call& call = rows.call(scene.call);
  const Zoom* zoom = rows.hints.zoom_because_of(call.rank, call.iteration, rows.text(call.name));
  if (zoom != nullptr && zoom->result == Zoom::Outcome::kGiven) return false;
  return std::ranges::any_of(std::span(rows.events).first(rows.now), [&](const Event& each) {
    return rows.call(each.call).phase == Phase::kBackward && rows.model.is_inside(each.call, scene.call);
  });
}

}  // namespace

std::optional<Fault> handed_by_loss(const Scene& scene, const StepRows& rows) {
  const Call& call = rows.call(scene.call);
  if (call.parent != kNoCall) return std::nullopt;
  const std::uint32_t before = rows.last_before(kNoCall, Phase::kBackward, scene.call);
  const bool is_other = before != kNoCall && rows.path_of(before) != rows.path_of(scene.call);
  Fault fault;
  if (const Zoom* zoom = zoom_of_backward(rows, scene.call); found(zoom)) {
    fault = fault_at(scene, rows, FaultKind::kProduced, scene.call);
    fault.zoom = zoom;
  } else if (call.has_unseen_parent || is_other) {
    fault = unknown(scene, rows, scene.call,
                    call.has_unseen_parent ? "what contains it is not in the rows"
                                           : "code that is no call of the rows, or a sum of gradients, made it");
    fault.after = before;
  } else if (may_come_from_inside(scene, rows)) {
    fault = unknown(scene, rows, scene.call,
                    "the gradient of a result that the model may use itself: code of the model made it, or the loss");
  } else if (!rows.sees_code) {
    fault = unknown(scene, rows, scene.call,
                    "what follows made it: the loss, its backward, or code of the model behind its last module");
  } else {
    fault = fault_at(scene, rows, FaultKind::kLoss, rows.loss_call());
    fault.is_of_backward = true;
    fault.has_no_loss = fault.call == kNoCall;
  }
  fault.back_of = last_ended(
      rows, [&](const Fault& ended) { return ended.ended_by == kNoCall || is_same_module(rows, ended, scene.call); });
  if (fault.back_of != nullptr && is_in_results(rows, *fault.back_of)) {
    if (auto again = brought_back(scene, rows, fault.back_of, kNoCall)) return again;
  }
  return fault;
}

}  // namespace tensorstat::origin_rules
