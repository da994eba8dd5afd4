// A verdict in words.
#pragma once

#include <string>
#include <string_view>

#include "stats/answer/origin/verdict.hpp"

namespace tensorstat {

// Sets `sentence` and `details` of a verdict: what, where, when; then from what, why as far as the numbers tell, the
// line of code, what contains it, and what to look at next. Of names from outside only what may be printed.
void put_into_words(const Record& record, Form form, FaultVerdict& verdict);

// The same of one without a fault.
void put_nothing_into_words(const RunFacts& facts, FaultVerdict& verdict, bool is_without_notes);

// "blocks.0.attn (Attention)"; msprobe's names have the class.
std::string shown_call(Form form, const NamedCall& call);

// "8 NaN, 1 Inf"; "NaN" where they were not counted.
std::string words_of(const Specials& specials);

// "float32 (2,3), max 2.3, min -3.1": a row as it stands in a table.
std::string words_of_row(const Record& record, const RecordRow& row);

}  // namespace tensorstat
