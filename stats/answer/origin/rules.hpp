// The rules of stats/doc/origin.md: each a function of a scene and of the rows, which returns a fault if it explains
// the scene. rules.cpp has their table, in the order in which they are asked.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "stats/answer/origin/step_rows.hpp"

namespace tensorstat::origin_rules {

struct Rule {
  const char* name;
  Phase phase;
  bool is_end;
  std::optional<Fault> (*explain)(const Scene&, const StepRows&);
};
std::span<const Rule> rules();

// A fault may name the rule itself, where one function has two; otherwise it has the name of the table.
Fault fault_at(const Scene& scene, const StepRows& rows, FaultKind kind, std::uint32_t guilty);
Fault unknown(const Scene& scene, const StepRows& rows, std::uint32_t suspect, std::string reason);
// A watch left rows out: `what` as in "its gradient", `option` as in "gradients".
Fault unwatched(const Scene& scene, const StepRows& rows, std::uint32_t suspect, std::string_view what,
                std::string_view option);

// The zoom that ran because this row of backward was faulty, else the zoom of its call: it found the operation, or was
// refused.
const Zoom* zoom_of_backward(const StepRows& rows, std::uint32_t index);
// Goes from a call outwards while zooms say that the call was given the fault, or could not be run again as it was,
// such as one that writes to a cache. Returns the first call where a zoom found the operation, or kNoCall.
std::uint32_t zoomed_above(const StepRows& rows, std::uint32_t index);

std::optional<Fault> is_of_parameter(const Scene& scene, const StepRows& rows);
// An operator of communication received it.
std::optional<Fault> is_received(const Scene& scene, const StepRows& rows);
// A fault that had ended was used another way, too: that fault, open again.
std::optional<Fault> comes_again(const Scene& scene, const StepRows& rows);
// An operation between the model and the loss made it, or the targets hold it.
std::optional<Fault> made_in_loss(const Scene& scene, const StepRows& rows);
std::optional<Fault> came_in(const Scene& scene, const StepRows& rows);
// Code of the parent, between calls that it contains.
std::optional<Fault> made_by_parent(const Scene& scene, const StepRows& rows);
std::optional<Fault> made_by_call(const Scene& scene, const StepRows& rows);
std::optional<Fault> made_by_loss(const Scene& scene, const StepRows& rows);
// The gradient of a result of the model.
std::optional<Fault> handed_by_loss(const Scene& scene, const StepRows& rows);
// The gradient of a result of a call inside: code of the parent takes that result.
std::optional<Fault> made_by_parents_backward(const Scene& scene, const StepRows& rows);
std::optional<Fault> made_in_backward(const Scene& scene, const StepRows& rows);
// The gradient of a parameter, as backward made it.
std::optional<Fault> made_for_parameter(const Scene& scene, const StepRows& rows);
// msprobe's parameters_grad is an output.
std::optional<Fault> changed_after_backward(const Scene& scene, const StepRows& rows);
// A NaN in a buffer behind the step: the module's forward wrote it.
std::optional<Fault> written_by_forward(const Scene& scene, const StepRows& rows);
std::optional<Fault> written_by_optimizer(const Scene& scene, const StepRows& rows);

}  // namespace tensorstat::origin_rules
