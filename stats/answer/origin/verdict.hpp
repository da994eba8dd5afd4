// Where NaN or Inf began: the rules of stats/doc/origin.md, asked in their order.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stats/answer/compare/judge.hpp"
#include "stats/answer/compare/record.hpp"
#include "stats/answer/origin/hints.hpp"
#include "stats/answer/origin/model.hpp"
#include "stats/answer/origin/origin.hpp"
#include "stats/answer/origin/run_facts.hpp"

namespace tensorstat {

struct FaultChoice {
  bool nan_only = false;   // Inf is not a fault
  bool ended_inf = false;  // an Inf that ended is a fault, too
  bool with_lists = false;
};

enum class FaultKind : std::uint8_t { kNone, kProduced, kEntered, kLoss, kParameter, kGradient, kOptimizer, kUnknown };
std::string_view name(FaultKind kind);  // "produced"

inline constexpr std::uint32_t kNoRow = UINT32_MAX;

// The facts about a fault that a rule decides. The verdict has the same.
struct FaultFacts {
  FaultKind kind = FaultKind::kNone;
  const char* rule = "";  // the rule that decided: "R3"
  Phase phase = Phase::kForward;
  std::uint32_t row = kNoRow;         // the first row of the record with the fault
  bool is_own_code = false;           // of the guilty call, between calls that it contains
  bool is_of_backward = false;        // of kLoss: its gradient is not finite
  bool has_no_loss = false;           // and the loss itself is not in the rows
  bool is_likely = false;             // and not sure
  bool came_again = false;            // had ended, and was used another way
  bool may_be_received = false;       // for kGradient and kUnknown: from another rank
  std::uint32_t buffer_row = kNoRow;  // of a buffer that its module wrote it into, where it had ended
  std::string reason;                 // for kUnknown: the missing rows
  std::string next;                   // for kUnknown: how to find out; "": the general advice
  const Zoom* zoom = nullptr;         // that found the operation
};

struct FaultVerdict : FaultFacts {
  NamedCall guilty;
  std::uint32_t rank = 0;
  std::uint64_t iteration = 0;
  std::optional<std::uint64_t> last_clean_iteration;  // among the iterations in the rows
  NamedCall row_of;                                   // of `row`: its call, and which of its tensors it is
  bool row_is_input = false;
  std::uint32_t row_slot = 0;
  Specials specials;                                  // of that row
  std::vector<std::uint32_t> inputs;                  // rows of what the guilty call was given
  std::vector<std::uint32_t> of_model;                // rows of what the outermost call was given
  std::map<std::uint32_t, std::string> tensor_names;  // by row: "labels", where more than the slot is known
  std::optional<FaultyRows> faulty_rows;              // of `row`
  NamedCall through;                                  // was given the fault in a container, and may have made its own
  NamedCall after, before;                            // calls that it lies between
  NamedCall seen_in;                                  // the call of `row`, where that is another one
  std::vector<NamedCall> inside;                      // the calls that contain it, the innermost first
  NamedCall turned_by;                                // made NaN of the Inf
  NamedCall wrote_inf;                                // wrote the Inf, which alone is not a fault
  const Zoom* wrote_zoom = nullptr;                   // the operation that did
  NamedCall cut_off_at;            // ended the same fault in forward, before backward brought it back
  bool is_cut_off_inside = false;  // that call contains the maker
  NamedCall forward_maker;         // the maker of the fault that was cut off; the guilty backward used it
  std::string forward_fault;       // "NaN" or "Inf"
  std::optional<CodeLine> forward_code;
  NamedCall back_in;                     // its backward brought the fault back; in the loss: its gradient
  std::optional<CutOff> cut_off;         // an overflow that nothing passed on
  bool has_no_parameters = false;        // in the rows
  bool has_operations = false;           // in the rows of a watch
  bool was_skipped = false;              // check() of the watch told it, and the optimizer wrote nothing
  bool is_evaluation = false;            // of a watch; it precedes the training step of its iteration
  std::uint32_t nth_call = 0;            // of the outermost call that it lies in, from 1 on
  std::uint32_t call_count = 0;          // calls of that name in the iteration: micro-batches, for example
  std::vector<std::string> not_watched;  // of a watch: "parameters", "gradients", "loss", "model"
  std::string unseen;                    // why no step has rows of the model; "": some step has
  bool is_blind = false;                 // no row shows whether it holds NaN or Inf
  std::vector<std::string> not_seen;     // calls with tensors that are not in the rows, and why
  std::optional<CodeLine> code;
  std::string operation;                   // of zoom
  std::vector<std::uint32_t> other_ranks;  // where the fault was, too
  std::string sentence;                    // see sentence.hpp
  std::vector<std::string> details;
};

// "sure", "likely" or "unknown"; "" without a fault.
std::string_view certainty_of(const FaultVerdict& verdict);

struct Answer {
  FaultVerdict verdict;
  Origin lists;                    // where they were asked for
  std::vector<std::string> notes;  // events that are not faults: faults that ended, steps that were skipped
};

// Looks for the verdict iteration after iteration. Only those that hold a fault need to be in memory. A copy goes on by
// itself.
class FaultSearch {
 public:
  FaultSearch(const RunFacts& facts, Hints& hints, const FaultChoice& choice);
  FaultSearch(const FaultSearch& other);
  FaultSearch& operator=(FaultSearch&& other) noexcept;
  ~FaultSearch();

  // `record`: all rows of some iterations from `first` on, sorted. `clean`: the iterations before, between and after
  // them without NaN and Inf in any row. Calls go forward: all of these come after what was looked at before. `record`
  // also holds rows of iterations before `first`, because the rules and their words refer to a parameter's value before
  // the step, and to a tensor's past. These are rows of the run's first iteration, of the iteration before each with a
  // fault, and of the tensor that the answer names.
  void look_at(const Record& record, std::span<const std::uint64_t> clean = {}, std::uint64_t first = 0);
  bool has_verdict() const;
  const FaultVerdict& verdict() const;  // that answer() would give now
  Answer answer();

 private:
  class State;
  std::unique_ptr<State> state_;
};

// For a record that is sorted and holds all rows.
Answer answer_of(const Record& record, Hints& hints, const FaultChoice& choice);

// Whether a row counts as a fault for this choice.
bool is_fault(const StatisticsView& statistics, const FaultChoice& choice);

}  // namespace tensorstat
