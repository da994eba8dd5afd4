// Why a call gave NaN or Inf, as far as the numbers of the rows tell. Each reason is "" where they do not.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "stats/answer/origin/verdict.hpp"

namespace tensorstat {

// "log of a negative": what an operation does to values such as `given`, which may say "min -1.5".
std::string reason_of_operation(std::string_view operation, std::string_view given);

// The same, by the rows of the operator's inputs. `output` is the row of the faulty output.
std::string reason_of_inputs(const Record& record, std::string_view operation, std::span<const Seen* const> inputs,
                             const Seen& output);

// "absmax grew 1.2 times a step from iteration 880 on, ...": the faulty tensor grew steadily beyond its dtype.
std::string reason_of_growth(const Record& record, const Seen& row);

// A number as sentences have it, with so many digits.
std::string short_number(double value, int digits = 6);

}  // namespace tensorstat
