// Goes through the calls of one iteration of one rank in the order of time, and explains each row that holds a fault.
//
// walk.cpp has the order and the list of rules. The rules stand by phase in rules_forward.cpp, rules_loss.cpp,
// rules_backward.cpp and rules_optimizer.cpp. ended.cpp has R7, the faults that end; ranks.cpp has R10.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stats/answer/compare/judge.hpp"
#include "stats/answer/compare/record.hpp"
#include "stats/answer/origin/fault.hpp"
#include "stats/answer/origin/hints.hpp"
#include "stats/answer/origin/model.hpp"
#include "stats/answer/origin/verdict.hpp"

namespace tensorstat::origin_rules {

class Walk {
 public:
  Walk(const Record& record, Hints& hints, const FaultChoice& choice, const Around& around, Model model)
      : record_(record), hints_(hints), choice_(choice), around_(around), model_(std::move(model)) {}

  Walked run();

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
  Specials fault_of(std::uint32_t at) const { return fault_in(record_, row(at), choice_); }
  bool is_faulty(std::uint32_t at) const { return fault_of(at).any(); }
  // An operator that works in place leaves its result in an input: what it was given is then not in the rows.
  bool is_overwritten(const Call& of, std::uint32_t input) const;
  // Where digests or finite statistics are the same, and not NaN alone.
  bool is_surely_overwritten(const Call& of) const;
  Given given_to(const Call& of) const;
  bool is_clean(const std::vector<std::uint32_t>& rows) const;
  // The phase that the rules go by: operators of a graph have no others than these.
  Phase rules_of(const Call& of) const;
  bool is_outermost(const Call& of) const { return of.parent == kNoCall && !of.has_unseen_parent && !of.is_of_loss; }

  // ---- events ----

  void make_events();
  void look_at(const Event& event);

  // ---- faults that are open ----

  static bool is_new_data(const Fault& fault) { return fault.kind != FaultKind::kParameter; }
  bool has_inside(const Fault& fault, std::uint32_t outer) const;
  // Whether a fault that is open came here.
  bool is_carried(const Scene& scene);
  void carry(Fault& fault, const Scene& scene);
  Fault& begin(const Scene& scene, const char* rule, FaultKind kind, std::uint32_t guilty);
  Fault& begin(const Scene& scene, FaultKind kind, std::uint32_t guilty) { return begin(scene, rule_, kind, guilty); }
  Fault& unknown(const Scene& scene, std::uint32_t suspect, std::string reason);
  // What was not watched is missing: `what` as in "its gradient", `option` as in "gradients".
  Fault& unwatched(const Scene& scene, std::uint32_t suspect, std::string_view what, std::string_view option);

  // ---- R7: faults that end ----

  void look_at_clean_inputs(std::uint32_t at);
  void look_at_clean_outputs(std::uint32_t at);
  void end_of_forward(bool is_by_loss);
  static void end(Fault& fault, std::uint32_t by);
  const Fault* select(bool& is_skipped);
  bool is_skipped_step(const Call& of) const;
  bool wrote_inf(const Fault& fault) const;
  // Whether results of the model hold the fault, and backward gave none of them a gradient.
  bool is_unused(const Fault& fault) const;
  static void doubt(Fault& fault, std::string reason, std::string next);

  // ---- the rules, as in the list ----

  bool is_of_parameter(const Scene& scene);
  bool is_received(const Scene& scene);
  // A fault that had ended was used another way, too.
  bool comes_again(const Scene& scene);
  // An operation between the model and the loss made it, or the targets hold it.
  bool made_in_loss(const Scene& scene);
  bool came_in(const Scene& scene);
  // Code of the parent, between calls that it contains.
  bool made_by_parent(const Scene& scene);
  bool made_by_call(const Scene& scene);
  bool made_by_loss(const Scene& scene);
  // The gradient of a result of the model.
  bool handed_by_loss(const Scene& scene);
  // The gradient of a result of a call inside: code of the parent takes that result.
  bool made_by_parents_backward(const Scene& scene);
  bool made_in_backward(const Scene& scene);
  // The gradient of a parameter, as backward made it.
  bool made_for_parameter(const Scene& scene);
  // msprobe's parameters_grad is an output.
  bool changed_after_backward(const Scene& scene);
  bool written_by_optimizer(const Scene& scene);

  // ---- what the rules ask ----

  static bool found(const Zoom* zoom) { return zoom != nullptr && zoom->found == Zoom::Found::kOperation; }
  const Zoom* zoom_of(std::uint32_t at) const;
  // Goes from a call outwards while zooms say that the call was given the fault. Returns the first call where a zoom
  // found the operation, or kNoCall.
  std::uint32_t zoomed_above(std::uint32_t at) const;
  // The zoom that ran because this row of backward was faulty, else the zoom of its call.
  const Zoom* zoom_of_backward(std::uint32_t at) const;
  // The last call inside `parent` that was over before `of` began; of kNoCall: by now.
  std::uint32_t last_before(std::uint32_t parent, Phase phase, std::uint32_t of) const;
  // In a Sequential, a call is given what the call before it gave, and nothing is between them.
  bool is_given_clean(std::uint32_t at) const;
  // Why it cannot be told that the code of a call made something behind a call that it contains.
  std::string unseen_between(std::uint32_t parent, std::uint32_t after) const;
  bool has_gap(const Call& of) const;
  // The module of a parameter: "blocks.0" of "blocks.0.weight", and of msprobe's "Module.a.Linear.parameters_grad".
  std::string_view owner_of(std::string_view parameter) const;
  std::uint32_t loss_call() const;
  // Whether a call may use parameters, and nobody looked at them.
  bool may_hold_parameters(std::uint32_t at) const;
  template <typename Is>
  const Fault* last_ended(const Is& is) const {
    for (auto at = faults_.rbegin(); at != faults_.rend(); ++at) {
      if (!at->is_open && at->phase <= Phase::kForward && is(*at)) return &*at;
    }
    return nullptr;
  }
  // Whether the backward belongs to a module that made the fault, took it in, or contains the maker.
  bool is_same_module(const Fault& ended, std::uint32_t backward) const;

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

}  // namespace tensorstat::origin_rules
