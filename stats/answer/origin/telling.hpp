// Converts a fault to a verdict: the named calls, and the sentence. The references must outlive it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "stats/answer/origin/fault.hpp"

namespace tensorstat::origin_rules {

class Telling {
 public:
  Telling(const Record& record, Hints& hints, const FaultChoice& choice, const Walked& walked, bool has_parameters)
      : record_(record), hints_(hints), choice_(choice), walked_(walked), has_parameters_(has_parameters) {}

  FaultVerdict verdict(const Fault& fault);
  // A fault that ended: "Inf of mask (Mask) ended at soft (Softmax)".
  std::string note(const Fault& fault) const;

 private:
  const Call& call(std::uint32_t index) const { return walked_.model.calls[index]; }
  NamedCall named(std::uint32_t index) const;
  std::uint32_t outermost_of(const Fault& fault) const;
  // The names of its tensors, the rows of the first faulty one, and what the model was given.
  void name_tensors(const Fault& fault, FaultVerdict& verdict) const;
  // Which of the calls of the outermost module it lies in.
  void count_calls(const Fault& fault, FaultVerdict& verdict) const;
  std::optional<CodeLine> line_of(std::uint32_t index);
  const Zoom* zoom_of(std::uint32_t index) const;
  // The zoom of the call that made NaN of an Inf, or of a call that contains it.
  const Zoom* zoom_that_turned(std::uint32_t index) const;
  // The call of the module that ran the operation: it may be one inside of the guilty call.
  std::uint32_t module_of(const Zoom& zoom, std::uint32_t guilty, FaultVerdict& verdict) const;
  // Whether the Inf that became NaN was written, as a mask is, and not computed.
  bool is_written(const Fault& fault) const;
  // Whether the call that ended it contains its maker, or is its maker.
  bool is_ended_inside(const Fault& fault) const;

  const Record& record_;
  Hints& hints_;
  const FaultChoice& choice_;
  const Walked& walked_;
  const bool has_parameters_;  // in the rows
};

}  // namespace tensorstat::origin_rules
