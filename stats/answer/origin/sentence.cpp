#include "stats/answer/origin/sentence.hpp"

#include <optional>
#include <utility>
#include <vector>

#include "stats/answer/origin/operation_reasons.hpp"
#include "stats/answer/origin/reasons.hpp"
#include "stats/core/base/printable.hpp"
#include "stats/data/rows/names/row_kind.hpp"

namespace tensorstat {
namespace {

std::string base_of(std::string_view file) {
  return printable_name(file.substr(file.rfind('/') + 1));  // npos + 1 is 0
}

std::string shown_line(const CodeLine& code) {
  return code.line == 0 ? base_of(code.file) : base_of(code.file) + ":" + std::to_string(code.line);
}

class Words {
 public:
  Words(const Record& record, Form form, FaultVerdict& verdict) : record_(record), form_(form), verdict_(verdict) {}

  void put() {
    verdict_.sentence = sentence();
    add_line_of_code();
    add_rows();
    add_reasons();
    add_odd();
    add_inputs();
    add_inside();
    add_next();
    constexpr std::size_t kMost = 8;
    if (verdict_.details.size() > kMost) verdict_.details.resize(kMost);
  }

 private:
  const RecordRow& seen() const { return record_.rows()[verdict_.row]; }
  std::string_view name_of_row(std::uint32_t row) const { return record_.texts()[record_.rows()[row].name]; }
  std::string call(const NamedCall& named) const { return shown_call(form_, named); }
  void detail(std::string text) { verdict_.details.push_back(std::move(text)); }

  // "NaN", "Inf", or both.
  std::string fault() const {
    const bool nan = verdict_.specials.nan != 0u, inf = verdict_.specials.inf != 0u;
    return nan && inf ? "NaN and Inf" : nan ? "NaN" : "Inf";
  }
  // "1 NaN of 24 values"
  std::string counted() const {
    const std::string count = words_of(verdict_.specials);
    return seen().element_count > 1 ? count + " of " + std::to_string(seen().element_count) + " values" : count;
  }
  // ", iteration 412 (411 was clean), rank 1"
  std::string when() const {
    const bool has_iterations = form_ != Form::kLaunches || verdict_.iteration != 0;
    const char* const what = verdict_.is_evaluation ? ", evaluation before iteration " : ", iteration ";
    std::string text = has_iterations ? what + std::to_string(verdict_.iteration) : "";
    if (has_iterations && verdict_.last_clean_iteration) {
      const std::uint64_t last = *verdict_.last_clean_iteration;
      text += " (" + std::to_string(last) + " was clean" +
              (last + 1 == verdict_.iteration ? ")" : ", those between are not in the rows)");
    }
    if (verdict_.nth_call != 0 && verdict_.call_count > 1)
      text += ", call " + std::to_string(verdict_.nth_call) + " of " + std::to_string(verdict_.call_count);
    bool has_ranks = verdict_.rank != 0;
    for (const RecordRow& row : record_.rows()) {
      if (has_ranks) break;
      has_ranks = row.rank != verdict_.rank;
    }
    if (has_ranks) text += ", rank " + std::to_string(verdict_.rank);
    return text;
  }
  std::string in_phase() const {
    return form_ == Form::kLaunches ? std::string() : ", " + std::string(name(verdict_.phase));
  }
  // Adds the name, if there are several losses.
  std::string the_loss() const {
    const std::string_view name = verdict_.guilty.op_name;
    return "The loss" + (name.starts_with("loss/") ? " " + printable_name(name.substr(5)) : std::string());
  }
  bool is_zoomed() const { return verdict_.zoom != nullptr && verdict_.zoom->result == Zoom::Outcome::kOperation; }
  std::string between() const {
    std::string text;
    if (verdict_.after.is_named()) text += " after " + call(verdict_.after);
    if (verdict_.before.is_named()) text += (text.empty() ? " before " : ", before ") + call(verdict_.before);
    return text;
  }
  bool is_of_buffer() const { return row_kind(verdict_.row_of.op_type) == RowKind::kBuffer; }
  std::string slot_of(std::uint32_t row) const {
    const RecordRow& seen = record_.rows()[row];
    const auto name = verdict_.tensor_names.find(row);
    return (seen.is_input ? "input " : "output ") + std::to_string(seen.slot) +
           (name == verdict_.tensor_names.end() ? "" : " (" + printable_name(name->second) + ")");
  }
  std::string io_slot() const { return slot_of(verdict_.row); }

