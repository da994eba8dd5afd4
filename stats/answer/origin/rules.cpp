#include "stats/answer/origin/rules.hpp"

#include <utility>

namespace tensorstat::origin_rules {

// R0 is that none has anything to explain. R7 is end_by_outputs() of ended.cpp; R8s and the end of R7 are select()
// there. R10 is is_received(), and pick_of_ranks() between the ranks.
std::span<const Rule> rules() {
  static constexpr Rule kRules[] = {
      {"R1", Phase::kParameter, false, &is_of_parameter},
      {"R1", Phase::kParameter, true, &is_of_parameter},  // of a graph
      {"R10", Phase::kForward, true, &is_received},
      {"R7b", Phase::kForward, false, &comes_again},
      {"R7b", Phase::kForward, true, &comes_again},
      {"R5", Phase::kForward, false, &made_in_loss},
      {"R5", Phase::kForward, true, &made_in_loss},
      {"R2", Phase::kForward, false, &came_in},
      {"R4", Phase::kForward, false, &made_by_parent},
      {"R3", Phase::kForward, true, &made_by_call},
      {"R5", Phase::kLoss, true, &made_by_loss},
      {"R6", Phase::kBackward, false, &made_in_loss},
      {"R6", Phase::kBackward, true, &made_in_loss},
      {"R6", Phase::kBackward, false, &handed_by_loss},
      {"R6c", Phase::kBackward, false, &made_by_parents_backward},
      {"R6a", Phase::kBackward, true, &made_in_backward},
      {"R6b", Phase::kGradient, false, &made_for_parameter},
      {"R8", Phase::kGradient, true, &changed_after_backward},
      {"R11", Phase::kBuffer, true, &written_by_forward},
      {"R9", Phase::kOptimizer, true, &written_by_optimizer},
  };
  return kRules;
}

Fault fault_at(const Scene& scene, const StepRows& rows, FaultKind kind, std::uint32_t guilty) {
  const Specials specials = rows.fault_of(scene.row);
  Fault fault;
  fault.kind = kind;
  fault.phase = rows.call(scene.call).phase;
  fault.call = guilty;
  fault.row = scene.row;
  fault.seen_in = scene.call;
  fault.has_nan = specials.nan != 0u;
  fault.has_inf = specials.inf != 0u;
  fault.carriers = {scene.call};
  fault.is_confirmed = scene.phase >= Phase::kLoss;
  return fault;
}

Fault unknown(const Scene& scene, const StepRows& rows, std::uint32_t suspect, std::string reason) {
  Fault fault = fault_at(scene, rows, FaultKind::kUnknown, suspect);
  fault.reason = std::move(reason);
  return fault;
}

Fault unwatched(const Scene& scene, const StepRows& rows, std::uint32_t suspect, std::string_view what,
                std::string_view option) {
  Fault fault = unknown(scene, rows, suspect, std::string(what) + ": " + std::string(option) + " were not watched");
  fault.next = "watch(..., " + std::string(option) + "=True) would tell";
  return fault;
}

}  // namespace tensorstat::origin_rules
