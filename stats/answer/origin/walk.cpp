#include "stats/answer/origin/walk.hpp"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "stats/answer/origin/ended.hpp"
#include "stats/answer/origin/rules.hpp"

namespace tensorstat::origin_rules {
namespace {

std::vector<Event> events_of(const StepRows& rows) {
  std::vector<Event> events;
  std::uint64_t first_faulty = UINT64_MAX;  // row of backward
  std::uint64_t last_gradient = 0;          // at the end of the step
  for (std::uint32_t i = 0; i < rows.model.calls.size(); ++i) {
    const Call& each = rows.call(i);
    if (each.is_again) continue;
    // An operation without results, such as the question for a tensor's size, makes nothing.
    const bool is_operation = rows.model.form == Form::kWatch && rows.path_of(i).find('/') != std::string_view::npos;
    if (is_operation && each.outputs.empty() && each.phase == Phase::kForward) continue;
    for (const bool is_end : {false, true}) {
      const std::vector<std::uint32_t>& tensors = is_end ? each.outputs : each.inputs;
      if (tensors.empty()) continue;
      Event event{.time = is_end ? each.end : each.begin, .call = i, .is_end = is_end};
      for (const std::uint32_t tensor : tensors) {
        if (!rows.is_faulty(tensor) || (!is_end && rows.is_overwritten(each, tensor))) continue;
        event.faulty_row = tensor;
        break;
      }
      if (rows.model.form != Form::kModules && event.faulty_row != kNoRow) event.time = event.faulty_row;
      if (each.phase >= Phase::kBackward && event.faulty_row != kNoRow)
        first_faulty = std::min(first_faulty, event.time);
      if (each.phase == Phase::kGradient) last_gradient = std::max(last_gradient, event.time);
      events.push_back(event);
    }
  }
  if (rows.model.form == Form::kWatch) {
    // The loss is told when the step ends. The optimizer has read all gradients before it writes a parameter, but their
    // rows stand by parameter.
    for (Event& event : events) {
      const Phase phase = rows.call(event.call).phase;
      if (phase == Phase::kLoss) event.time = std::min(event.time, first_faulty);
      if (phase == Phase::kOptimizer) event.time = std::max(event.time, last_gradient);
    }
  }
  std::ranges::stable_sort(events, [&](const Event& a, const Event& b) {
    const auto place = [&](const Event& event) {
      const Phase phase = rows.call(event.call).phase;
      return std::tuple(event.time, phase != Phase::kLoss, phase == Phase::kOptimizer, event.is_end);
    };
    return place(a) < place(b);
  });
  return events;
}

// The call that made a faulty row, or whose code did.
std::uint32_t maker_of(const StepRows& rows, const Scene& scene) {
  return scene.is_end ? scene.call : rows.call(scene.call).parent;
}

// Whether nothing but containers brought this fault to the call: it may have made another one. Rows of operations show
// what was read.
bool is_brought_by_container(const StepRows& rows, const Fault& fault, std::uint32_t index) {
  if (index == kNoCall || !rows.is_only_held(index)) return false;
  if (rows.hints.watched() && rows.hints.watched()->has_operations) return false;
  return std::ranges::none_of(fault.carriers,
                              [&](std::uint32_t each) { return each != index && rows.model.is_inside(each, index); });
}

// Whether a second run found another maker of what this call gave, which had this fault in a container.
bool is_made_anew(const StepRows& rows, const Fault& fault, std::uint32_t index) {
  if (!is_brought_by_container(rows, fault, index)) return false;
  const Zoom* zoom = rows.zoom_of(zoomed_above(rows, index));
  if (zoom == nullptr || zoom == fault.zoom) return false;
  return fault.kind != FaultKind::kProduced || fault.call == kNoCall || zoom->inside != rows.path_of(fault.call);
}

// Whether a second run showed that the call was given the fault.
bool has_read(const StepRows& rows, std::uint32_t index) {
  for (int steps = 0; index != kNoCall && steps < 64; index = rows.call(index).parent, ++steps) {
    const Zoom* zoom = rows.zoom_of(index);
    if (zoom != nullptr && zoom->result == Zoom::Outcome::kGiven) return true;
  }
  return false;
}

void carry(const StepRows& rows, Fault& fault, const Scene& scene) {
  const std::uint32_t maker = maker_of(rows, scene);
  if (fault.through == kNoCall && scene.phase == Phase::kForward && is_brought_by_container(rows, fault, maker) &&
      !has_read(rows, maker)) {
    const bool is_held_itself = !scene.is_end && rows.is_held(rows.call(scene.call), scene.row);
    if (!is_held_itself) fault.through = maker;
  }
  const Specials specials = rows.fault_of(scene.row);
  if (specials.nan != 0u && !fault.has_nan && fault.turned_by == kNoCall && scene.phase == Phase::kForward) {
    const bool is_at_code = !scene.is_end && rows.call(scene.call).parent != kNoCall;
    fault.turned_by = is_at_code ? rows.call(scene.call).parent : scene.call;
    fault.is_turned_by_own_code = is_at_code;
    fault.turned_row = scene.row;
  }
  fault.has_nan |= specials.nan != 0u;
  fault.has_inf |= specials.inf != 0u;
  fault.carriers.push_back(scene.call);
  if (fault.kind == FaultKind::kLoss && fault.phase == Phase::kLoss && scene.phase == Phase::kForward &&
      !rows.call(scene.call).is_of_loss) {
    fault.kind = FaultKind::kProduced;  // between two models, and not behind the last
    fault.phase = Phase::kForward;
  }
  if (scene.phase >= Phase::kLoss) fault.is_confirmed = true;
}

// A written Inf in the results is clean until a call makes NaN or Inf of it. -Inf that an operation of the loss passes
// on, as log_softmax does, does not count.
bool is_spent_here(const StepRows& rows, const Fault& fault, const Scene& scene) {
  const Call& call = rows.call(scene.call);
  const bool is_loss = scene.phase == Phase::kLoss || (call.is_of_loss && scene.is_end);
  const bool is_handed = scene.phase == Phase::kBackward && !scene.is_end && rows.is_outermost(call);
  const bool is_inf_of_forward = fault.kind == FaultKind::kProduced && fault.phase == Phase::kForward && !fault.has_nan;
  if ((!is_loss && !is_handed) || !is_inf_of_forward) return false;
  const Specials specials = rows.fault_of(scene.row);
  if (call.is_of_loss && !specials.has_nan() && !specials.has_plus_inf) return false;
  return is_inf_written(rows.record, rows.hints, rows.model, fault, rows.around.writers);
}

// If several faults are open, the loss may have been given more than one: each continues.
bool goes_on_in_loss(const StepRows& rows, const Fault& fault, const Scene& scene) {
  if (!fault.is_open || fault.is_spent || fault.phase > Phase::kLoss) return false;
  const auto is_of_loss = [&](std::uint32_t each) { return rows.call(each).is_of_loss; };
  const bool was_given_to_loss = std::ranges::any_of(fault.carriers, is_of_loss);
  if (scene.phase == Phase::kLoss) return was_given_to_loss;
  if (scene.phase >= Phase::kBackward) return was_given_to_loss && fault.is_confirmed;
  return is_of_loss(scene.call) && !scene.is_end && is_in_results(rows, fault);
}

// Whether a fault that is open came here.
bool is_carried(StepRows& rows, const Scene& scene) {
  Fault* carried = nullptr;
  for (Fault& fault : rows.faults) {
    if (!fault.is_open || fault.is_spent) continue;
    if (is_spent_here(rows, fault, scene)) {
      fault.is_spent = true;
      continue;
    }
    const bool is_forward = scene.phase == Phase::kForward;
    // A model's inputs do not come from its parameters.
    if (is_forward && !scene.is_end && rows.model.form == Form::kWatch && rows.is_outermost(rows.call(scene.call)) &&
        fault.kind == FaultKind::kParameter)
      continue;
    // An output comes from its call's inputs, from a call inside, or from a parameter.
    const bool is_call = is_forward || scene.phase == Phase::kBackward;
    if (is_call && scene.is_end && scene.given == InputState::kClean && !rows.has_inside(fault, scene.call)) {
      // A backward uses what its forward saved, and a call may use the parameter of another.
      const bool is_saved = !is_forward && fault.phase <= Phase::kLoss;
      const bool may_share =
          fault.kind == FaultKind::kParameter && !rows.has_children[scene.call] && !found(rows.zoom_of(scene.call));
      if (!is_saved && !may_share) continue;
    }
    if (is_forward && is_made_anew(rows, fault, maker_of(rows, scene))) continue;
    if (scene.phase == Phase::kParameter && fault.kind != FaultKind::kParameter) continue;
    carried = &fault;
  }
  if (carried == nullptr) return false;
  carry(rows, *carried, scene);
  for (Fault& fault : rows.faults) {
    if (&fault != carried && goes_on_in_loss(rows, fault, scene)) carry(rows, fault, scene);
  }
  return true;
}

void add(StepRows& rows, const Scene& scene, Fault fault, const char* rule) {
  if (fault.again_of != nullptr) {
    Fault& again = rows.faults[static_cast<std::size_t>(fault.again_of - rows.faults.data())];
    fault.again_of = nullptr;
    again = std::move(fault);
    return carry(rows, again, scene);
  }
  if (*fault.rule == '\0') fault.rule = rule;
  fault.nth_event = rows.now;
  if (fault.kind == FaultKind::kLoss) {
    const auto spent = std::ranges::find_if(
        rows.faults, [&](const Fault& each) { return each.is_spent && is_in_results(rows, each); });
    if (spent != rows.faults.end()) fault.made_of = &*spent;
  }
  rows.faults.push_back(std::move(fault));
}

void look_at(StepRows& rows, const Event& event) {
  const Call& call = rows.call(event.call);
  if (event.faulty_row == kNoRow)
    return event.is_end ? end_by_outputs(rows, event.call) : end_by_inputs(rows, event.call);
  const Scene scene{event.call, event.faulty_row, event.is_end, rows.rules_of(call), rows.given_to(call)};
  if (rows.row(scene.row).is_parameter) {
    Fault fault = fault_at(scene, rows, FaultKind::kParameter, scene.call);
    fault.phase = Phase::kParameter;
    return add(rows, scene, std::move(fault), "R1");
  }
  if (is_carried(rows, scene)) return;
  // The input of its parent is judged first, whatever the order of the rows.
  if (!event.is_end && call.parent != kNoCall && rows.given_to(rows.call(call.parent)) == InputState::kFaulty) {
    const auto above =
        std::ranges::find_if(rows.events, [&](const Event& each) { return each.call == call.parent && !each.is_end; });
    if (above != rows.events.end() && above - rows.events.begin() > static_cast<std::ptrdiff_t>(rows.now)) {
      look_at(rows, *above);
      if (is_carried(rows, scene)) return;
    }
  }
  for (const Rule& rule : rules()) {
    if (rule.phase != scene.phase || rule.is_end != scene.is_end) continue;
    if (std::optional<Fault> fault = rule.explain(scene, rows)) return add(rows, scene, *std::move(fault), rule.name);
  }
}

}  // namespace

Walked walk(const Record& record, const Hints& hints, const FaultChoice& choice, const Around& around, Model model) {
  StepRows rows(record, hints, choice, around, std::move(model));
  rows.events = events_of(rows);
  for (; rows.now < rows.events.size(); ++rows.now) look_at(rows, rows.events[rows.now]);
  Walked walked;
  walked.verdict = select(rows, walked.is_skipped);
  walked.model = std::move(rows.model);
  walked.faults = std::move(rows.faults);
  return walked;
}

}  // namespace tensorstat::origin_rules