  // "made it of the Inf that mask (Mask) wrote"; "" if no mask wrote one.
  std::string made_of() const {
    return verdict_.wrote_inf.is_named() ? "made it of the Inf that " + call(verdict_.wrote_inf) + " wrote" : "";
  }

  // "at head (Linear)". "inside Model" where the code of Model cut off what a module in it made.
  std::string place_of_cut() const {
    return (verdict_.is_cut_off_inside ? "inside " : "at ") + call(verdict_.cut_off_at);
  }
  // "clamp at modeling_t5.py:593 in layers.1 (T5Block) cut the Inf off"
  std::string cut_off() const {
    const CutOff& cut = *verdict_.cut_off;
    return printable_name(cut.operation) + (cut.code ? " at " + shown_line(*cut.code) : "") + " cut the Inf off, in " +
           printable_name(path_of(form_, cut.by));
  }

  std::string sentence() const {
    const std::string guilty = call(verdict_.guilty), phase(name(verdict_.phase));
    switch (verdict_.kind) {
      case FaultKind::kNone:
        return "Nothing wrong";
      case FaultKind::kEntered: {
        if (form_ == Form::kLaunches) {
          return fault() + " came from the host: " + guilty + " " + io_slot() + " holds " + counted() + when() +
                 ". No launch before it made it";
        }
        const std::string what = form_ == Form::kGraph ? "No operator before it made it" : "No call made it";
        return fault() + " came in with the data: " + guilty + " " + io_slot() + " holds " + counted() + when() + ". " +
               what;
      }
      case FaultKind::kParameter: {
        if (verdict_.seen_in.is_named()) {
          const bool is_buffer = verdict_.zoom != nullptr && verdict_.zoom->why.starts_with("the buffer");
          return (is_buffer ? "The buffer " : "The parameter ") + printable_name(verdict_.guilty.op_name) + " holds " +
                 fault() + ": " + call(verdict_.seen_in) + " gave it with " + counted() + when();
        }
        const std::string what = seen().is_parameter ? "A parameter of " + guilty
                                                     : "The parameter " + printable_name(verdict_.guilty.op_name);
        return what + " holds " + counted() + " before anything ran" + when();
      }
      case FaultKind::kLoss:
        if (row_kind(verdict_.guilty.op_type) != RowKind::kLoss) {
          const bool is_backward = verdict_.phase == Phase::kBackward;
          return (is_backward ? "The backward of the loss: " : "The loss: ") + fault() + " in " + guilty +
                 (is_backward ? "" : ", " + phase) + when() + ": " +
                 (made_of().empty()
                      ? seen().is_input ? "what it was given holds it, such as the targets" : "made of finite values"
                      : made_of());
        }
        if (verdict_.has_no_loss) {
          return "The gradient that " + call(verdict_.seen_in) + " is given holds " + counted() +
                 ": what follows it made it, the loss or its backward" + when() +
                 (is_zoomed() ? "" : "; step(loss) would tell");
        }
        if (verdict_.is_of_backward) {
          const bool has_several = verdict_.call_count > 1;  // step() is told one of their losses, or a sum
          return "The gradient that the loss hands to " +
                 call(verdict_.seen_in.is_named() ? verdict_.seen_in : verdict_.guilty) + " holds " + counted() +
                 (has_several ? ", and the loss that step() was told is finite: the loss of this call or its backward"
                              : ", and the loss is finite: the backward of the loss") +
                 " made it" + when();
        }
        return the_loss() + " is " + fault() +
               (made_of().empty() ? ", and the model is not: what follows the model made it, or the targets hold it"
                                  : ": what follows the model " + made_of()) +
               when();
      case FaultKind::kGradient:
        return "The gradient of " + printable_name(verdict_.guilty.op_name) +
               " was finite when backward made it, and holds " + counted() + " before the optimizer's step" + when() +
               ": something between them changed it";
      case FaultKind::kOptimizer:
        return "The optimizer wrote " + fault() + " into " + printable_name(verdict_.guilty.op_name) +
               ", whose value and gradient were finite before" + when();
      case FaultKind::kUnknown:
        if (verdict_.phase == Phase::kBackward && verdict_.after.is_named() && verdict_.before.is_named()) {
          const bool may_be_its_own = verdict_.guilty.op_name == verdict_.after.op_name;
          const std::string after = call(verdict_.after);
          return (may_be_its_own
                      ? "Not known: " + fault() + " began in the backward of " + after + ", or between it and "
                      : fault() + " began in backward between " + after + ", whose gradient is clean, and ") +
                 call(verdict_.before) + when() + ": " + printable_name(verdict_.reason);
        }
        return "Not known: " + fault() + " is first in " + io_slot() + " of " +
               call(verdict_.seen_in.is_named() ? verdict_.seen_in : verdict_.guilty) + in_phase() + when() + ", and " +
               printable_name(verdict_.reason) + (verdict_.next.empty() ? "" : "; " + verdict_.next);
      case FaultKind::kProduced:
        break;
    }
    if (verdict_.is_likely) {
      return "Likely: overflow of " + std::string(record_.texts()[seen().dtype]) + " in " + guilty + in_phase() +
             when() + (verdict_.cut_off ? "; " + cut_off() : "");
    }
    std::string text = fault() + " in " + guilty + in_phase() + when() + ": ";
    if (verdict_.is_own_code) return text + "made by its own code" + between();
    if (verdict_.wrote_inf.is_named()) return text + "made of the Inf that " + call(verdict_.wrote_inf) + " wrote";
    if (is_of_buffer()) return text + "written into its buffer " + printable_name(verdict_.row_of.op_name);
    const bool is_backward = verdict_.phase == Phase::kBackward;
    if (is_backward) return text + "made of finite gradients";
    return text + (!verdict_.inputs.empty() ? "made of finite inputs"
                   : is_zoomed()            ? "made of finite values"
                                            : "made there");
  }

