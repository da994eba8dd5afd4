// R7: a fault that a later call takes in and does not hand on has ended.
#pragma once

#include <cstdint>
#include <optional>

#include "stats/answer/origin/step_rows.hpp"

namespace tensorstat::origin_rules {

// Ends faults by the clean inputs, or the clean outputs, of this call.
void end_by_inputs(StepRows& rows, std::uint32_t index);
void end_by_outputs(StepRows& rows, std::uint32_t index);

// Which of the faults that did not end is the verdict; nullptr: none. `is_skipped`: a gradient scaler skipped the step.
const Fault* select(StepRows& rows, bool& is_skipped);

// Whether the Inf that began this fault was written, as a mask is, and not computed.
bool is_inf_written(const Record& record, const Hints& hints, const Model& model, const Fault& fault,
                    Writers* writers = nullptr);

// Whether a result of the model holds it.
bool is_in_results(const StepRows& rows, const Fault& fault);

// R7c: `ended`, open again, if the NaN of `backward` (kNoCall: of the loss) comes from the forward: 0 * NaN. nullopt:
// the backward made it itself, or it cannot be known.
std::optional<Fault> brought_back(const Scene& scene, const StepRows& rows, const Fault* ended, std::uint32_t backward);

// Whether the backward belongs to a module that made the fault, took it in, or contains the maker.
bool is_same_module(const StepRows& rows, const Fault& ended, std::uint32_t backward);

// The last fault of the forward that has ended and for which `is` is true; nullptr: not one.
template <typename Is>
const Fault* last_ended(const StepRows& rows, const Is& is) {
  for (auto fault = rows.faults.rbegin(); fault != rows.faults.rend(); ++fault) {
    if (!fault->is_open && fault->phase <= Phase::kForward && is(*fault)) return &*fault;
  }
  return nullptr;
}

}  // namespace tensorstat::origin_rules
