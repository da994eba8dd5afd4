// Findings in words.
#pragma once

#include <string>

#include "stats/answer/findings/findings.hpp"
#include "stats/answer/findings/series_rules.hpp"

namespace tensorstat {

// "layers.6/forward output 0 jumped to 20 times its median at iteration 150"
std::string sentence_of(const Finding& finding, const History& history, const HistorySeries& series,
                        const Breach& breach);
// "parameter 2.weight: of 3 replicas rank 1 differs in a bit since iteration 3"
std::string sentence_of(const UnequalReplicas& group);

// The verdict of a run, when all else is in `findings`. `verdict` is origin's.
std::vector<std::string> verdict_of(const Findings& findings, const History& history, const FaultVerdict& verdict);

std::string shown_count(std::uint64_t count, const char* noun);  // "1 tensor", "2 tensors"
std::string shown_number(double number);                         // of four digits

}  // namespace tensorstat