  std::string reason_of_zoom(const Zoom& zoom) const {
    if (zoom.why.empty())
      return reason_of_operation(verdict_.operation, operands_of(zoom.given), gave_of(zoom.gave), "");
    const std::string why = printable_name(zoom.why);
    constexpr std::string_view kBackward = "backward of ";
    if (!why.starts_with(kBackward) || why.find(';') != why.npos) return why;
    const std::string reason = reason_of_backward(std::string_view(why).substr(kBackward.size()));
    return reason.empty() ? why : why + ", and " + reason;
  }

  void add_line_of_code() {
    const Zoom* zoom = verdict_.zoom;
    if (!verdict_.operation.empty()) {
      std::string text =
          printable_name(verdict_.operation) + (verdict_.code ? " at " + shown_line(*verdict_.code) : "");
      if (!is_zoomed()) {
        if (verdict_.code) detail(std::move(text));
        return;
      }
      if (!zoom->given.empty()) text += " was given " + printable_name(zoom->given);
      if (!zoom->gave.empty()) text += (zoom->given.empty() ? " gave " : " and gave ") + printable_name(zoom->gave);
      const std::string why = reason_of_zoom(*zoom);
      return detail(text + (why.empty() ? "" : ": " + why));
    }
    if (verdict_.code && verdict_.kind != FaultKind::kEntered) {
      detail("called at " + printable_name(verdict_.code->file) +
             (verdict_.code->line == 0 ? "" : ":" + std::to_string(verdict_.code->line)));
    }
    if (zoom == nullptr) return;
    if (row_kind(verdict_.guilty.op_type) == RowKind::kLoss && !zoom->why.empty())
      return detail(printable_name(zoom->why));
    if (zoom->result == Zoom::Outcome::kClean) {
      detail("run again, it gave finite values: hidden state, or the hardware");
    } else if (zoom->result == Zoom::Outcome::kRefused && !zoom->why.empty()) {
      detail("the operation is not known: " + printable_name(zoom->why));
    }
  }

