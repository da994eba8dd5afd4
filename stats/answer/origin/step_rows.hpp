// The facts for a rule: the calls of one iteration of one rank, and the events before the scene that it judges. The
// references must outlive it.
#pragma once

#include <cstdint>
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

// Where a call is given its inputs, or has its outputs.
struct Event {
  std::uint64_t time = 0;
  std::uint32_t call = kNoCall;
  bool is_end = false;
  std::uint32_t faulty_row = kNoRow;
};

// A faulty row that a rule has to explain.
struct Scene {
  std::uint32_t call;
  std::uint32_t row;
  bool is_end;
  Phase phase;  // by which the rules go
  InputState given;
};

class StepRows {
 public:
  StepRows(const Record& record, const Hints& hints, const FaultChoice& choice, const Around& around, Model model);

  const Call& call(std::uint32_t index) const { return model.calls[index]; }
  std::string_view text(std::uint32_t id) const { return record.texts()[id]; }
  std::string_view name_of(std::uint32_t index) const { return text(call(index).name); }
  std::string_view path_of(std::uint32_t index) const { return tensorstat::path_of(model.form, name_of(index)); }
  const RecordRow& row(std::uint32_t index) const { return record.rows()[index]; }
  Specials fault_of(std::uint32_t index) const { return fault_in(record, row(index), choice); }
  bool is_faulty(std::uint32_t index) const { return fault_of(index).any(); }
  // An operator that works in place leaves its result in an input: what it was given is then not in the rows.
  bool is_overwritten(const Call& callee, std::uint32_t input) const;
  InputState given_to(const Call& callee) const;
  // Whether a result may hold a NaN. The results of a comparison cannot; a call without rows of results may.
  bool gives_floats(const Call& callee) const;
  // Whether the faults in its inputs lie in containers. It may have looked past them.
  bool is_only_held(std::uint32_t index) const;
  bool is_held(const Call& callee, std::uint32_t input) const {
    return hints.is_held(callee.rank, callee.iteration, text(callee.name), row(input).slot);
  }
  // The phase that the rules go by: operators of a graph have no others than these.
  Phase rules_of(const Call& callee) const {
    return !is_flat(model.form) || callee.phase == Phase::kParameter ? callee.phase : Phase::kForward;
  }
  bool is_outermost(const Call& callee) const {
    return callee.parent == kNoCall && !callee.has_unseen_parent && !callee.is_of_loss;
  }
  const Zoom* zoom_of(std::uint32_t index) const {
    return index == kNoCall ? nullptr : hints.zoom_of(call(index).rank, call(index).iteration, name_of(index));
  }
  // The last call inside `parent` that was over before `next` began; of kNoCall: by now.
  std::uint32_t last_before(std::uint32_t parent, Phase phase, std::uint32_t next) const;
  // The first loss in the rows, or kNoCall.
  std::uint32_t loss_call() const;
  // The module of a parameter: "blocks.0" of "blocks.0.weight", and of msprobe's "Module.a.Linear.parameters_grad".
  std::string_view owner_of(std::string_view parameter) const;
  // Whether what the fault is in was inside of this call, or may be a parameter of it.
  bool has_inside(const Fault& fault, std::uint32_t outer) const;

  const Record& record;
  const Hints& hints;
  const FaultChoice& choice;
  const Around& around;
  Model model;
  bool sees_code = true;  // what msprobe calls L0 has rows of the modules that a model contains, and of nothing else
  std::vector<bool> has_children;
  std::vector<Event> events;  // in the order of time
  std::size_t now = 0;        // the event that is looked at
  std::vector<Fault> faults;  // so far; they stay where they are
};

inline bool found(const Zoom* zoom) { return zoom != nullptr && zoom->result == Zoom::Outcome::kOperation; }

}  // namespace tensorstat::origin_rules
