#include "stats/answer/origin/telling.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "stats/answer/origin/ended.hpp"
#include "stats/answer/origin/sentence.hpp"
#include "stats/data/rows/names/direction.hpp"
#include "stats/data/rows/names/op_name.hpp"

namespace tensorstat::origin_rules {

FaultVerdict Telling::verdict(const Fault& fault) {
  const Call& seen = call(fault.seen_in);
  FaultVerdict verdict;
  static_cast<FaultFacts&>(verdict) = fault;
  verdict.rank = seen.rank;
  verdict.iteration = seen.iteration;
  verdict.is_evaluation = walked_.model.is_evaluation;
  verdict.was_skipped =
      hints_.was_told_by_check(seen.rank, seen.iteration) && hints_.wrote_nothing(seen.rank, seen.iteration);
  count_calls(fault, verdict);
  verdict.after = named(fault.after);
  verdict.before = named(fault.before);
  std::uint32_t guilty = fault.call;
  if (fault.turned_by != kNoCall && fault.kind == FaultKind::kProduced) {
    if (is_written(fault)) {  // a mask is not a fault: the call that made NaN of it is
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
  if (!verdict.wrote_inf.op_name.empty() && (zoom == nullptr || zoom->result != Zoom::Outcome::kOperation))
    zoom = zoom_that_turned(guilty);
  if (guilty == kNoCall) zoom = hints_.zoom_of(verdict.rank, verdict.iteration, "loss");
  verdict.zoom = zoom;
  if (fault.made_of != nullptr) {
    verdict.wrote_inf = named(fault.made_of->call);
    verdict.wrote_zoom = fault.made_of->zoom != nullptr ? fault.made_of->zoom : zoom_of(fault.made_of->call);
  }
  verdict.guilty = guilty == kNoCall ? NamedCall{"Loss", "loss"} : named(guilty);
  if (zoom != nullptr && zoom->result == Zoom::Outcome::kOperation) {
    verdict.operation = zoom->operation;
    if (guilty != kNoCall) guilty = module_of(*zoom, guilty, verdict);
  }
  if (zoom != nullptr && zoom->result == Zoom::Outcome::kHeld && !zoom->held_by.empty()) {
    const std::string path(path_of(walked_.model.form, verdict.guilty.op_name));
    const bool is_of_model = path == verdict.guilty.op_type;  // which is named by its class
    verdict.guilty = {"Parameter", !zoom->parameter.empty() ? zoom->parameter
                                   : is_of_model            ? zoom->held_by
                                                            : path + "." + zoom->held_by};
    verdict.seen_in = named(fault.seen_in);
    guilty = kNoCall;
  }
  verdict.specials = specials_of(record_.statistics(record_.rows()[verdict.row]));
  if (choice_.nan_only) verdict.specials.inf = 0;
  if (fault.seen_in != guilty) verdict.seen_in = named(fault.seen_in);
  verdict.has_no_parameters = !has_parameters_;
  verdict.has_operations = hints_.watched() && hints_.watched()->has_operations;
  const Fault* ended = fault.back_in != kNoCall ? &fault : fault.back_of;
  if (ended != nullptr) {
    verdict.cut_off_at = ended->ended_by == kNoCall ? NamedCall{"Loss", "loss"} : named(ended->ended_by);
    verdict.is_cut_off_inside = is_ended_inside(*ended);
  }
  if (fault.back_of != nullptr && fault.back_of->call != kNoCall) {
    verdict.forward_maker = named(fault.back_of->call);
    verdict.forward_fault = fault.back_of->has_nan ? "NaN" : "Inf";
    verdict.forward_code = line_of(fault.back_of->call);
  }
  verdict.back_in = named(fault.back_in);
  verdict.through = named(fault.through);
  if (guilty != kNoCall) {
    verdict.inputs = call(guilty).inputs;
    for (std::uint32_t outer = call(guilty).parent, steps = 0; outer != kNoCall && steps < 64;
         outer = call(outer).parent, ++steps) {
      verdict.inside.push_back(named(outer));
    }
  }
  name_tensors(fault, verdict);
  if (!verdict.operation.empty()) {
    verdict.code = zoom->code;
  } else if (guilty != kNoCall && walked_.model.form == Form::kWatch &&
             path_of(walked_.model.form, verdict.guilty.op_name).find('/') != std::string_view::npos) {
    verdict.operation = verdict.guilty.op_type;  // the rows are of operations
    verdict.code = line_of(guilty);
  } else if (guilty != kNoCall) {
    verdict.code = line_of(guilty);
  }
  return verdict;
}

std::uint32_t Telling::outermost_of(const Fault& fault) const {
  std::uint32_t outermost = fault.call == kNoCall ? fault.seen_in : fault.call;
  for (int steps = 0; call(outermost).parent != kNoCall && steps < 64; ++steps) outermost = call(outermost).parent;
  return outermost;
}

void Telling::name_tensors(const Fault& fault, FaultVerdict& verdict) const {
  if (walked_.model.form != Form::kWatch) return;
  const std::string_view model = path_of(Form::kWatch, record_.texts()[call(outermost_of(fault)).name]);
  for (const Call& each : walked_.model.calls) {
    if (each.phase != Phase::kForward || each.parent != kNoCall || each.is_of_loss) continue;
    // A loss, and a gradient, are of all that the model was given.
    if (fault.phase == Phase::kForward && path_of(Form::kWatch, record_.texts()[each.name]) != model) continue;
    verdict.of_model = each.inputs;
    if (fault.phase != Phase::kForward || &each == &call(outermost_of(fault))) break;
  }
  const auto name = [&](std::uint32_t index) {
    const RecordRow& row = record_.rows()[index];
    std::string text =
        hints_.name_of_tensor(row.rank, row.iteration, record_.texts()[row.name], row.is_input, row.slot);
    if (!text.empty()) verdict.tensor_names[index] = std::move(text);
  };
  name(verdict.row);
  for (const std::uint32_t each : verdict.inputs) name(each);
  for (const std::uint32_t each : verdict.of_model) name(each);
  const RecordRow& row = record_.rows()[verdict.row];
  const FaultyRows* faulty_rows =
      hints_.faulty_rows(row.rank, row.iteration, record_.texts()[row.name], row.is_input, row.slot);
  if (faulty_rows != nullptr) verdict.faulty_rows = *faulty_rows;
}

void Telling::count_calls(const Fault& fault, FaultVerdict& verdict) const {
  const auto& calls = walked_.model.calls;
  const std::uint32_t outermost = fault.is_of_backward ? fault.seen_in : outermost_of(fault);
  const Call& outer = call(outermost);
  const bool is_call = outer.phase == Phase::kForward || outer.phase == Phase::kLoss || outer.phase == Phase::kBackward;
  if (walked_.model.form != Form::kWatch || !is_call || outer.is_of_loss) return;
  for (std::uint32_t i = 0; i < calls.size(); ++i) {
    if (calls[i].name != outer.name || calls[i].phase != outer.phase || calls[i].is_again) continue;
    ++verdict.call_count;
    if (i == outermost) verdict.nth_call = verdict.call_count;
  }
}

std::string Telling::note(const Fault& fault) const {
  const Form form = walked_.model.form;
  std::string text = fault.has_nan ? "NaN" : "Inf";
  const NamedCall maker = named(fault.is_in_container ? fault.seen_in : fault.call);
  text += fault.is_in_container               ? " in a container that was given to "
          : fault.kind == FaultKind::kEntered ? " that came in with "
          : fault.is_own_code                 ? " of the code of "
                                              : " of ";
  text += shown_call(form, maker);
  if (fault.is_meant) return text + " was written, as a mask is, and no NaN came of it";
  if (fault.ended_by == kNoCall) return text + " ended before the loss and the gradients";
  const NamedCall ender = named(fault.ended_by);
  if (ender.op_name == maker.op_name) return text + " ended there";
  return text + (is_ended_inside(fault) ? " ended inside " : " ended at ") + shown_call(form, ender);
}

bool Telling::is_ended_inside(const Fault& fault) const {
  const std::uint32_t maker = fault.is_in_container || fault.call == kNoCall ? fault.seen_in : fault.call;
  return fault.ended_by != kNoCall && (maker == fault.ended_by || walked_.model.is_inside(maker, fault.ended_by));
}

NamedCall Telling::named(std::uint32_t index) const {
  if (index == kNoCall) return {};
  return {std::string(record_.texts()[call(index).op_type]), std::string(record_.texts()[call(index).name])};
}

std::optional<CodeLine> Telling::line_of(std::uint32_t index) {
  const Call& callee = call(index);
  const std::string_view op_name = record_.texts()[callee.name];
  auto line = hints_.line_of(callee.rank, callee.iteration, op_name, callee.nth);
  if (line || callee.phase != Phase::kBackward || walked_.model.form != Form::kWatch) return line;
  return hints_.line_of(callee.rank, callee.iteration, forward_name_of(op_name), callee.nth);
}

const Zoom* Telling::zoom_of(std::uint32_t index) const {
  return hints_.zoom_of(call(index).rank, call(index).iteration, record_.texts()[call(index).name]);
}

const Zoom* Telling::zoom_that_turned(std::uint32_t index) const {
  for (int steps = 0; index != kNoCall && steps < 64; index = call(index).parent, ++steps) {
    const Zoom* zoom = zoom_of(index);
    if (zoom != nullptr && zoom->result == Zoom::Outcome::kOperation && zoom->inf_written) return zoom;
  }
  return nullptr;
}

std::uint32_t Telling::module_of(const Zoom& zoom, std::uint32_t guilty, FaultVerdict& verdict) const {
  const Form form = walked_.model.form;
  const std::string_view guilty_name = record_.texts()[call(guilty).name], path = path_of(form, guilty_name);
  const auto is_same = [](std::string_view a, std::string_view b) { return escaped_op_name(a) == escaped_op_name(b); };
  if (zoom.inside.empty() || is_same(zoom.inside, path) || form != Form::kWatch) return guilty;
  const std::string name = zoom.inside + std::string(guilty_name.substr(path.size()));
  std::uint32_t runner = kNoCall;
  verdict.guilty = {"", name};
  for (std::uint32_t i = 0; i < walked_.model.calls.size(); ++i) {
    const Call& each = call(i);
    const std::string_view other = record_.texts()[each.name];
    if (is_same(other, name)) runner = i;
    if (is_same(path_of(form, other), zoom.inside)) verdict.guilty.op_type = record_.texts()[each.op_type];
  }
  verdict.is_own_code = false;
  verdict.after = verdict.before = {};
  return runner;
}

bool Telling::is_written(const Fault& fault) const {
  if (const Zoom* zoom = zoom_that_turned(fault.turned_by)) return *zoom->inf_written;
  return is_inf_written(record_, hints_, walked_.model, fault);
}

}  // namespace tensorstat::origin_rules