  bool shows_inputs() const {
    return verdict_.kind == FaultKind::kProduced || verdict_.kind == FaultKind::kUnknown ||
           verdict_.kind == FaultKind::kOptimizer;
  }
  std::vector<const RecordRow*> inputs() const {
    std::vector<const RecordRow*> rows;
    if (!shows_inputs()) return rows;
    for (const std::uint32_t input : verdict_.inputs) rows.push_back(&record_.rows()[input]);
    return rows;
  }

  // "NaN is in row 1 of 3 (first dimension)"
  void add_rows() {
    if (!verdict_.faulty_rows || verdict_.faulty_rows->rows.empty()) return;
    const FaultyRows& faulty_rows = *verdict_.faulty_rows;
    if (faulty_rows.count >= faulty_rows.whole) return;
    constexpr std::size_t kMost = 4;
    const bool is_both = verdict_.specials.nan != 0u && verdict_.specials.inf != 0u;
    std::string text = fault() + (is_both ? " are in row" : " is in row") + (faulty_rows.count == 1 ? " " : "s ");
    for (std::size_t i = 0; i < faulty_rows.rows.size() && i < kMost; ++i)
      text += (i == 0 ? "" : ", ") + std::to_string(faulty_rows.rows[i]);
    if (faulty_rows.count > kMost) text += " and " + std::to_string(faulty_rows.count - kMost) + " more";
    detail(text + " of " + std::to_string(faulty_rows.whole) + ", counted from 0 in the first dimension");
  }

  // The input of the model, if it is finite and unlike the earlier inputs.
  void add_odd() {
    const bool is_of_data = verdict_.kind == FaultKind::kProduced || verdict_.kind == FaultKind::kLoss;
    if (!is_of_data || verdict_.phase > Phase::kBackward) return;
    for (const std::uint32_t input : verdict_.of_model) {
      const RecordRow& row = record_.rows()[input];
      if (std::string why = oddity_of(record_, row); !why.empty())
        return detail(call({std::string(record_.texts()[row.op_type]), std::string(record_.texts()[row.name])}) + " " +
                      slot_of(input) + " " + why);
    }
  }

