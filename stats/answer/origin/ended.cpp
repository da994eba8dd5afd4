// R7: a fault that a later call takes in and does not hand on has ended. And which of the faults that have not is
// the verdict.
#include <cmath>
#include <tuple>

#include "stats/answer/origin/walk.hpp"
#include "stats/data/rows/names/op_name.hpp"

namespace tensorstat::origin_rules {

void Walk::look_at_clean_inputs(std::uint32_t at) {
  const Call& of = call(at);
  // The loss was given an Inf and hands back clean gradients: the Inf ended. A NaN proves nothing: a sum has clean
  // gradients.
  if (!is_flat(model_.form) && of.phase == Phase::kBackward && is_outermost(of) && loss_call() == kNoCall)
    end_of_forward(false);
}

void Walk::look_at_clean_outputs(std::uint32_t at) {
  const Call& of = call(at);
  if (of.phase == Phase::kLoss) return end_of_forward(true);
  const Phase phase = rules_of(of);
  if (phase != Phase::kForward && phase != Phase::kBackward) return;
  if (hints_.not_seen(of.rank, of.iteration, text(of.name), false) != nullptr) return;
  const bool is_given = given_to(of) == Given::kFaulty;
  for (Fault& fault : faults_) {
    // A launch may look at a part of a buffer: that its results are clean says nothing of a NaN.
    if (model_.form == Form::kLaunches && fault.has_nan) continue;
    if (!fault.is_open || fault.is_confirmed || fault.kind == FaultKind::kParameter) continue;
    if ((fault.phase >= Phase::kBackward) != (phase == Phase::kBackward)) continue;
    const bool was_given = is_given && std::ranges::count(fault.carriers, at) != 0;
    const bool is_all_inside =
        std::ranges::all_of(fault.carriers, [&](std::uint32_t each) { return model_.is_inside(each, at); });
    if (was_given || is_all_inside) end(fault, at);
  }
}

void Walk::end_of_forward(bool is_by_loss) {
  for (Fault& fault : faults_) {
    const bool is_of_forward = fault.phase <= Phase::kLoss && fault.kind != FaultKind::kParameter;
    if (fault.is_open && !fault.is_confirmed && is_of_forward && (is_by_loss || !fault.has_nan)) end(fault, kNoCall);
  }
}

void Walk::end(Fault& fault, std::uint32_t by) {
  fault.is_open = false;
  fault.ended_by = by;
}

bool Walk::comes_again(const Scene& scene) {
  if (scene.is_end && scene.given == Given::kUnseen && !is_flat(model_.form)) return false;
  for (auto at = faults_.rbegin(); at != faults_.rend(); ++at) {
    Fault& fault = *at;
    if (fault.is_open || fault.phase > Phase::kForward) continue;
    const std::uint32_t parent = call(scene.call).parent;
    bool is_way = false;
    if (is_flat(model_.form)) {
      is_way = !scene.is_end || scene.given == Given::kUnseen;
    } else if (scene.is_end) {
      is_way = has_children_[scene.call] && has_inside(fault, scene.call);
    } else {
      is_way = parent == kNoCall ? !is_outermost(call(scene.call)) || model_.form == Form::kModules
                                 : has_inside(fault, parent);
    }
    if (!is_way) continue;
    fault.is_open = true;
    fault.came_again = true;
    carry(fault, scene);
    return true;
  }
  return false;
}

const Fault* Walk::select(bool& is_skipped) {
  bool has_loss = false, has_gradients = false, has_step = false;
  for (const Call& each : model_.calls) {
    if (is_flat(model_.form)) break;
    has_loss |= each.phase == Phase::kLoss;
    has_gradients |= each.phase == Phase::kBackward || each.phase == Phase::kGradient;
    has_step |= each.phase == Phase::kOptimizer;
  }
  bool has_nan = false;
  for (const Fault& fault : faults_) has_nan |= fault.has_nan && (fault.is_open || fault.is_confirmed);
  const Fault* best = nullptr;
  const auto rank_of = [&](const Fault& fault) {  // the least is taken
    const bool is_mere_inf = has_nan && !fault.has_nan;
    return std::tuple(fault.is_received, is_mere_inf, !fault.is_confirmed);
  };
  for (Fault& fault : faults_) {
    bool counts = fault.is_open;
    const bool is_mine = fault.kind == FaultKind::kParameter;
    const bool has_later = has_loss || ((has_gradients || has_step) && !fault.has_nan);
    const bool is_of_forward = fault.kind == FaultKind::kProduced && fault.phase == Phase::kForward;
    if (counts && !fault.is_confirmed && is_of_forward && !fault.has_nan && wrote_inf(fault)) {
      end(fault, kNoCall);
      fault.is_meant = true;
      counts = false;
    }
    if (counts && !fault.is_confirmed && has_later && !is_mine && fault.phase <= Phase::kLoss) {
      end(fault, kNoCall);  // neither the loss nor a gradient has it
      counts = false;
    }
    if (!counts && choice_.ended_inf && !fault.has_nan) counts = true;
    if (counts && (best == nullptr || rank_of(fault) < rank_of(*best))) best = &fault;
  }
  if (best == nullptr || best->is_received) return nullptr;
  const Call& of = call(best->seen_in);
  if (best->phase >= Phase::kBackward && best->phase != Phase::kOptimizer && is_skipped_step(of)) {
    is_skipped = true;  // a gradient scaler did that
    return nullptr;
  }
  Fault& verdict = faults_[static_cast<std::size_t>(best - faults_.data())];
  const bool may_be_meant =
      verdict.kind == FaultKind::kProduced && verdict.phase == Phase::kForward && !verdict.is_confirmed && !has_loss;
  if (may_be_meant && !verdict.has_nan && !has_step && hints_.has_gradients_off()) {
    doubt(verdict, "nothing that was watched says whether it ended",
          "watch(..., gradients=True) and step(loss) would tell");
  } else if (may_be_meant && verdict.has_nan && has_step && hints_.has_gradients_off()) {
    doubt(verdict, "what the optimizer wrote is finite, and neither the loss nor gradients were watched",
          "watch(..., gradients=True) and step(loss) would tell");
  } else if (may_be_meant && verdict.has_nan && has_gradients && is_unused(verdict)) {
    doubt(verdict, "no gradient came back to it, and the loss was not watched",
          "step(loss) would tell whether the loss used it");
  }
  return best;
}

void Walk::doubt(Fault& fault, std::string reason, std::string next) {
  fault.kind = FaultKind::kUnknown;
  fault.reason = std::move(reason);
  fault.next = std::move(next);
}

bool Walk::wrote_inf(const Fault& fault) const { return is_inf_written(record_, hints_, model_, fault); }

bool Walk::is_unused(const Fault& fault) const {
  bool has_results = false, has_backward = false;
  for (const std::uint32_t carrier : fault.carriers) {
    const Call& of = call(carrier);
    if (of.phase != Phase::kForward || !is_outermost(of)) continue;
    const std::string_view path = path_of(model_.form, name_of(carrier));
    for (const std::uint32_t result : of.outputs) {
      if (!is_faulty(result)) continue;
      has_results = true;
      for (const Call& backward : model_.calls) {
        if (backward.phase != Phase::kBackward || path_of(model_.form, text(backward.name)) != path) continue;
        has_backward = true;
        const auto is_of_result = [&](std::uint32_t gradient) { return row(gradient).slot == row(result).slot; };
        if (std::ranges::any_of(backward.inputs, is_of_result)) return false;
      }
    }
  }
  return has_results && has_backward;
}

bool Walk::is_skipped_step(const Call& of) const {
  if (hints_.wrote_nothing(of.rank, of.iteration)) return true;
  if (model_.form != Form::kWatch || hints_.is_of_watch() || !around_.has_written) return false;
  return std::ranges::none_of(model_.calls, [](const Call& each) { return each.phase == Phase::kOptimizer; });
}

bool is_inf_written(const Record& record, const Hints& hints, const Model& model, const Fault& fault) {
  const Call& maker = model.calls[fault.call];
  const std::string_view type = record.texts()[maker.op_type], name = record.texts()[maker.name];
  const Zoom* of_maker = hints.zoom_of(maker.rank, maker.iteration, name);
  if (specials_of(record.statistics(record.rows()[fault.row])).has_plus_inf || fault.is_own_code) return false;
  std::string words = lower_case(std::string(type) + " " + std::string(name));
  if (of_maker != nullptr && of_maker->found == Zoom::Found::kOperation) words = of_maker->operation;
  constexpr std::string_view kWriters[] = {"mask", "fill", "where", "triu", "tril", "full"};
  return std::ranges::any_of(kWriters, [&](std::string_view word) { return words.find(word) != words.npos; });
}

}  // namespace tensorstat::origin_rules
