#include "stats/show/page/run_report.hpp"

#include <algorithm>

#include "stats/show/page/page.hpp"

namespace tensorstat {
namespace {

// The tensor of the verdict; UINT32_MAX if the history has none.
std::uint32_t tensor_of(const FaultVerdict& verdict, const History& history) {
  if (verdict.row == kNoRow) return UINT32_MAX;
  for (std::uint32_t tensor = 0; tensor < history.tensors().size(); ++tensor) {
    const HistoryTensor& each = history.tensors()[tensor];
    if (each.slot == verdict.row_slot && each.is_input == verdict.row_is_input &&
        history.op_name(tensor) == verdict.row_of.op_name && history.op_type(tensor) == verdict.row_of.op_type) {
      return tensor;
    }
  }
  return UINT32_MAX;
}

std::string name_of_run(std::size_t run, std::size_t count) { return count == 1 ? "" : run == 0 ? "A: " : "B: "; }

PageWords words_of(const std::vector<PageRun>& runs) {
  PageWords words;
  words.tensor = tensor_of(*runs.front().verdict, *runs.front().history);
  // Two runs often have the same sentence: it is said once.
  const auto append = [&](std::vector<std::string>& to, std::vector<std::string> Findings::*texts, std::size_t run,
                          const std::string& before_both) {
    const auto& other = runs[runs.size() - 1 - run].findings->*texts;
    for (const std::string& each : runs[run].findings->*texts) {
      const bool is_of_both = runs.size() == 2 && std::ranges::find(other, each) != other.end();
      if (!is_of_both || run == 0) to.push_back((is_of_both ? before_both : name_of_run(run, runs.size())) + each);
    }
  };
  for (std::size_t run = 0; run < runs.size(); ++run) {
    const Findings& findings = *runs[run].findings;
    words.source += (run == 0 ? "" : " and ") + runs[run].source;
    append(words.verdict, &Findings::verdict, run, "A and B: ");
    append(words.not_measured, &Findings::not_measured, run, "");
    append(words.notes, &Findings::notes, run, "");
    for (const Finding& finding : findings.list) {
      words.findings.push_back({.rule = std::string(name(finding.rule)),
                                .severity = std::string(name(severity(finding.rule))),
                                .op_name = finding.op_name,
                                .io = finding.io.empty() ? "" : finding.io + "." + std::to_string(finding.slot),
                                .rank = finding.rank,
                                .first_iteration = finding.first_iteration,
                                .last_clean_iteration = finding.last_clean_iteration,
                                .text = name_of_run(run, runs.size()) + finding.text,
                                .next = finding.next,
                                .run = run});
    }
  }
  return words;
}

}  // namespace

Result<std::string> page_of(const std::vector<PageRun>& runs, std::uint64_t follow_seconds) {
  PageWords words = words_of(runs);
  words.follow_seconds = follow_seconds;
  std::vector<const History*> histories;
  for (const PageRun& run : runs) histories.push_back(run.history);
  const PageContents contents = page_contents(
      histories, std::move(words), runs.size() == 1 ? std::vector<std::string>() : std::vector<std::string>{"A", "B"});
  std::string page;
  const Status written = write_page(contents, [&](std::string_view piece) {
    page += piece;
    return Status();
  });
  if (!written) return written.error();
  return page;
}

}  // namespace tensorstat
