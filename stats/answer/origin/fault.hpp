// A fault while the rules follow it: from the row where it is seen first to where it ends.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stats/answer/origin/hints.hpp"
#include "stats/answer/origin/model.hpp"
#include "stats/answer/origin/verdict.hpp"
#include "stats/data/rows/names/row_kind.hpp"

namespace tensorstat::origin_rules {

// The faulty values of a row, for this choice.
inline Specials fault_in(const Record& record, const RecordRow& row, const FaultChoice& choice) {
  Specials specials = specials_of(record.statistics(row));
  const RowKind kind = row_kind(record.texts()[row.op_type]);
  if (choice.nan_only || kind == RowKind::kBuffer) specials.inf = 0;  // a mask is kept in a buffer
  if (kind == RowKind::kUpdate) return {};
  return specials;
}

// The state of a call's inputs.
enum class InputState : std::uint8_t { kUnseen, kClean, kFaulty };

// A fault of one rank and iteration, from where it is seen first to where it ends.
struct Fault : FaultFacts {
  std::uint32_t call = kNoCall;     // that made it
  std::uint32_t seen_in = kNoCall;  // the call of the row where it is seen first
  std::uint32_t after = kNoCall, before = kNoCall;
  std::size_t nth_event = 0;  // of what its rank did in the iteration

  bool has_nan = false, has_inf = false;
  std::vector<std::uint32_t> carriers;  // calls with rows that hold it
  std::uint32_t turned_by = kNoCall, turned_row = kNoRow;
  // A call that was given the fault in a container, and gave one: whether it read that is not known.
  std::uint32_t through = kNoCall;
  bool is_in_container = false;  // of kUnknown: its row is, and any call that was given that may have written it
  bool is_turned_by_own_code = false;
  bool is_open = true;
  bool is_received = false;   // from another rank
  bool is_meant = false;      // a mask wrote the Inf, and no NaN came of it
  bool is_confirmed = false;  // the loss, a gradient or a parameter has it
  bool is_spent = false;      // a mask wrote the Inf, and the loss made NaN or Inf of it
  std::uint32_t ended_by = kNoCall;
  const Fault* back_of = nullptr;   // an Inf of the forward that had ended, where backward made NaN
  std::uint32_t back_in = kNoCall;  // the backward that brought this fault back, after it had ended
  const Fault* made_of = nullptr;   // for kLoss: the fault with the Inf that a mask wrote
  const Fault* again_of = nullptr;  // this fault, which had ended and is open again
};

using Writers = std::set<std::string, std::less<>>;  // names of calls

// An iteration of all ranks.
struct Around {
  std::set<std::uint32_t> ranks;  // with rows
  bool has_written =
      false;  // of any iteration, rows of parameters behind the step: there are none where it was skipped
  // Calls that made a NaN in an earlier iteration, which ended and did no harm.
  const std::set<std::string, std::less<>>* harmless = nullptr;
  // Calls of which a zoom said, in this iteration or before, that they wrote -Inf as a mask does. A call is run again
  // once.
  Writers* writers = nullptr;
  // Runs of operators of communication that some rank gave a fault, by name and how often it was before.
  std::set<std::pair<std::uint32_t, std::uint32_t>> faulty_meetings;
};

struct Walked {
  Model model;
  std::vector<Fault> faults;
  const Fault* verdict = nullptr;
  bool is_skipped = false;  // the step was, and that is all
};

}  // namespace tensorstat::origin_rules