  void add_reasons() {
    if (verdict_.cut_off) {
      detail(
          "likely, and not sure: the training may mean to cut overflows off. It went on with numbers that nothing "
          "computed");
    } else if (verdict_.is_likely) {
      detail("likely, and not sure: what it was given is not in the rows; " +
             std::string(form_ == Form::kWatch ? "watch(model, inputs=True) would tell" : "rows of inputs would tell"));
    }
    if (verdict_.was_skipped)
      detail("check() of the watch told it, and the optimizer wrote nothing: the step was skipped");
    if (verdict_.through.is_named()) {
      detail(call(verdict_.through) +
             " was given it in a container, and may have made a fault of its own instead: likely, and not sure");
    }
    if (verdict_.came_again) {
      const std::string use = verdict_.buffer_row == kNoRow
                                  ? "used another way"
                                  : "written into the buffer " + printable_name(name_of_row(verdict_.buffer_row));
      detail("it ended at a call, and was " + use + ", too: likely, and not sure");
    }
    if (const Zoom* wrote = verdict_.wrote_zoom; wrote != nullptr && wrote->code)
      detail(printable_name(wrote->operation) + " at " + shown_line(*wrote->code) +
             " wrote the Inf, which is no fault");
    if (verdict_.turned_by.is_named()) detail(call(verdict_.turned_by) + " made NaN of that Inf");
    if (verdict_.back_in.is_named()) {
      detail("it was cut off " + place_of_cut() + ", and came back in the backward of " + call(verdict_.back_in) +
             " (0 * " + fault() + ")");
    } else if (verdict_.cut_off_at.is_named()) {
      const std::string line = verdict_.forward_code ? " at " + shown_line(*verdict_.forward_code) : "";
      const std::string maker = verdict_.forward_maker.is_named() ? call(verdict_.forward_maker) + line + " gave " +
                                                                        verdict_.forward_fault + " in the forward"
                                                                  : "the forward had it, too";
      detail(maker + ": it was cut off " + place_of_cut() + ", and came back in backward (0 * " +
             (verdict_.forward_maker.is_named() ? verdict_.forward_fault : "NaN") + ")");
    }
    const bool is_span_said =
        verdict_.phase == Phase::kBackward && verdict_.after.is_named() && verdict_.before.is_named();
    if (verdict_.kind == FaultKind::kUnknown && !is_span_said &&
        (verdict_.after.is_named() || verdict_.before.is_named())) {
      detail("it began" + between() + (verdict_.after.is_named() ? ", which is clean" : ""));
    }
    const bool is_of_gradients = verdict_.phase == Phase::kBackward || verdict_.phase == Phase::kGradient;
    const bool is_blind = form_ == Form::kModules || (form_ == Form::kWatch && verdict_.has_no_parameters);
    if (is_blind && is_of_gradients && verdict_.kind != FaultKind::kNone)
      detail("where a gradient scaler skipped the step, this is no fault: the rows do not say");
    if (verdict_.kind == FaultKind::kGradient && verdict_.may_be_received)
      detail("or the sum over the ranks made it: no rank's gradient had it in backward");
    if (!verdict_.other_ranks.empty()) {
      std::string text = verdict_.other_ranks.size() == 1 ? "rank " : "ranks ";
      constexpr std::size_t kMost = 8;
      for (std::size_t i = 0; i < verdict_.other_ranks.size() && i < kMost; ++i) {
        text += (i == 0 ? "" : ", ") + std::to_string(verdict_.other_ranks[i]);
      }
      if (verdict_.other_ranks.size() > kMost)
        text += " and " + std::to_string(verdict_.other_ranks.size() - kMost) + " more";
      detail(text + (verdict_.other_ranks.size() == 1 ? " has" : " have") +
             " it, too, received or made in the same iteration");
    }
    if (verdict_.kind == FaultKind::kLoss) {
      std::string why = verdict_.is_of_backward ? "" : growth();
      if (why.empty() && !is_zoomed() && !verdict_.operation.empty()) why = reason_of_call();
      if (!why.empty()) detail(std::move(why));
    }
    if (verdict_.kind != FaultKind::kProduced) return;
    if (is_of_buffer()) {
      if (verdict_.row_of.op_name.ends_with("var"))
        detail("one value in each channel, as in a batch of a single sample, has no variance");
      return;
    }
    if (form_ == Form::kWatch && verdict_.has_no_parameters && !is_zoomed() && !verdict_.is_own_code &&
        verdict_.guilty.op_name.find('/') == verdict_.guilty.op_name.rfind('/')) {
      detail("or a parameter of its own holds it: parameters are not in the rows");
    }
    if (std::string why = growth(); !why.empty()) return detail(std::move(why));
    if (verdict_.is_own_code || is_zoomed()) return;
    if (std::string why = reason_of_call(); !why.empty()) detail(std::move(why));
  }

