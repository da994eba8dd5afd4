// Why a call gave NaN or Inf, as far as the numbers of the rows tell. Each reason is "" where they do not.
#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "stats/answer/origin/verdict.hpp"

namespace tensorstat {

// reason_of_operation() by the rows of the operator's inputs. `output` is the row of the faulty output.
std::string reason_of_inputs(const Record& record, std::string_view operation, std::span<const RecordRow* const> inputs,
                             const RecordRow& output);

// "absmax grew 1.2 times a step from iteration 880 on, ...": the faulty tensor grew steadily beyond its dtype.
std::string reason_of_growth(const Record& record, const RecordRow& row);

// What became 1e6 times as great before this fault: a parameter, or what the model is given (its rows). "": nothing
// did.
std::string reason_of_leap(const Record& record, const RecordRow& seen, std::span<const std::uint32_t> of_model);

// "is all -100" of a finite tensor that the model was given, where it was not so in earlier iterations; "": nothing
// odd.
std::string oddity_of(const Record& record, const RecordRow& row);

// Whether a row of an iteration before the verdict's may be read by one of the reasons above. `of_model`: the names of
// the calls that hold `verdict.of_model`.
bool may_explain(const Row& row, const Record::Place& place, const FaultVerdict& verdict,
                 const std::set<std::string, std::less<>>& of_model);

}  // namespace tensorstat
