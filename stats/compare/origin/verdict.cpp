#include "stats/compare/origin/verdict.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <tuple>

#include "stats/compare/course.hpp"
#include "stats/compare/origin/sentence.hpp"
#include "stats/rows/names/op_name.hpp"

namespace tensorstat {
namespace {

// What is known of a call's inputs.
enum class Given : std::uint8_t { kUnseen, kClean, kFaulty };

// A fault of one rank and iteration, from where it is seen first to where it ends.
struct Fault {
  const char* rule = "";
  FaultKind kind = FaultKind::kProduced;
  Phase phase = Phase::kForward;
  std::uint32_t call = kNoCall;  // that made it
  std::uint32_t row = kNoRow;    // where it is seen first
  std::uint32_t seen_in = kNoCall;
  bool is_own_code = false, is_of_backward = false, has_no_loss = false, is_received = false, may_be_received = false,
       came_again = false;
  std::uint32_t after = kNoCall, before = kNoCall;
  std::string reason;

  bool has_nan = false, has_inf = false;
  std::vector<std::uint32_t> carriers;  // calls with rows that hold it
  std::uint32_t turned_by = kNoCall, turned_row = kNoRow;
  bool is_turned_by_own_code = false;
  bool is_open = true;
  bool is_confirmed = false;  // the loss, a gradient or a parameter has it
  std::uint32_t ended_by = kNoCall;
  const Fault* back_of = nullptr;  // the fault of the forward that backward brought back
  const Zoom* zoom = nullptr;      // that found the operation
};

// An iteration of all ranks.
struct Around {
  std::set<std::uint32_t> ranks;  // with rows
  bool has_written =
      false;  // of any iteration, rows of parameters behind the step: there are none where it was skipped
  // Runs of operators of communication that some rank gave a fault, by name and how often it was before.
  std::set<std::pair<std::uint32_t, std::uint32_t>> faulty_meetings;
};

struct Walked {
  Model model;
  std::vector<Fault> faults;
  const Fault* verdict = nullptr;
  bool is_skipped = false;  // the step was, and that is all
};

class Walk {
 public:
  Walk(const Record& record, Hints& hints, const FaultChoice& choice, const Around& around, Model model)
      : record_(record), hints_(hints), choice_(choice), around_(around), model_(std::move(model)) {}

  Walked run() {
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

 private:
  // Where a call is given its inputs, or has its outputs.
  struct Event {
    std::uint64_t time = 0;
    std::uint32_t call = kNoCall;
    bool is_end = false;
    std::uint32_t faulty_row = kNoRow;
  };

  // A faulty row that something has to explain.
  struct Scene {
    std::uint32_t call;
    std::uint32_t row;
    bool is_end;
    Phase phase;  // by which the rules go
    Given given;
  };

  // In their order: the first that is true of a scene explains it.
  struct Rule {
    const char* name;
    Phase phase;
    bool is_end;
    bool (Walk::*explains)(const Scene&);
  };
  static std::span<const Rule> rules();

  // ---- rows and calls ----

  const Call& call(std::uint32_t at) const { return model_.calls[at]; }
  std::string_view text(std::uint32_t id) const { return record_.texts()[id]; }
  std::string_view name_of(std::uint32_t at) const { return text(call(at).name); }
  const Seen& row(std::uint32_t at) const { return record_.rows()[at]; }

  Specials fault_of(std::uint32_t at) const {
    Specials found = specials_of(record_.statistics(row(at)));
    if (choice_.nan_only) found.inf = 0;
    return found;
  }
  bool is_faulty(std::uint32_t at) const { return fault_of(at).any(); }

  // An operator that works in place leaves its result in an input: what it was given is then not in the rows.
  bool is_overwritten(const Call& of, std::uint32_t input) const {
    if (model_.form == Form::kWatch || !writes_its_input(text(of.op_type))) return false;
    return std::ranges::any_of(of.outputs, [&](std::uint32_t output) {
      return row(output).shape == row(input).shape && row(output).dtype == row(input).dtype &&
             (content_of(record_.statistics(row(output))) == content_of(record_.statistics(row(input))));
    });
  }
  // Where digests or finite statistics are the same, and not NaN alone.
  bool is_surely_overwritten(const Call& of) const {
    return std::ranges::any_of(of.inputs, [&](std::uint32_t input) {
      return is_overwritten(of, input) && proves_content(record_.statistics(row(input)));
    });
  }

  Given given_to(const Call& of) const {
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
  bool is_clean(const std::vector<std::uint32_t>& rows) const {
    return !rows.empty() && std::ranges::none_of(rows, [&](std::uint32_t each) { return is_faulty(each); });
  }

  // The phase that the rules go by: operators of a graph have no others than these.
  Phase rules_of(const Call& of) const {
    return model_.form != Form::kGraph || of.phase == Phase::kParameter ? of.phase : Phase::kForward;
  }

  bool is_outermost(const Call& of) const { return of.parent == kNoCall && !of.has_unseen_parent && !of.is_of_loss; }

  // ---- events ----

  void make_events() {
    std::uint64_t first_faulty = UINT64_MAX;  // row of backward
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
        events_.push_back(event);
      }
    }
    if (model_.form == Form::kWatch) {  // the loss is told when the step ends
      for (Event& event : events_) {
        if (call(event.call).phase == Phase::kLoss) event.time = std::min(event.time, first_faulty);
      }
    }
    std::ranges::stable_sort(events_, [&](const Event& a, const Event& b) {
      const auto place = [&](const Event& of) {
        return std::tuple(of.time, call(of.call).phase != Phase::kLoss, of.is_end);
      };
      return place(a) < place(b);
    });
  }

