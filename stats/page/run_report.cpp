#include "stats/page/run_report.hpp"

#include "stats/page/page.hpp"

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

PageWords words_of(const std::vector<PageRun>& runs) {
  PageWords words;
  words.tensor = tensor_of(*runs.front().verdict, *runs.front().history);
  const auto append = [](std::vector<std::string>& to, const std::string& before,
                         const std::vector<std::string>& more) {
    for (const std::string& each : more) to.push_back(before + each);
  };
  for (std::size_t run = 0; run < runs.size(); ++run) {
    const Findings& findings = *runs[run].findings;
    const std::string which = runs.size() == 1 ? "" : run == 0 ? "A: " : "B: ";
    words.source += (run == 0 ? "" : " and ") + runs[run].source;
    append(words.verdict, which, findings.verdict);
    append(words.not_measured, which, findings.not_measured);
    append(words.notes, which, findings.notes);
    for (const Finding& finding : findings.list) {
      words.findings.push_back({.rule = std::string(name(finding.rule)),
                                .severity = std::string(name(severity(finding.rule))),
                                .op_name = finding.op_name,
                                .io = finding.io.empty() ? "" : finding.io + "." + std::to_string(finding.slot),
                                .rank = finding.rank,
                                .first_iteration = finding.first_iteration,
                                .last_clean_iteration = finding.last_clean_iteration,
                                .text = which + finding.text,
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
