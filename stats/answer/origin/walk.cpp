#include "stats/answer/origin/walk.hpp"

#include <tuple>

#include "stats/answer/compare/fault_roles.hpp"

namespace tensorstat::origin_rules {

// R0 is that none has anything to explain. R7 is look_at_clean_outputs() of ended.cpp; R8s and the end of R7
// are select() there. R10 is is_received(), and pick_of_ranks() between the ranks.
std::span<const Walk::Rule> Walk::rules() {
  static constexpr Rule kRules[] = {
      {"R1", Phase::kParameter, false, &Walk::is_of_parameter},
      {"R1", Phase::kParameter, true, &Walk::is_of_parameter},  // of a graph
      {"R10", Phase::kForward, true, &Walk::is_received},
      {"R7b", Phase::kForward, false, &Walk::comes_again},
      {"R7b", Phase::kForward, true, &Walk::comes_again},
      {"R5", Phase::kForward, false, &Walk::made_in_loss},
      {"R5", Phase::kForward, true, &Walk::made_in_loss},
      {"R2", Phase::kForward, false, &Walk::came_in},
      {"R4", Phase::kForward, false, &Walk::made_by_parent},
      {"R3", Phase::kForward, true, &Walk::made_by_call},
      {"R5", Phase::kLoss, true, &Walk::made_by_loss},
      {"R6", Phase::kBackward, false, &Walk::made_in_loss},
      {"R6", Phase::kBackward, true, &Walk::made_in_loss},
      {"R6", Phase::kBackward, false, &Walk::handed_by_loss},
      {"R6c", Phase::kBackward, false, &Walk::made_by_parents_backward},
      {"R6a", Phase::kBackward, true, &Walk::made_in_backward},
      {"R6b", Phase::kGradient, false, &Walk::made_for_parameter},
      {"R8", Phase::kGradient, true, &Walk::changed_after_backward},
      {"R9", Phase::kOptimizer, true, &Walk::written_by_optimizer},
  };
  return kRules;
}

Walked Walk::run() {
  faults_.reserve(2 * model_.calls.size() + 1);  // so that they stay where they are
  sees_code_ = model_.form != Form::kModules || std::ranges::any_of(model_.calls, [&](const Call& each) {
                 return !text(each.name).starts_with("Module.");
               });
  has_children_.resize(model_.calls.size());
  for (const Call& call : model_.calls) {
    if (call.parent != kNoCall) has_children_[call.parent] = true;
  }
  make_events();
  for (now_ = 0; now_ < events_.size(); ++now_) look_at(events_[now_]);
  Walked walked;
  const Fault* verdict = select(walked.is_skipped);
  walked.model = std::move(model_);
  walked.faults = std::move(faults_);
  walked.verdict = verdict;
  return walked;
}

void Walk::make_events() {
  std::uint64_t first_faulty = UINT64_MAX;  // row of backward
  std::uint64_t last_gradient = 0;          // at the end of the step
  for (std::uint32_t i = 0; i < model_.calls.size(); ++i) {
    const Call& each = call(i);
    if (each.is_again) continue;
    // An operation without results, such as the question for a tensor's size, makes nothing.
    const bool is_operation =
        model_.form == Form::kWatch && path_of(model_.form, text(each.name)).find('/') != std::string_view::npos;
    if (is_operation && each.outputs.empty() && each.phase == Phase::kForward) continue;
    for (const bool is_end : {false, true}) {
      const auto& rows = is_end ? each.outputs : each.inputs;
      if (rows.empty()) continue;
      Event event{.time = is_end ? each.end : each.begin, .call = i, .is_end = is_end};
      for (const std::uint32_t at : rows) {
        if (!is_faulty(at) || (!is_end && is_overwritten(each, at))) continue;
        event.faulty_row = at;
        break;
      }
      if (model_.form != Form::kModules && event.faulty_row != kNoRow) event.time = event.faulty_row;
      if (each.phase >= Phase::kBackward && event.faulty_row != kNoRow)
        first_faulty = std::min(first_faulty, event.time);
      if (each.phase == Phase::kGradient) last_gradient = std::max(last_gradient, event.time);
      events_.push_back(event);
    }
  }
  if (model_.form == Form::kWatch) {
    // The loss is told when the step ends. The optimizer has read all gradients before it writes a parameter, but their
    // rows stand by parameter.
    for (Event& event : events_) {
      const Phase phase = call(event.call).phase;
      if (phase == Phase::kLoss) event.time = std::min(event.time, first_faulty);
      if (phase == Phase::kOptimizer) event.time = std::max(event.time, last_gradient);
    }
  }
  std::ranges::stable_sort(events_, [&](const Event& a, const Event& b) {
    const auto place = [&](const Event& of) {
      const Phase phase = call(of.call).phase;
      return std::tuple(of.time, phase != Phase::kLoss, phase == Phase::kOptimizer, of.is_end);
    };
    return place(a) < place(b);
  });
}

void Walk::look_at(const Event& event) {
  const Call& of = call(event.call);
  if (event.faulty_row == kNoRow)
    return event.is_end ? look_at_clean_outputs(event.call) : look_at_clean_inputs(event.call);
  const Scene scene{event.call, event.faulty_row, event.is_end, rules_of(of), given_to(of)};
  if (row(scene.row).is_parameter) {
    begin(scene, "R1", FaultKind::kParameter, scene.call).phase = Phase::kParameter;
    return;
  }
  if (is_carried(scene)) return;
  // What its parent was given comes first, whatever the order of the rows.
  if (!event.is_end && of.parent != kNoCall && given_to(call(of.parent)) == Given::kFaulty) {
    const auto above =
        std::ranges::find_if(events_, [&](const Event& each) { return each.call == of.parent && !each.is_end; });
    if (above != events_.end() && above - events_.begin() > static_cast<std::ptrdiff_t>(now_)) {
      look_at(*above);
      if (is_carried(scene)) return;
    }
  }
  for (const Rule& rule : rules()) {
    if (rule.phase != scene.phase || rule.is_end != scene.is_end) continue;
    rule_ = rule.name;
    if ((this->*rule.explains)(scene)) return;
  }
}

bool Walk::has_inside(const Fault& fault, std::uint32_t outer) const {
  if (fault.kind == FaultKind::kParameter) {
    const std::string_view owner = owner_of(name_of(fault.call)), path = path_of(model_.form, name_of(outer));
    return owner.empty() || owner == path || owner.starts_with(std::string(path) + ".") ||
           call(outer).parent == kNoCall;
  }
  return std::ranges::any_of(fault.carriers,
                             [&](std::uint32_t each) { return each == outer || model_.is_inside(each, outer); });
}

bool Walk::is_carried(const Scene& scene) {
  Fault* carried = nullptr;
  for (Fault& fault : faults_) {
    if (!fault.is_open) continue;
    const bool is_forward = scene.phase == Phase::kForward;
    // What is given to a model does not come from its parameters.
    if (is_forward && !scene.is_end && model_.form == Form::kWatch && is_outermost(call(scene.call)) &&
        !is_new_data(fault))
      continue;
    // An output comes from its call's inputs, from a call inside, or from a parameter.
    const bool is_call = is_forward || scene.phase == Phase::kBackward;
    if (is_call && scene.is_end && scene.given == Given::kClean && !has_inside(fault, scene.call)) {
      // A backward uses what its forward saved, and a call may use the parameter of another.
      const bool is_saved = !is_forward && fault.phase <= Phase::kLoss;
      const bool may_share =
          fault.kind == FaultKind::kParameter && !has_children_[scene.call] && !found(zoom_of(scene.call));
      if (!is_saved && !may_share) continue;
    }
    if (scene.phase == Phase::kParameter && fault.kind != FaultKind::kParameter) continue;
    carried = &fault;
  }
  if (carried == nullptr) return false;
  carry(*carried, scene);
  return true;
}

void Walk::carry(Fault& fault, const Scene& scene) {
  const Specials found = fault_of(scene.row);
  if (found.nan != 0u && !fault.has_nan && fault.turned_by == kNoCall && scene.phase == Phase::kForward) {
    const bool is_at_code = !scene.is_end && call(scene.call).parent != kNoCall;
    fault.turned_by = is_at_code ? call(scene.call).parent : scene.call;
    fault.is_turned_by_own_code = is_at_code;
    fault.turned_row = scene.row;
  }
  fault.has_nan |= found.nan != 0u;
  fault.has_inf |= found.inf != 0u;
  fault.carriers.push_back(scene.call);
  if (fault.kind == FaultKind::kLoss && fault.phase == Phase::kLoss && scene.phase == Phase::kForward &&
      !call(scene.call).is_of_loss) {
    fault.kind = FaultKind::kProduced;  // between two models, and not behind the last
    fault.phase = Phase::kForward;
  }
  if (scene.phase >= Phase::kLoss) fault.is_confirmed = true;
}

Fault& Walk::begin(const Scene& scene, const char* rule, FaultKind kind, std::uint32_t guilty) {
  const Specials found = fault_of(scene.row);
  Fault& fault = faults_.emplace_back();
  fault.rule = rule;
  fault.kind = kind;
  fault.phase = call(scene.call).phase;
  fault.call = guilty;
  fault.row = scene.row;
  fault.seen_in = scene.call;
  fault.has_nan = found.nan != 0u;
  fault.has_inf = found.inf != 0u;
  fault.carriers = {scene.call};
  fault.is_confirmed = scene.phase >= Phase::kLoss;
  return fault;
}

Fault& Walk::unknown(const Scene& scene, std::uint32_t suspect, std::string reason) {
  Fault& fault = begin(scene, FaultKind::kUnknown, suspect);
  fault.reason = std::move(reason);
  return fault;
}

bool Walk::is_overwritten(const Call& of, std::uint32_t input) const {
  if (model_.form == Form::kWatch || model_.form == Form::kLaunches || !writes_its_input(text(of.op_type)))
    return false;
  return std::ranges::any_of(of.outputs, [&](std::uint32_t output) {
    return row(output).shape == row(input).shape && row(output).dtype == row(input).dtype &&
           (content_of(record_.statistics(row(output))) == content_of(record_.statistics(row(input))));
  });
}

bool Walk::is_surely_overwritten(const Call& of) const {
  return std::ranges::any_of(of.inputs, [&](std::uint32_t input) {
    return is_overwritten(of, input) && proves_content(record_.statistics(row(input)));
  });
}

Given Walk::given_to(const Call& of) const {
  Given given = Given::kUnseen;
  bool is_lost = false;  // what it was given is
  for (const std::uint32_t input : of.inputs) {
    if (row(input).is_parameter) continue;
    if (!is_faulty(input)) {
      given = Given::kClean;
    } else if (is_overwritten(of, input)) {
      is_lost = true;
    } else {
      return Given::kFaulty;
    }
  }
  return is_lost ? Given::kUnseen : given;
}

bool Walk::is_clean(const std::vector<std::uint32_t>& rows) const {
  return !rows.empty() && std::ranges::none_of(rows, [&](std::uint32_t each) { return is_faulty(each); });
}

Phase Walk::rules_of(const Call& of) const {
  return !is_flat(model_.form) || of.phase == Phase::kParameter ? of.phase : Phase::kForward;
}

const Zoom* Walk::zoom_of(std::uint32_t at) const {
  return at == kNoCall ? nullptr : hints_.zoom_of(call(at).rank, call(at).iteration, name_of(at));
}

std::uint32_t Walk::last_before(std::uint32_t parent, Phase phase, std::uint32_t of) const {
  for (std::size_t at = now_; at-- > 0;) {
    const std::uint32_t each = events_[at].call;
    const Call& seen = call(each);
    if (each == of || seen.parent != parent || rules_of(seen) != phase || seen.is_again || seen.is_of_loss) continue;
    if (events_[at].is_end || seen.outputs.empty()) return each;
  }
  return kNoCall;
}

Fault& Walk::unwatched(const Scene& scene, std::uint32_t suspect, std::string_view what, std::string_view option) {
  Fault& fault = unknown(scene, suspect, std::string(what) + ": " + std::string(option) + " were not watched");
  fault.next = "watch(..., " + std::string(option) + "=True) would tell";
  return fault;
}

std::string_view Walk::owner_of(std::string_view parameter) const {
  if (model_.form == Form::kModules) return path_of(model_.form, parameter);
  const auto dot = parameter.rfind('.');
  return dot == parameter.npos ? std::string_view() : parameter.substr(0, dot);
}

}  // namespace tensorstat::origin_rules
