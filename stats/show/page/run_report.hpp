// `tensorstat report`: the words and the page of a run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stats/answer/findings/findings.hpp"

namespace tensorstat {

// The input of a page: a run and its results. The pointers must outlive the page.
struct PageRun {
  const History* history;
  const FaultVerdict* verdict;
  const Findings* findings;
  std::string source;  // the file or folder that was read
};

// The page of one judged run, or of two beside each other. `follow_seconds`: the page reloads itself that often; 0:
// never.
Result<std::string> page_of(const std::vector<PageRun>& runs, std::uint64_t follow_seconds = 0);
inline Result<std::string> page_of(const JudgedRun& run, const std::string& source) {
  return page_of({{&run.history, &run.verdict, &run.findings, source}});
}

}  // namespace tensorstat
