// The findings about a run by the rules of finding_rules.hpp, and a verdict in words.
#pragma once

#include <string>
#include <tensorstat/findings.hpp>

#include "stats/answer/compare/recorded.hpp"
#include "stats/answer/findings/finding_rules.hpp"
#include "stats/answer/findings/history.hpp"
#include "stats/answer/origin/hints.hpp"
#include "stats/answer/origin/verdict.hpp"

namespace tensorstat {

// `answer` is origin's of the same rows. Only the first finding of tensors that break the same rule together is listed.
// `hints`: what lies beside the rows.
Findings find_in(const History& history, const Answer& answer, const Hints& hints, const FindingLimits& limits = {});

struct JudgedRun {
  History history;
  FaultVerdict verdict;  // the result of origin; its row numbers do not refer to `history`
  Findings findings;
};

// Searches as `origin` does, and keeps the history of all rows.
Result<JudgedRun> judge_run(const std::string& path, const FindingLimits& limits, const MeterOptions& meter,
                            const ReadListener& listener);

}  // namespace tensorstat
