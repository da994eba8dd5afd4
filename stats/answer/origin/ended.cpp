#include "stats/answer/origin/ended.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "stats/answer/origin/reasons.hpp"
#include "stats/answer/origin/rules.hpp"
#include "stats/data/rows/names/op_name.hpp"

namespace tensorstat::origin_rules {
namespace {

void end(Fault& fault, std::uint32_t by) {
  fault.is_open = false;
  fault.ended_by = by;
}

void end_of_forward(StepRows& rows, bool is_by_loss) {
  for (Fault& fault : rows.faults) {
    const bool is_of_forward = fault.phase <= Phase::kLoss && fault.kind != FaultKind::kParameter;
    if (fault.is_open && !fault.is_confirmed && is_of_forward && (is_by_loss || !fault.has_nan)) end(fault, kNoCall);
  }
}

void doubt(Fault& fault, std::string reason, std::string next) {
  fault.kind = FaultKind::kUnknown;
  fault.reason = std::move(reason);
  fault.next = std::move(next);
}

// Whether the own code of a call may have written its -Inf, as a mask is written: no operation is known.
bool may_be_written(const StepRows& rows, const Fault& fault) {
  const Specials specials = rows.fault_of(fault.row);
  return rows.model.form == Form::kWatch && fault.is_own_code && !found(fault.zoom) &&
         !found(rows.zoom_of(fault.call)) && !specials.has_nan() && !specials.has_plus_inf;
}

// Whether results of the model hold the fault, and backward gave none of them a gradient.
bool is_unused(const StepRows& rows, const Fault& fault) {
  bool has_results = false, has_backward = false;
  for (const std::uint32_t carrier : fault.carriers) {
    const Call& call = rows.call(carrier);
    if (call.phase != Phase::kForward || !rows.is_outermost(call)) continue;
    const std::string_view path = path_of(rows.model.form, rows.name_of(carrier));
    for (const std::uint32_t result : call.outputs) {
      if (!rows.is_faulty(result)) continue;
      has_results = true;
      for (const Call& backward : rows.model.calls) {
        if (backward.phase != Phase::kBackward || path_of(rows.model.form, rows.text(backward.name)) != path) continue;
        has_backward = true;
        const auto is_of_result = [&](std::uint32_t gradient) {
          return rows.row(gradient).slot == rows.row(result).slot;
        };
        if (std::ranges::any_of(backward.inputs, is_of_result)) return false;
      }
    }
  }
  return has_results && has_backward;
}

bool is_skipped_step(const StepRows& rows, const Call& call) {
  if (rows.hints.was_told_by_check(call.rank, call.iteration)) return false;  // the training skipped it for the fault
  if (rows.hints.wrote_nothing(call.rank, call.iteration)) return true;
  if (rows.model.form != Form::kWatch || rows.hints.is_of_watch() || !rows.around.has_written) return false;
  return std::ranges::none_of(rows.model.calls, [](const Call& each) { return each.phase == Phase::kOptimizer; });
}

// An output grew step by step and became Inf beyond its dtype. The inputs of its call have no rows.
bool is_overflow(const StepRows& rows, const Fault& fault) {
  if (fault.phase != Phase::kForward || rows.row(fault.row).is_input || !fault.next.empty()) return false;
  if (rows.fault_of(fault.row).nan != 0u) return false;  // the loss may have made NaN of the Inf
  return !reason_of_growth(rows.record, rows.row(fault.row)).empty();
}

}  // namespace

void end_by_inputs(StepRows& rows, std::uint32_t index) {
  const Call& call = rows.call(index);
  // The loss was given an Inf and hands back clean gradients: the Inf ended. A NaN proves nothing: a sum has clean
  // gradients.
  if (!is_flat(rows.model.form) && call.phase == Phase::kBackward && rows.is_outermost(call) &&
      rows.loss_call() == kNoCall)
    end_of_forward(rows, false);
}

void end_by_outputs(StepRows& rows, std::uint32_t index) {
  const Call& call = rows.call(index);
  if (call.phase == Phase::kLoss) return end_of_forward(rows, true);
  const Phase phase = rows.rules_of(call);
  if (phase != Phase::kForward && phase != Phase::kBackward) return;
  if (rows.hints.not_seen(call.rank, call.iteration, rows.text(call.name), false) != nullptr) return;
  // A container may pass values to another call.
  const bool is_given =
      rows.given_to(call) == InputState::kFaulty && (call.parent == kNoCall || !rows.is_only_held(index));
  for (Fault& fault : rows.faults) {
    // A launch may look at a part of a buffer: that its results are clean says nothing of a NaN.
    if (rows.model.form == Form::kLaunches && fault.has_nan) continue;
    if (!fault.is_open || fault.is_confirmed || fault.kind == FaultKind::kParameter) continue;
    if ((fault.phase >= Phase::kBackward) != (phase == Phase::kBackward)) continue;
    const bool was_given = is_given && std::ranges::count(fault.carriers, index) != 0;
    const bool is_all_inside =
        std::ranges::all_of(fault.carriers, [&](std::uint32_t each) { return rows.model.is_inside(each, index); });
    if (was_given || is_all_inside) end(fault, index);
  }
}

const Fault* select(StepRows& rows, bool& is_skipped) {
  bool has_loss = false, has_gradients = false, has_step = false;
  for (const Call& each : rows.model.calls) {
    if (is_flat(rows.model.form)) break;
    has_loss |= each.phase == Phase::kLoss;
    has_gradients |= each.phase == Phase::kBackward || each.phase == Phase::kGradient;
    has_step |= each.phase == Phase::kOptimizer;
  }
  bool has_nan = false;
  for (const Fault& fault : rows.faults) has_nan |= fault.has_nan && (fault.is_open || fault.is_confirmed);
  const Fault* best = nullptr;
  const auto rank_of = [&](const Fault& fault) {  // the least is taken
    const bool is_mere_inf = has_nan && !fault.has_nan;
    return std::tuple(fault.is_received, is_mere_inf, !fault.is_confirmed);
  };
  for (Fault& fault : rows.faults) {
    bool counts = fault.is_open;
    const bool is_mine = fault.kind == FaultKind::kParameter;
    const bool has_later = has_loss || ((has_gradients || has_step) && !fault.has_nan);
    const bool is_of_forward = fault.kind == FaultKind::kProduced && fault.phase == Phase::kForward;
    if (fault.is_spent && fault.is_open) {
      end(fault, kNoCall);
      counts = false;
    }
    if (counts && !fault.is_confirmed && is_of_forward && !fault.has_nan &&
        is_inf_written(rows.record, rows.hints, rows.model, fault, rows.around.writers)) {
      end(fault, kNoCall);
      fault.is_meant = true;
      counts = false;
    }
    if (counts && !fault.is_confirmed && has_later && !is_mine && fault.phase <= Phase::kLoss) {
      end(fault, kNoCall);  // neither the loss nor a gradient has it
      counts = false;
    }
    if (!counts && rows.choice.ended_inf && !fault.has_nan) counts = true;
    if (counts && (best == nullptr || rank_of(fault) < rank_of(*best))) best = &fault;
  }
  if (best == nullptr || best->is_received) return nullptr;
  const Call& call = rows.call(best->seen_in);
  if (best->phase >= Phase::kBackward && best->phase != Phase::kOptimizer && is_skipped_step(rows, call)) {
    is_skipped = true;  // a gradient scaler did that
    return nullptr;
  }
  Fault& verdict = rows.faults[static_cast<std::size_t>(best - rows.faults.data())];
  if (verdict.kind == FaultKind::kUnknown && is_overflow(rows, verdict)) {
    verdict.kind = FaultKind::kProduced;
    verdict.is_likely = true;
    verdict.before = kNoCall;
  }
  const bool may_be_meant =
      verdict.kind == FaultKind::kProduced && verdict.phase == Phase::kForward && !verdict.is_confirmed && !has_loss;
  if (verdict.kind == FaultKind::kProduced && verdict.phase == Phase::kForward && has_loss &&
      may_be_written(rows, verdict)) {
    doubt(verdict, "the code may have computed the -Inf, or written it as a mask is written",
          "watch(..., zoom=True) would tell");
  } else if (may_be_meant && !verdict.has_nan && !has_step && rows.hints.has_gradients_off()) {
    doubt(verdict, "nothing that was watched says whether it ended",
          "watch(..., gradients=True) and step(loss) would tell");
  } else if (may_be_meant && verdict.has_nan && has_step && rows.hints.has_gradients_off()) {
    doubt(verdict, "what the optimizer wrote is finite, and neither the loss nor gradients were watched",
          "watch(..., gradients=True) and step(loss) would tell");
  } else if (may_be_meant && verdict.has_nan && has_gradients && is_unused(rows, verdict)) {
    doubt(verdict, "no gradient came back to it, and the loss was not watched",
          "step(loss) would tell whether the loss used it");
  }
  return best;
}

bool is_inf_written(const Record& record, const Hints& hints, const Model& model, const Fault& fault,
                    Writers* writers) {
  const Call& maker = model.calls[fault.call];
  const std::string_view type = record.texts()[maker.op_type], name = record.texts()[maker.name];
  const Zoom* of_maker = fault.zoom != nullptr ? fault.zoom : hints.zoom_of(maker.rank, maker.iteration, name);
  if (specials_of(record.statistics(record.rows()[fault.row])).has_plus_inf) return false;
  if (!found(of_maker) && writers != nullptr && writers->contains(name)) return true;
  if (fault.is_own_code && !found(of_maker)) return false;
  std::string words = lower_case(std::string(type) + " " + std::string(name));
  if (found(of_maker)) words = of_maker->operation;
  constexpr std::string_view kWriters[] = {"mask", "fill", "where", "triu", "tril", "full"};
  const bool is_written =
      (found(of_maker) && of_maker->inf_written.value_or(false)) ||
      std::ranges::any_of(kWriters, [&](std::string_view word) { return words.find(word) != words.npos; });
  if (is_written && found(of_maker) && writers != nullptr) writers->emplace(name);
  return is_written;
}

std::optional<Fault> brought_back(const Scene& scene, const StepRows& rows, const Fault* ended,
                                  std::uint32_t backward) {
  if (ended == nullptr || rows.fault_of(scene.row).nan == 0u) return std::nullopt;
  if (!ended->has_nan) {
    // A call that was given a computed Inf makes NaN of it. Its maker may have made the NaN by itself, and a mask's Inf
    // is meant.
    const bool is_maker =
        ended->call == kNoCall || backward == kNoCall || rows.path_of(ended->call) == rows.path_of(backward);
    if (is_maker || ended->kind != FaultKind::kProduced ||
        is_inf_written(rows.record, rows.hints, rows.model, *ended, rows.around.writers))
      return std::nullopt;
  }
  const auto* harmless = rows.around.harmless;
  if (harmless != nullptr && ended->call != kNoCall && harmless->contains(rows.name_of(ended->call)))
    return std::nullopt;
  Fault again = *ended;
  again.rule = "R7c";
  again.is_open = true;
  again.back_in = backward == kNoCall ? scene.call : backward;
  again.again_of = ended;
  return again;
}

bool is_in_results(const StepRows& rows, const Fault& fault) {
  return std::ranges::any_of(fault.carriers, [&](std::uint32_t each) {
    const Call& call = rows.call(each);
    // A fault of the data counts in the results only if a second row of the call holds it.
    if (fault.kind == FaultKind::kEntered && each == fault.seen_in && std::ranges::count(fault.carriers, each) == 1)
      return false;
    return call.phase == Phase::kForward && rows.is_outermost(call) &&
           std::ranges::any_of(call.outputs, [&](std::uint32_t output) { return rows.is_faulty(output); });
  });
}

bool is_same_module(const StepRows& rows, const Fault& ended, std::uint32_t backward) {
  if (backward == kNoCall) return false;
  const auto is = [&](std::uint32_t call) { return call != kNoCall && rows.path_of(call) == rows.path_of(backward); };
  return is(ended.call) || is(ended.ended_by) || std::ranges::any_of(ended.carriers, is);
}

std::optional<Fault> comes_again(const Scene& scene, const StepRows& rows) {
  if (scene.is_end && scene.given == InputState::kUnseen && !is_flat(rows.model.form)) return std::nullopt;
  for (auto fault = rows.faults.rbegin(); fault != rows.faults.rend(); ++fault) {
    if (fault->is_open || fault->phase > Phase::kForward) continue;
    const std::uint32_t parent = rows.call(scene.call).parent;
    bool is_way = false;
    if (is_flat(rows.model.form)) {
      is_way = !scene.is_end || scene.given == InputState::kUnseen;
    } else if (scene.is_end) {
      is_way = rows.has_children[scene.call] && rows.has_inside(*fault, scene.call);
    } else {
      is_way = parent == kNoCall ? !rows.is_outermost(rows.call(scene.call)) || rows.model.form == Form::kModules
                                 : rows.has_inside(*fault, parent);
    }
    if (!is_way) continue;
    Fault again = *fault;
    again.is_open = true;
    // A comparison gives no floats. It passes no fault on, so it does not make the fault come again.
    again.came_again = fault->ended_by == kNoCall || rows.gives_floats(rows.call(fault->ended_by));
    again.again_of = &*fault;
    return again;
  }
  return std::nullopt;
}

}  // namespace tensorstat::origin_rules