  // By the type of the guilty call.
  std::string reason_of_call() const {
    if (verdict_.phase == Phase::kBackward)
      return verdict_.forward_maker.is_named() ? "" : reason_of_backward(verdict_.guilty.op_type);
    std::vector<const RecordRow*> rows;
    for (const std::uint32_t input : verdict_.inputs) rows.push_back(&record_.rows()[input]);
    return reason_of_inputs(record_, verdict_.guilty.op_type, rows, seen());
  }

  std::string growth() const {
    std::string why = reason_of_growth(record_, seen());
    return why.empty() ? reason_of_leap(record_, seen(), verdict_.of_model) : why;
  }

  void add_inputs() {
    constexpr std::size_t kMost = 2;
    for (std::size_t i = 0; shows_inputs() && i < verdict_.inputs.size() && i < kMost; ++i) {
      detail(slot_of(verdict_.inputs[i]) + ": " + words_of_row(record_, record_.rows()[verdict_.inputs[i]]));
    }
    if (verdict_.kind == FaultKind::kNone || verdict_.kind == FaultKind::kUnknown) return;
    detail((verdict_.seen_in.is_named() && verdict_.seen_in.op_name != verdict_.guilty.op_name
                ? call(verdict_.seen_in) + " "
                : std::string()) +
           io_slot() + ": " + words_of_row(record_, seen()));
  }

  void add_inside() {
    if (verdict_.inside.empty()) return;
    std::string text = "inside ";
    for (std::size_t i = 0; i < verdict_.inside.size(); ++i) {
      text += (i == 0 ? "" : ", ") + printable_name(path_of(form_, verdict_.inside[i].op_name));
    }
    detail(std::move(text));
  }

  void add_next() {
    const bool has_operation = !verdict_.operation.empty();
    switch (verdict_.kind) {
      case FaultKind::kNone:
        break;
      case FaultKind::kEntered:
        return detail(form_ == Form::kLaunches ? "next: look at what the host writes into it"
                                               : "next: look at the batch, and at what loads it");
      case FaultKind::kParameter: {
        if (!verdict_.last_clean_iteration) return detail("next: look at the checkpoint, and at what initialises it");
        const std::uint64_t last = *verdict_.last_clean_iteration;
        if (verdict_.zoom != nullptr && verdict_.zoom->why.starts_with("the buffer")) {
          return detail("next: a forward of training writes buffers: look at the batches of iteration " +
                        std::to_string(last) + " and before, such as one of a single sample");
        }
        if (last + 1 == verdict_.iteration) return detail("next: look at what writes parameters between the steps");
        return detail("next: watch each step from iteration " + std::to_string(last) + " on");
      }
      case FaultKind::kLoss:
        if (!verdict_.is_of_backward) return detail("next: look at the loss and at the targets");
        if (!has_operation) detail("next: look for sqrt, norm, division or where in the loss");
        return;
      case FaultKind::kGradient:
        return detail("next: look at the clipping, and at all that changes gradients");
      case FaultKind::kOptimizer:
        return detail("next: look at the step size, and at the optimizer's eps and state");
      case FaultKind::kUnknown:
        if (verdict_.may_be_received) return detail("next: give the folder that holds the rows of all ranks");
        if (!verdict_.next.empty()) return;
        if (form_ == Form::kLaunches) return;
        if (verdict_.guilty.op_type == "Tensor") return detail("next: tensorstat DUMP --where 'nan or inf' lists them");
        if (form_ == Form::kWatch) return detail("next: watch(model, inputs=True) has the rows that are missing");
        return detail(form_ == Form::kModules ? "next: level mix of msprobe has rows of functions, too"
                                              : "next: dump inputs, too, of all operators");
      case FaultKind::kProduced:
        if (form_ == Form::kWatch && !has_operation && !verdict_.has_operations)
          detail("next: watch(model, level=\"op\") names the operation");
    }
  }

  const Record& record_;
  const Form form_;
  FaultVerdict& verdict_;
};

}  // namespace

void put_into_words(const Record& record, Form form, FaultVerdict& verdict) { Words(record, form, verdict).put(); }

}  // namespace tensorstat
