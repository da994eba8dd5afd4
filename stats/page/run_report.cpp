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

PageWords words_of(const JudgedRun& run, const std::string& source) {
  const Findings& findings = run.findings;
  PageWords words{.source = source,
                  .verdict = findings.verdict,
                  .findings = {},
                  .tensor = tensor_of(run.verdict, run.history),
                  .not_measured = findings.not_measured,
                  .notes = findings.notes};
  for (const Finding& finding : findings.list) {
    words.findings.push_back({.rule = std::string(name(finding.rule)),
                              .severity = std::string(name(severity(finding.rule))),
                              .op_name = finding.op_name,
                              .io = finding.io.empty() ? "" : finding.io + "." + std::to_string(finding.slot),
                              .rank = finding.rank,
                              .first_iteration = finding.first_iteration,
                              .last_clean_iteration = finding.last_clean_iteration,
                              .text = finding.text,
                              .next = finding.next});
  }
  return words;
}

}  // namespace

Result<std::string> page_of(const JudgedRun& run, const std::string& source) {
  const auto contents = page_contents(run.history, words_of(run, source));
  if (!contents) return contents.error();
  std::string page;
  const Status written = write_page(*contents, [&](std::string_view piece) {
    page += piece;
    return Status();
  });
  if (!written) return written.error();
  return page;
}

}  // namespace tensorstat
