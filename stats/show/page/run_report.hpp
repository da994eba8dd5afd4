// What `tensorstat report` says of a run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stats/answer/findings/findings.hpp"

namespace tensorstat {

// What a page is made of: a run and what was said of it.
struct PageRun {
  const History* history;
  const FaultVerdict* verdict;
  const Findings* findings;
  std::string source;  // what was read
};

// The page of a run that was judged, or of two beside each other. `follow_seconds`: the page reloads itself so often.
Result<std::string> page_of(const std::vector<PageRun>& runs, std::uint64_t follow_seconds = 0);
inline Result<std::string> page_of(const JudgedRun& run, const std::string& source) {
  return page_of({{&run.history, &run.verdict, &run.findings, source}});
}

}  // namespace tensorstat
