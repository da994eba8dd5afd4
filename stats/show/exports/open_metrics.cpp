#include "stats/show/exports/open_metrics.hpp"

#include <array>
#include <iterator>

namespace tensorstat {
namespace {

void describe(std::string& text, std::string_view name, std::string_view unit, std::string_view help) {
  text.append("# TYPE ").append(name).append(" gauge\n");
  if (!unit.empty()) text.append("# UNIT ").append(name).append(" ").append(unit).append("\n");
  text.append("# HELP ").append(name).append(" ").append(help).append("\n");
}

}  // namespace

std::string open_metrics_of(const JudgedRun& run) {
  std::string text;
  std::array<std::uint64_t, std::size(kFindingRules)> counts{};
  for (const Finding& finding : run.findings.list) ++counts[static_cast<std::size_t>(finding.rule)];
  describe(text, "tensorstat_findings", "", "What tensorstat report finds in the run, by rule.");
  for (const FindingRuleFacts& rule : kFindingRules) {
    text.append("tensorstat_findings{rule=\"").append(rule.name).append("\",severity=\"");
    text.append(name(rule.severity)).append("\"} ");
    text += std::to_string(counts[static_cast<std::size_t>(rule.rule)]) + "\n";
  }
  const auto each_rank = [&](std::string_view name, const auto& value) {
    for (const auto& [rank, state] : run.history.rank_states()) {
      text.append(name).append("{rank=\"" + std::to_string(rank) + "\"} ").append(value(state)).append("\n");
    }
  };
  describe(text, "tensorstat_rows", "", "Rows that were read.");
  each_rank("tensorstat_rows", [](const HistoryRank& rank) { return std::to_string(rank.rows); });
  describe(text, "tensorstat_last_iteration", "", "The last iteration with rows.");
  each_rank("tensorstat_last_iteration", [](const HistoryRank& rank) { return std::to_string(rank.last_iteration); });
  describe(text, "tensorstat_last_row_timestamp_seconds", "seconds",
           "When the last row was measured, since the Unix epoch; 0 if the rows do not say it.");
  each_rank("tensorstat_last_row_timestamp_seconds", [](const HistoryRank& rank) {
    std::string micros = std::to_string(rank.last_row_us % 1'000'000);
    return std::to_string(rank.last_row_us / 1'000'000) + "." + std::string(6 - micros.size(), '0') + micros;
  });
  return text + "# EOF\n";
}

}  // namespace tensorstat
