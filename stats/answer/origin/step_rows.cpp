#include "stats/answer/origin/step_rows.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "stats/answer/compare/fault_roles.hpp"
#include "stats/tensorstat/catalog.hpp"

namespace tensorstat::origin_rules {

StepRows::StepRows(const Record& all, const Hints& facts, const FaultChoice& chosen, const Around& others, Model calls)
    : record(all), hints(facts), choice(chosen), around(others), model(std::move(calls)) {
  faults.reserve(2 * model.calls.size() + 1);
  sees_code = model.form != Form::kModules || std::ranges::any_of(model.calls, [&](const Call& each) {
                return !text(each.name).starts_with("Module.");
              });
  has_children.resize(model.calls.size());
  for (const Call& each : model.calls) {
    if (each.parent != kNoCall) has_children[each.parent] = true;
  }
}

bool StepRows::is_overwritten(const Call& callee, std::uint32_t input) const {
  if (model.form == Form::kWatch || model.form == Form::kLaunches || !writes_its_input(text(callee.op_type)))
    return false;
  return std::ranges::any_of(callee.outputs, [&](std::uint32_t output) {
    return row(output).shape == row(input).shape && row(output).dtype == row(input).dtype &&
           (content_of(record.statistics(row(output))) == content_of(record.statistics(row(input))));
  });
}

InputState StepRows::given_to(const Call& callee) const {
  InputState given = InputState::kUnseen;
  bool is_lost = false;  // an input was overwritten
  for (const std::uint32_t input : callee.inputs) {
    if (row(input).is_parameter) continue;
    if (!is_faulty(input)) {
      given = InputState::kClean;
    } else if (is_overwritten(callee, input)) {
      is_lost = true;
    } else {
      return InputState::kFaulty;
    }
  }
  return is_lost ? InputState::kUnseen : given;
}

bool StepRows::gives_floats(const Call& callee) const {
  return callee.outputs.empty() || std::ranges::any_of(callee.outputs, [&](std::uint32_t output) {
           const std::optional<Dtype> dtype = dtype_from(text(row(output).dtype));
           return !dtype || is_float(*dtype) || is_complex(*dtype);
         });
}

bool StepRows::is_only_held(std::uint32_t index) const {
  if (index == kNoCall) return false;
  bool has_held = false;
  for (const std::uint32_t input : call(index).inputs) {
    if (row(input).is_parameter || !is_faulty(input)) continue;
    if (!is_held(call(index), input)) return false;
    has_held = true;
  }
  return has_held;
}

std::uint32_t StepRows::last_before(std::uint32_t parent, Phase phase, std::uint32_t next) const {
  for (std::size_t index = now; index-- > 0;) {
    const std::uint32_t each = events[index].call;
    const Call& seen = call(each);
    if (each == next || seen.parent != parent || rules_of(seen) != phase || seen.is_again || seen.is_of_loss) continue;
    if (events[index].is_end || seen.outputs.empty()) return each;
  }
  return kNoCall;
}

std::uint32_t StepRows::loss_call() const {
  const auto loss = std::ranges::find(model.calls, Phase::kLoss, &Call::phase);
  return loss == model.calls.end() ? kNoCall : static_cast<std::uint32_t>(loss - model.calls.begin());
}

std::string_view StepRows::owner_of(std::string_view parameter) const {
  if (model.form == Form::kModules) return tensorstat::path_of(model.form, parameter);
  const auto dot = parameter.rfind('.');
  return dot == parameter.npos ? std::string_view() : parameter.substr(0, dot);
}

bool StepRows::has_inside(const Fault& fault, std::uint32_t outer) const {
  if (fault.kind == FaultKind::kParameter) {
    const std::string_view owner = owner_of(name_of(fault.call)), path = path_of(outer);
    if (owner.empty() || owner == path || owner.starts_with(std::string(path) + ".") || call(outer).parent == kNoCall)
      return true;
  }
  return std::ranges::any_of(fault.carriers,
                             [&](std::uint32_t each) { return each == outer || model.is_inside(each, outer); });
}

}  // namespace tensorstat::origin_rules