  void look_at(const Event& event) {
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

  // ---- faults that are open ----

  static bool is_new_data(const Fault& fault) { return fault.kind != FaultKind::kParameter; }

  bool has_inside(const Fault& fault, std::uint32_t outer) const {
    if (fault.kind == FaultKind::kParameter) {
      const std::string_view owner = owner_of(name_of(fault.call)), path = path_of(model_.form, name_of(outer));
      return owner.empty() || owner == path || owner.starts_with(std::string(path) + ".") ||
             call(outer).parent == kNoCall;
    }
    return std::ranges::any_of(fault.carriers,
                               [&](std::uint32_t each) { return each == outer || model_.is_inside(each, outer); });
  }

  // Whether a fault that is open came here.
  bool is_carried(const Scene& scene) {
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

  void carry(Fault& fault, const Scene& scene) {
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

  void look_at_clean_inputs(std::uint32_t at) {
    const Call& of = call(at);
    // The loss took an Inf in, and hands back clean gradients. Those of a NaN may be clean, too, as those of a sum.
    if (model_.form != Form::kGraph && of.phase == Phase::kBackward && is_outermost(of) && loss_call() == kNoCall)
      end_of_forward(false);
  }

  void look_at_clean_outputs(std::uint32_t at) {
    const Call& of = call(at);
    if (of.phase == Phase::kLoss) return end_of_forward(true);
    const Phase phase = rules_of(of);
    if (phase != Phase::kForward && phase != Phase::kBackward) return;
    if (hints_.not_seen(of.rank, of.iteration, text(of.name), false) != nullptr) return;
    const bool is_given = given_to(of) == Given::kFaulty;
    for (Fault& fault : faults_) {
      if (!fault.is_open || fault.is_confirmed || fault.kind == FaultKind::kParameter) continue;
      if ((fault.phase >= Phase::kBackward) != (phase == Phase::kBackward)) continue;
      const bool was_given = is_given && std::ranges::count(fault.carriers, at) != 0;
      const bool is_all_inside =
          std::ranges::all_of(fault.carriers, [&](std::uint32_t each) { return model_.is_inside(each, at); });
      if (was_given || is_all_inside) end(fault, at);
    }
  }

  void end_of_forward(bool is_by_loss) {
    for (Fault& fault : faults_) {
      const bool is_of_forward = fault.phase <= Phase::kLoss && fault.kind != FaultKind::kParameter;
      if (fault.is_open && !fault.is_confirmed && is_of_forward && (is_by_loss || !fault.has_nan)) end(fault, kNoCall);
    }
  }

  void end(Fault& fault, std::uint32_t by) {
    fault.is_open = false;
    fault.ended_by = by;
  }

  Fault& begin(const Scene& scene, const char* rule, FaultKind kind, std::uint32_t guilty) {
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
  Fault& begin(const Scene& scene, FaultKind kind, std::uint32_t guilty) { return begin(scene, rule_, kind, guilty); }
  Fault& unknown(const Scene& scene, std::uint32_t suspect, std::string reason) {
    Fault& fault = begin(scene, FaultKind::kUnknown, suspect);
    fault.reason = std::move(reason);
    return fault;
  }

  // ---- the rules ----

  bool is_of_parameter(const Scene& scene) {
    begin(scene, FaultKind::kParameter, scene.call);
    return true;
  }

  bool is_received(const Scene& scene) {
    const Call& of = call(scene.call);
    if (!communicates(text(of.op_type)) || scene.given == Given::kFaulty) return false;
    if (around_.faulty_meetings.contains({of.name, of.nth})) {
      begin(scene, FaultKind::kUnknown, scene.call).is_received = true;
      return true;
    }
    if (around_.ranks.size() > 1) return false;
    unknown(scene, scene.call, "it exchanges data with ranks whose rows are not here").may_be_received = true;
    return true;
  }

  // A fault that had ended was used another way, too.
  bool comes_again(const Scene& scene) {
    if (scene.is_end && scene.given == Given::kUnseen && model_.form != Form::kGraph) return false;
    for (auto at = faults_.rbegin(); at != faults_.rend(); ++at) {
      Fault& fault = *at;
      if (fault.is_open || fault.phase > Phase::kForward) continue;
      const std::uint32_t parent = call(scene.call).parent;
      bool is_way = false;
      if (model_.form == Form::kGraph) {
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

  // An operation between the model and the loss made it, or the targets hold it.
  bool made_in_loss(const Scene& scene) {
    if (!call(scene.call).is_of_loss) return false;
    Fault& fault = begin(scene, FaultKind::kLoss, scene.call);
    fault.is_of_backward = fault.phase == Phase::kBackward;
    if (!fault.is_of_backward) fault.phase = Phase::kLoss;
    return true;
  }

  bool came_in(const Scene& scene) {
    const Call& of = call(scene.call);
    if (of.parent != kNoCall) return false;
    const std::uint32_t before = last_before(kNoCall, Phase::kForward, scene.call);
    if (of.has_unseen_parent) {
      unknown(scene, scene.call, "what contains it is not in the rows").after = before;
      return true;
    }
    const bool is_other =
        before != kNoCall && path_of(model_.form, name_of(before)) != path_of(model_.form, name_of(scene.call));
    if (!is_other && !sees_code_) {
      unknown(scene, scene.call, "it came in with the data, or code of the model before its first module made it")
          .phase = Phase::kInput;
      return true;
    }
    if (model_.form == Form::kGraph || !is_other) {
      begin(scene, FaultKind::kEntered, scene.call).phase = Phase::kInput;
      return true;
    }
    unknown(scene, scene.call, "it came in with the data, or code that is no call of the rows made it").after = before;
    return true;
  }

  // Code of the parent, between calls that it contains.
  bool made_by_parent(const Scene& scene) {
    const std::uint32_t parent = call(scene.call).parent;
    if (parent == kNoCall) return false;
    const std::uint32_t after = last_before(parent, Phase::kForward, scene.call);
    const std::uint32_t zoomed = zoomed_above(parent);
    Fault* fault = nullptr;
    if (const std::string why = unseen_between(parent, after); !why.empty()) {
      fault = &unknown(scene, parent, why);
    } else if (is_given_clean(parent) || zoomed != kNoCall) {
      fault = &begin(scene, FaultKind::kProduced, parent);
    } else {
      fault = &unknown(scene, parent, "its inputs are not in the rows");
    }
    fault->zoom = zoom_of(zoomed);
    fault->is_own_code = true;
    fault->after = after;
    fault->before = scene.call;
    return true;
  }

  bool made_by_call(const Scene& scene) {
    const Call& of = call(scene.call);
    const std::uint32_t last_child =
        has_children_[scene.call] ? last_before(scene.call, Phase::kForward, kNoCall) : kNoCall;
    if (const std::string why = unseen_between(scene.call, last_child); !why.empty()) {
      unknown(scene, scene.call, why).after = last_child;
      return true;
    }
    const auto by_call = [&] {
      Fault& fault = begin(scene, FaultKind::kProduced, scene.call);
      fault.is_own_code = last_child != kNoCall;
      fault.after = last_child;
    };
    if (model_.form == Form::kGraph) {
      if (scene.given == Given::kClean && !has_gap(of)) return by_call(), true;
      const std::uint32_t before = last_before(kNoCall, Phase::kForward, scene.call);
      if (text(of.op_type) == "Tensor") {
        unknown(scene, scene.call, "these are tensors, without the operators that made them");
      } else if (scene.given == Given::kClean) {
        unknown(scene, scene.call, "some of its inputs are not in the rows").after = before;
      } else if (of.inputs.empty()) {
        unknown(scene, scene.call, "its inputs are not in the rows").after = before;
      } else if (is_surely_overwritten(of)) {
        by_call();
      } else {
        unknown(scene, scene.call, "it wrote over its input, and what that was before is not in the rows").after =
            before;
      }
      return true;
    }
    const Zoom* zoom = zoom_of(scene.call);
    const bool is_held = zoom != nullptr && zoom->found == Zoom::Found::kHeld;
    if (scene.given == Given::kClean && !is_held) return by_call(), true;
    // Its inputs are not there, or a tensor that is none of them holds it.
    const bool was_given = zoom != nullptr && zoom->found == Zoom::Found::kGiven;
    if (found(zoom) || (!was_given && !is_held && is_given_clean(scene.call))) return by_call(), true;
    const std::uint32_t after = last_before(of.parent, Phase::kForward, scene.call);
    if (is_held) {
      if (zoom->held_by.empty()) {
        unknown(scene, scene.call, zoom->why).after = after;
      } else {
        Fault& fault = begin(scene, "R1", FaultKind::kParameter, scene.call);
        fault.phase = Phase::kParameter;
        fault.zoom = zoom;
      }
      return true;
    }
    if (was_given && of.parent != kNoCall) {
      const std::uint32_t zoomed = zoomed_above(of.parent);
      const bool is_sure = zoomed != kNoCall || is_given_clean(of.parent);
      rule_ = "R4";
      Fault& fault = is_sure ? begin(scene, FaultKind::kProduced, of.parent)
                             : unknown(scene, of.parent, "its inputs are not in the rows");
      fault.zoom = zoom_of(zoomed);
      fault.is_own_code = true;
      fault.after = after;
      fault.before = scene.call;
      return true;
    }
    unknown(scene, scene.call, "its inputs are not in the rows").after = last_child != kNoCall ? last_child : after;
    return true;
  }

  bool made_by_loss(const Scene& scene) {
    bool has_results = false;
    for (std::uint32_t i = 0; i < model_.calls.size(); ++i) {
      const Call& each = call(i);
      if (each.phase != Phase::kForward || !is_outermost(each) || each.is_again) continue;
      if (const std::string* why = hints_.not_seen(each.rank, each.iteration, text(each.name), false)) {
        unknown(
            scene, scene.call,
            "results of " + std::string(path_of(model_.form, text(each.name))) + " are not understood (" + *why + ")");
        return true;
      }
      has_results |= !each.outputs.empty();
    }
    if (has_results) {
      begin(scene, FaultKind::kLoss, scene.call);
    } else {
      unknown(scene, scene.call, "the results of the model are not in the rows");
    }
    return true;
  }

  // The gradient of a result of the model.
  bool handed_by_loss(const Scene& scene) {
    const Call& of = call(scene.call);
    if (of.parent != kNoCall) return false;
    const std::uint32_t before = last_before(kNoCall, Phase::kBackward, scene.call);
    const bool is_other =
        before != kNoCall && path_of(model_.form, name_of(before)) != path_of(model_.form, name_of(scene.call));
    Fault* fault = nullptr;
    if (of.has_unseen_parent || is_other) {
      fault = &unknown(scene, scene.call,
                       of.has_unseen_parent ? "what contains it is not in the rows"
                                            : "code that is no call of the rows, or a sum of gradients, made it");
      fault->after = before;
    } else if (!sees_code_) {
      fault = &unknown(scene, scene.call,
                       "what follows made it: the loss, its backward, or code of the model behind its last module");
    } else {
      fault = &begin(scene, FaultKind::kLoss, loss_call());
      fault->is_of_backward = true;
      fault->has_no_loss = fault->call == kNoCall;
    }
    fault->back_of =
        last_ended([&](const Fault& ended) { return ended.ended_by == kNoCall || is_same_module(ended, scene.call); });
    return true;
  }

  // The gradient of a result of a call inside: code of the parent takes that result.
  bool made_by_parents_backward(const Scene& scene) {
    const std::uint32_t parent = call(scene.call).parent;
    if (parent == kNoCall) return false;
    const std::uint32_t after = last_before(parent, Phase::kBackward, scene.call);
    const bool is_after_seen = after == kNoCall || !call(after).outputs.empty();
    Fault* fault = nullptr;
    const Zoom* zoom = zoom_of_backward(scene.call);
    if (!is_after_seen && text(call(parent).op_type) == "Sequential") {
      fault = &begin(scene, FaultKind::kProduced, after);  // nothing else is between them
    } else if (found(zoom) || (is_after_seen && given_to(call(parent)) == Given::kClean)) {
      fault = &begin(scene, FaultKind::kProduced, parent);
      fault->is_own_code = true;
    } else {
      fault = &unknown(scene, is_after_seen ? parent : after, "the gradients between them are not in the rows");
    }
    fault->zoom = zoom;
    if (fault->call != after) fault->after = after;
    fault->before = scene.call;
    fault->back_of = last_ended(
        [&](const Fault& ended) { return is_same_module(ended, fault->call) || is_same_module(ended, scene.call); });
    return true;
  }

  bool made_in_backward(const Scene& scene) {
    const std::uint32_t last_child =
        has_children_[scene.call] ? last_before(scene.call, Phase::kBackward, kNoCall) : kNoCall;
    const Zoom* zoom = zoom_of_backward(scene.call);
    if (scene.given == Given::kClean || found(zoom)) {
      Fault& fault = begin(scene, FaultKind::kProduced, scene.call);
      fault.is_own_code = last_child != kNoCall;
      fault.after = last_child;
      fault.zoom = zoom;
    } else {
      unknown(scene, scene.call, "the gradients of its results are not in the rows").after =
          last_before(call(scene.call).parent, Phase::kBackward, scene.call);
    }
    faults_.back().back_of = last_ended([&](const Fault& ended) { return is_same_module(ended, scene.call); });
    return true;
  }

  // The gradient of a parameter, as backward made it.
  bool made_for_parameter(const Scene& scene) {
    const std::string owner(owner_of(name_of(scene.call)));
    std::uint32_t backward = kNoCall;
    for (std::uint32_t i = 0; i < model_.calls.size(); ++i) {
      const Call& each = call(i);
      if (each.phase != Phase::kBackward) continue;
      const std::string_view path = path_of(model_.form, text(each.name));
      if (path == owner || (owner.empty() && is_outermost(each))) backward = i;
    }
    const Zoom* zoom = zoom_of_backward(scene.call);
    if (backward != kNoCall && (found(zoom) || given_to(call(backward)) == Given::kClean)) {
      Fault& fault = begin(scene, FaultKind::kProduced, backward);
      fault.phase = Phase::kBackward;
      fault.zoom = zoom;
      fault.back_of = last_ended([&](const Fault& ended) { return is_same_module(ended, backward); });
    } else {
      Fault& fault = unknown(scene, backward == kNoCall ? scene.call : backward,
                             "the gradients that its module was given are not in the rows");
      fault.phase = Phase::kBackward;
      fault.back_of = last_ended([](const Fault&) { return true; });
    }
    return true;
  }

  // msprobe's parameters_grad is an output.
  bool changed_after_backward(const Scene& scene) {
    if (model_.form == Form::kModules) return made_for_parameter(scene);
    if (scene.given == Given::kUnseen) {
      unknown(scene, scene.call, "what backward made of it is not in the rows");
      return true;
    }
    const std::uint64_t ranks = std::max<std::uint64_t>(hints_.world_size(), around_.ranks.size());
    if (ranks > around_.ranks.size()) {
      unknown(scene, scene.call,
              "it was received from a rank whose rows are not here, or changed between backward and the step");
      faults_.back().may_be_received = true;
    } else {
      begin(scene, FaultKind::kGradient, scene.call).may_be_received = ranks > 1;
    }
    return true;
  }

  bool written_by_optimizer(const Scene& scene) {
    const Call& of = call(scene.call);
    std::string_view parameter = text(of.name);
    if (text(of.op_type) == "OptimizerState") parameter = parameter.substr(0, parameter.rfind('/'));
    bool has_gradient = false, has_value = text(of.op_type) == "OptimizerState";
    for (const Call& each : model_.calls) {
      if (text(each.name) != parameter) continue;
      has_gradient |= each.phase == Phase::kGradient;  // which is clean: nothing is open
      has_value |= each.phase == Phase::kParameter;
    }
    for (std::uint32_t at = 0; !has_value && at < scene.row; ++at) {
      has_value = row(at).name == of.name && row(at).rank == of.rank && text(row(at).op_type) == "Parameter";
    }
    if (has_gradient && has_value) {
      begin(scene, FaultKind::kOptimizer, scene.call);
    } else {
      unknown(scene, scene.call,
              has_gradient ? "its value before the step is not in the rows" : "its gradient is not in the rows");
    }
    return true;
  }

  // ---- what the rules ask ----

  static bool found(const Zoom* zoom) { return zoom != nullptr && zoom->found == Zoom::Found::kOperation; }
  const Zoom* zoom_of(std::uint32_t at) const {
    return at == kNoCall ? nullptr : hints_.zoom_of(call(at).rank, call(at).iteration, name_of(at));
  }
  // The first of a call and of those that contain it that was run again with success, where those before it were given
  // the fault.
  std::uint32_t zoomed_above(std::uint32_t at) const {
    for (int steps = 0; at != kNoCall && steps < 64; at = call(at).parent, ++steps) {
      const Zoom* zoom = zoom_of(at);
      if (found(zoom)) return at;
      if (zoom == nullptr || zoom->found != Zoom::Found::kGiven) return kNoCall;
    }
    return kNoCall;
  }
  // Of a faulty row of backward: that for which it was the reason, else that of its call.
  const Zoom* zoom_of_backward(std::uint32_t at) const {
    const Call& of = call(at);
    if (const Zoom* zoom = hints_.zoom_because_of(of.rank, of.iteration, text(of.name)))
      return found(zoom) ? zoom : nullptr;
    const Zoom* zoom = zoom_of(at);
    return found(zoom) ? zoom : nullptr;
  }

  // The last call inside `parent` that was over before `of` began; of kNoCall: by now.
  std::uint32_t last_before(std::uint32_t parent, Phase phase, std::uint32_t of) const {
    for (std::size_t at = now_; at-- > 0;) {
      const std::uint32_t each = events_[at].call;
      const Call& seen = call(each);
      if (each == of || seen.parent != parent || rules_of(seen) != phase || seen.is_again || seen.is_of_loss) continue;
      if (events_[at].is_end || seen.outputs.empty()) return each;
    }
    return kNoCall;
  }

  // In a Sequential, a call is given what the call before it gave, and nothing is between them.
  bool is_given_clean(std::uint32_t at) const {
    const Call& of = call(at);
    const Given given = given_to(of);
    const Zoom* zoom = zoom_of(at);
    if (given == Given::kUnseen && zoom != nullptr && zoom->given_finite) return true;
    if (given != Given::kUnseen || of.parent == kNoCall) return given == Given::kClean;
    if (text(call(of.parent).op_type) != "Sequential") return false;
    const std::uint32_t before = last_before(of.parent, Phase::kForward, at);
    return before == kNoCall ? is_given_clean(of.parent) : is_clean(call(before).outputs);
  }

  // Why it cannot be told that the code of a call made something behind a call that it contains.
  std::string unseen_between(std::uint32_t parent, std::uint32_t after) const {
    const auto why = [&](std::uint32_t at, bool is_input) -> std::string {
      const std::string* said = hints_.not_seen(call(at).rank, call(at).iteration, name_of(at), is_input);
      if (said == nullptr) return {};
      return (is_input ? "inputs of " : "results of ") + std::string(path_of(model_.form, name_of(at))) +
             " are not understood (" + *said + ")";
    };
    if (std::string said = why(parent, true); !said.empty()) return said;
    if (after != kNoCall) {
      if (std::string said = why(after, false); !said.empty()) return said;
    }
    // A call without rows of its results is no call of the model, but watch.ndjson names it.
    return hints_.child_not_seen(call(parent).rank, call(parent).iteration, name_of(parent));
  }

  static bool has_gap_in(std::vector<std::uint32_t> slots) {
    std::ranges::sort(slots);
    for (std::uint32_t i = 0; i < slots.size(); ++i) {
      if (slots[i] != i) return true;
    }
    return false;
  }
  bool has_gap(const Call& of) const {
    std::vector<std::uint32_t> slots;
    for (const std::uint32_t input : of.inputs) slots.push_back(row(input).slot);
    return has_gap_in(std::move(slots));
  }

  // The module of a parameter: "blocks.0" of "blocks.0.weight", and of msprobe's "Module.a.Linear.parameters_grad".
  std::string_view owner_of(std::string_view parameter) const {
    if (model_.form == Form::kModules) return path_of(model_.form, parameter);
    const auto dot = parameter.rfind('.');
    return dot == parameter.npos ? std::string_view() : parameter.substr(0, dot);
  }

  std::uint32_t loss_call() const {
    for (std::uint32_t i = 0; i < model_.calls.size(); ++i) {
      if (call(i).phase == Phase::kLoss) return i;
    }
    return kNoCall;
  }

  template <typename Is>
  const Fault* last_ended(const Is& is) const {
    for (auto at = faults_.rbegin(); at != faults_.rend(); ++at) {
      if (!at->is_open && at->phase <= Phase::kForward && is(*at)) return &*at;
    }
    return nullptr;
  }
  // Whether the call of backward is that of the module that made the fault, took it in or contains the maker.
  bool is_same_module(const Fault& ended, std::uint32_t backward) const {
    if (backward == kNoCall) return false;
    const std::string_view path = path_of(model_.form, name_of(backward));
    const auto is = [&](std::uint32_t at) { return at != kNoCall && path_of(model_.form, name_of(at)) == path; };
    return is(ended.call) || is(ended.ended_by) || std::ranges::any_of(ended.carriers, is);
  }

  // ---- which of the faults it is ----

  const Fault* select(bool& is_skipped) {
    bool has_loss = false, has_gradients = false;
    for (const Call& each : model_.calls) {
      if (model_.form == Form::kGraph) break;
      has_loss |= each.phase == Phase::kLoss;
      has_gradients |= each.phase == Phase::kBackward || each.phase == Phase::kGradient;
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
      const bool has_later = has_loss || (has_gradients && !fault.has_nan);
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
    return best;
  }

  bool is_skipped_step(const Call& of) const {
    if (hints_.wrote_nothing(of.rank, of.iteration)) return true;
    if (model_.form != Form::kWatch || hints_.is_of_watch() || !around_.has_written) return false;
    return std::ranges::none_of(model_.calls, [](const Call& each) { return each.phase == Phase::kOptimizer; });
  }

  const Record& record_;
  Hints& hints_;
  const FaultChoice& choice_;
  const Around& around_;
  Model model_;
  bool sees_code_ = true;  // what msprobe calls L0 has rows of the modules that a model contains, and of nothing else
  std::vector<bool> has_children_;
  std::vector<Event> events_;
  std::vector<Fault> faults_;
  std::size_t now_ = 0;  // of the events
  const char* rule_ = "";
};

// R0 is that none has anything to explain. R7 is look_at_clean_outputs(), R8s and the end of R7 select(); R10 is
// is_received() and, for the ranks among each other, Search::pick().
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

// A fault as it is told.
class Telling {
 public:
  Telling(const Record& record, Hints& hints, const FaultChoice& choice, const Walked& walked, bool has_parameters)
      : record_(record), hints_(hints), choice_(choice), walked_(walked), has_parameters_(has_parameters) {}

  FaultVerdict verdict(const Fault& fault) {
    const Call& seen = call(fault.seen_in);
    FaultVerdict verdict;
    verdict.kind = fault.kind;
    verdict.rule = fault.rule;
    verdict.phase = fault.phase;
    verdict.rank = seen.rank;
    verdict.iteration = seen.iteration;
    verdict.row = fault.row;
    verdict.is_own_code = fault.is_own_code;
    verdict.is_of_backward = fault.is_of_backward;
    verdict.has_no_loss = fault.has_no_loss;
    verdict.after = named(fault.after);
    verdict.before = named(fault.before);
    verdict.came_again = fault.came_again;
    verdict.may_be_received = fault.may_be_received;
    verdict.reason = fault.reason;
    std::uint32_t guilty = fault.call;
    if (fault.turned_by != kNoCall && fault.kind == FaultKind::kProduced) {
      if (is_written(fault)) {  // a mask is no fault: who made NaN of it is
        verdict.rule = "R7w";
        verdict.wrote_inf = named(fault.call);
        guilty = fault.turned_by;
        verdict.row = fault.turned_row;
        verdict.is_own_code = fault.is_turned_by_own_code;
        verdict.after = verdict.before = {};
      } else {
        verdict.turned_by = named(fault.turned_by);
      }
    }
    const Zoom* zoom = fault.zoom;
    if (zoom == nullptr && guilty != kNoCall) zoom = zoom_of(guilty);
    if (!verdict.wrote_inf.op_name.empty() && (zoom == nullptr || zoom->found != Zoom::Found::kOperation))
      zoom = zoom_that_turned(guilty);
    if (guilty == kNoCall) zoom = hints_.zoom_of(verdict.rank, verdict.iteration, "loss");
    verdict.zoom = zoom;
    verdict.guilty = guilty == kNoCall ? NamedCall{"Loss", "loss"} : named(guilty);
    if (guilty != kNoCall && zoom != nullptr && zoom->found == Zoom::Found::kOperation) {
      verdict.operation = zoom->operation;
      guilty = module_of(*zoom, guilty, verdict);
    }
    if (verdict.kind == FaultKind::kParameter && zoom != nullptr && !zoom->held_by.empty()) {
      const std::string path(path_of(walked_.model.form, verdict.guilty.op_name));
      const bool is_of_model = path == verdict.guilty.op_type;  // which is named by its class
      verdict.guilty = {"Parameter", is_of_model ? zoom->held_by : path + "." + zoom->held_by};
      verdict.seen_in = named(fault.seen_in);
      guilty = kNoCall;
    }
    verdict.specials = specials_of(record_.statistics(record_.rows()[verdict.row]));
    if (choice_.nan_only) verdict.specials.inf = 0;
    if (fault.seen_in != guilty) verdict.seen_in = named(fault.seen_in);
    verdict.has_no_parameters = !has_parameters_;
    if (fault.back_of != nullptr) {
      verdict.cut_off_at =
          fault.back_of->ended_by == kNoCall ? NamedCall{"Loss", "loss"} : named(fault.back_of->ended_by);
    }
    if (guilty != kNoCall) {
      verdict.inputs = call(guilty).inputs;
      for (std::uint32_t at = call(guilty).parent, steps = 0; at != kNoCall && steps < 64;
           at = call(at).parent, ++steps) {
        verdict.inside.push_back(named(at));
      }
    }
    if (!verdict.operation.empty()) {
      verdict.code = zoom->at;
    } else if (guilty != kNoCall && walked_.model.form == Form::kWatch &&
               path_of(walked_.model.form, verdict.guilty.op_name).find('/') != std::string_view::npos) {
      verdict.operation = verdict.guilty.op_type;  // the rows are of operations
      verdict.code = line_of(guilty);
    } else if (guilty != kNoCall) {
      verdict.code = line_of(guilty);
    }
    return verdict;
  }

  // What was wrong for a while: "Inf of mask (Mask) ended at soft (Softmax)".
  std::string note(const Fault& fault) const {
    const Form form = walked_.model.form;
    std::string text = fault.has_nan ? "NaN" : "Inf";
    const NamedCall maker = named(fault.call);
    text += fault.kind == FaultKind::kEntered ? " that came in with " : fault.is_own_code ? " of the code of " : " of ";
    text += shown_call(form, maker);
    if (fault.ended_by == kNoCall) return text + " ended before the loss and the gradients";
    const NamedCall ender = named(fault.ended_by);
    return text + (ender.op_name == maker.op_name ? " ended there" : " ended at " + shown_call(form, ender));
  }

 private:
  const Call& call(std::uint32_t at) const { return walked_.model.calls[at]; }
  NamedCall named(std::uint32_t at) const {
    if (at == kNoCall) return {};
    return {std::string(record_.texts()[call(at).op_type]), std::string(record_.texts()[call(at).name])};
  }

  std::optional<CodeLine> line_of(std::uint32_t at) {
    const Call& of = call(at);
    const std::string_view op_name = record_.texts()[of.name];
    auto line = hints_.line_of(of.rank, of.iteration, op_name, of.nth);
    if (line || of.phase != Phase::kBackward || walked_.model.form != Form::kWatch) return line;
    return hints_.line_of(of.rank, of.iteration, std::string(path_of(walked_.model.form, op_name)) + "/forward",
                          of.nth);
  }

  const Zoom* zoom_of(std::uint32_t at) const {
    return hints_.zoom_of(call(at).rank, call(at).iteration, record_.texts()[call(at).name]);
  }
  // That of the call that made NaN of an Inf, or of one that contains it.
  const Zoom* zoom_that_turned(std::uint32_t at) const {
    for (int steps = 0; at != kNoCall && steps < 64; at = call(at).parent, ++steps) {
      const Zoom* zoom = zoom_of(at);
      if (zoom != nullptr && zoom->found == Zoom::Found::kOperation && zoom->inf_written) return zoom;
    }
    return nullptr;
  }

  // The call of the module that ran the operation: it may be one inside of the guilty call.
  std::uint32_t module_of(const Zoom& zoom, std::uint32_t guilty, FaultVerdict& verdict) const {
    const Form form = walked_.model.form;
    const std::string_view guilty_name = record_.texts()[call(guilty).name], path = path_of(form, guilty_name);
    const auto is_same = [](std::string_view a, std::string_view b) {
      return escaped_op_name(a) == escaped_op_name(b);
    };
    if (zoom.inside.empty() || is_same(zoom.inside, path) || form != Form::kWatch) return guilty;
    const std::string name = zoom.inside + std::string(guilty_name.substr(path.size()));
    std::uint32_t found = kNoCall;
    verdict.guilty = {"", name};
    for (std::uint32_t i = 0; i < walked_.model.calls.size(); ++i) {
      const Call& each = call(i);
      const std::string_view other = record_.texts()[each.name];
      if (is_same(other, name)) found = i;
      if (is_same(path_of(form, other), zoom.inside)) verdict.guilty.op_type = record_.texts()[each.op_type];
    }
    verdict.is_own_code = false;
    verdict.after = verdict.before = {};
    return found;
  }

  // Whether the Inf that became NaN was written, as a mask is, and not computed.
  bool is_written(const Fault& fault) const {
    if (const Zoom* zoom = zoom_that_turned(fault.turned_by)) return *zoom->inf_written;
    const Zoom* of_maker = zoom_of(fault.call);
    const auto statistics = record_.statistics(record_.rows()[fault.row]);
    const Value* above = statistics.find(Category::kPositiveInfCount);
    if (above != nullptr && *above != Value(std::uint64_t{0})) return false;
    const Value* most = statistics.find(Category::kMax);
    const auto* max = most == nullptr ? nullptr : std::get_if<double>(most);
    if (max != nullptr && std::isinf(*max) && *max > 0) return false;
    if (fault.is_own_code) return false;
    std::string words;
    for (const char c : std::string(record_.texts()[call(fault.call).op_type]) + " " +
                            std::string(record_.texts()[call(fault.call).name])) {
      words += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    if (of_maker != nullptr && of_maker->found == Zoom::Found::kOperation) words = of_maker->operation;
    constexpr std::string_view kWriters[] = {"mask", "fill", "where", "triu", "tril", "full"};
    return std::ranges::any_of(kWriters, [&](std::string_view word) { return words.find(word) != words.npos; });
  }

  const Record& record_;
  Hints& hints_;
  const FaultChoice& choice_;
  const Walked& walked_;
  const bool has_parameters_;  // in the rows
};

// Iteration after iteration, until one has a verdict.
class Search {
 public:
  Search(const Record& record, Hints& hints, const FaultChoice& choice)
      : record_(record), hints_(hints), choice_(choice), form_(form_of(record, hints)) {
    for (const Seen& row : record.rows()) {
      if (record.texts()[row.op_type] != "Parameter") continue;
      has_parameters_ = true;
      has_written_ |= !row.is_input;
    }
  }

  Answer answer() {
    Answer answer;
    std::uint32_t first = 0;
    while (first < record_.run_count()) {
      std::uint32_t last = first + 1;
      const std::uint64_t iteration = iteration_of(first);
      while (last < record_.run_count() && iteration_of(last) == iteration) ++last;
      ++iterations_;
      if (has_fault(first, last)) {
        if (auto verdict = verdict_of(first, last)) {
          answer.verdict = *std::move(verdict);
          break;
        }
      } else {
        skipped_in_a_row_ = 0;
        last_clean_ = iteration;
      }
      first = last;
    }
    if (answer.verdict.kind != FaultKind::kNone) answer.verdict.last_clean_iteration = last_clean_;
    answer.notes = notes();
    put_into_words(record_, form_, answer.verdict, answer.notes.empty());
    return answer;
  }

 private:
  struct Candidate {
    FaultVerdict verdict;
    std::uint32_t rank;
  };
  struct Ended {
    std::uint64_t count = 0, first = 0, last = 0;
  };

  std::uint64_t iteration_of(std::uint32_t run) const { return record_.run(run).front().iteration; }

  bool is_faulty(const Seen& row) const {
    const Specials found = specials_of(record_.statistics(row));
    return found.nan != 0u || (!choice_.nan_only && found.inf != 0u);
  }
  bool has_fault(std::uint32_t first, std::uint32_t last) const {
    for (std::uint32_t run = first; run < last; ++run) {
      if (std::ranges::any_of(record_.run(run), [&](const Seen& row) { return is_faulty(row); })) return true;
    }
    return false;
  }

  Around around(std::uint32_t first, std::uint32_t last) const {
    Around around;
    around.has_written = has_written_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> before;  // by name and rank
    for (std::uint32_t run = first; run < last; ++run) {
      const auto rows = record_.run(run);
      around.ranks.insert(rows.front().rank);
      if (!communicates(record_.texts()[rows.front().op_type])) continue;
      const std::uint32_t nth = before[{rows.front().name, rows.front().rank}]++;
      if (std::ranges::any_of(rows, [&](const Seen& row) { return row.is_input && is_faulty(row); })) {
        around.faulty_meetings.insert({rows.front().name, nth});
      }
    }
    return around;
  }

  std::optional<FaultVerdict> verdict_of(std::uint32_t first, std::uint32_t last) {
    const Around all = around(first, last);
    std::vector<Candidate> candidates;
    bool is_skipped = false;
    const std::uint64_t iteration = iteration_of(first);
    for (const std::uint32_t rank : all.ranks) {
      const Walked walked =
          Walk(record_, hints_, choice_, all, model_of(record_, form_, hints_, rank, first, last)).run();
      Telling telling(record_, hints_, choice_, walked, has_parameters_);
      for (const Fault& fault : walked.faults) {
        if (fault.is_open || &fault == walked.verdict || fault.is_received) continue;
        Ended& ended = ended_[telling.note(fault)];
        if (ended.count++ == 0) ended.first = iteration;
        ended.last = iteration;
      }
      is_skipped |= walked.is_skipped;
      if (walked.verdict != nullptr) candidates.push_back({telling.verdict(*walked.verdict), rank});
    }
    if (!candidates.empty()) return pick(candidates);
    if (is_skipped) {
      skipped_.push_back(iteration);
      most_in_a_row_ = std::max(most_in_a_row_, ++skipped_in_a_row_);
    } else {
      skipped_in_a_row_ = 0;
      last_clean_ = iteration;
    }
    return std::nullopt;
  }

  // Of the ranks: the earliest phase, what is sure before what is not, the least rank. The others received it.
  static FaultVerdict pick(std::vector<Candidate>& candidates) {
    const auto place = [](const Candidate& of) {
      const bool is_unsure = of.verdict.kind == FaultKind::kUnknown || of.verdict.is_own_code;
      return std::tuple(of.verdict.phase, is_unsure, of.rank);
    };
    const auto best = std::ranges::min_element(
        candidates, [&](const Candidate& a, const Candidate& b) { return place(a) < place(b); });
    FaultVerdict verdict = std::move(best->verdict);
    for (const Candidate& each : candidates) {
      if (each.rank != verdict.rank) verdict.other_ranks.push_back(each.rank);
    }
    return verdict;
  }

  std::vector<std::string> notes() const {
    std::vector<std::string> notes;
    if (!skipped_.empty()) {
      constexpr std::size_t kMostNamed = 10;
      constexpr std::uint64_t kMany = 5;
      std::string text = std::to_string(skipped_.size()) + (skipped_.size() == 1 ? " step was" : " steps were") +
                         " skipped (gradients with NaN or Inf, and no parameter was written): iteration" +
                         (skipped_.size() == 1 ? "" : "s");
      for (std::size_t i = 0; i < skipped_.size() && i < kMostNamed; ++i)
        text += (i == 0 ? " " : ", ") + std::to_string(skipped_[i]);
      if (skipped_.size() > kMostNamed) text += " and " + std::to_string(skipped_.size() - kMostNamed) + " more";
      if (most_in_a_row_ >= kMany)
        text += "; " + std::to_string(most_in_a_row_) + " in a row: no scale may be small enough";
      notes.push_back(std::move(text));
    }
    std::vector<const std::pair<const std::string, Ended>*> in_time;
    for (const auto& each : ended_) in_time.push_back(&each);
    std::ranges::stable_sort(in_time, {}, [](const auto* each) { return each->second.first; });
    for (const auto* each : in_time) {
      const Ended& ended = each->second;
      std::string text = each->first + ": ";
      if (ended.count > 1) text += std::to_string(ended.count) + " times, ";
      text += ended.first == ended.last
                  ? "iteration " + std::to_string(ended.first)
                  : "iterations " + std::to_string(ended.first) + " to " + std::to_string(ended.last);
      notes.push_back(std::move(text));
    }
    return notes;
  }

  const Record& record_;
  Hints& hints_;
  const FaultChoice& choice_;
  const Form form_;
  bool has_written_ = false, has_parameters_ = false;
  std::uint64_t iterations_ = 0;
  std::optional<std::uint64_t> last_clean_;
  std::vector<std::uint64_t> skipped_;
  std::uint64_t skipped_in_a_row_ = 0, most_in_a_row_ = 0;
  std::map<std::string, Ended> ended_;
};

}  // namespace

std::string_view name(FaultKind kind) {
  constexpr std::string_view kNames[] = {"none",      "produced", "entered",   "loss",
                                         "parameter", "gradient", "optimizer", "unknown"};
  return kNames[static_cast<int>(kind)];
}

Answer answer_of(const Record& record, Hints& hints, const FaultChoice& choice) {
  return Search(record, hints, choice).answer();
}

}  // namespace tensorstat
