// OpenMetrics text of a run: a line for each rule, found or not, lines for each rank, times in seconds with six
// decimals, and # EOF at the end. tests/cli/exports_test.py reads whole runs with prometheus_client.
#include "stats/show/exports/open_metrics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "stats/show/exports/tfevents.hpp"

namespace tensorstat {
namespace open_metrics_test {

std::vector<std::string> lines_of(const std::string& text, const std::string& beginning) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with(beginning)) lines.push_back(line.substr(beginning.size()));
  }
  return lines;
}

Row row_at(std::uint64_t timestamp_us) {
  Row row;
  row.identity.op_type = "Add";
  row.identity.op_name = "add";
  row.identity.io = "output";
  row.identity.timestamp_us = timestamp_us;
  row.data_type = "float32";
  row.statistics = Statistics({Category::kMax}, {Value(1.0)});
  return row;
}

TEST(OpenMetrics, HasALineForEachRule) {
  JudgedRun run;
  Finding finding;
  finding.rule = kFindingRules[1].rule;
  run.findings.list = {finding, finding};
  const std::string text = open_metrics_of(run);
  const auto lines = lines_of(text, "tensorstat_findings{");
  ASSERT_EQ(lines.size(), std::size(kFindingRules));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    EXPECT_TRUE(lines[i].starts_with("rule=\"" + std::string(kFindingRules[i].name) + "\",severity=\"")) << lines[i];
    EXPECT_TRUE(lines[i].ends_with(i == 1 ? "\"} 2" : "\"} 0")) << lines[i];
  }
  EXPECT_TRUE(text.ends_with("\n# EOF\n"));
  EXPECT_EQ(lines_of(text, "tensorstat_rows{").size(), 0u);
}

TEST(OpenMetrics, HasLinesForEachRank) {
  JudgedRun run;
  run.history.add(row_at(1'700'000'000'000'042), {.name = "add", .rank = 0, .iteration = 3});
  run.history.add(row_at(1'700'000'001'500'000), {.name = "add", .rank = 0, .iteration = 4});
  run.history.add(row_at(0), {.name = "add", .rank = 2, .iteration = 9});
  const std::string text = open_metrics_of(run);
  EXPECT_EQ(lines_of(text, "tensorstat_rows"), (std::vector<std::string>{"{rank=\"0\"} 2", "{rank=\"2\"} 1"}));
  EXPECT_EQ(lines_of(text, "tensorstat_last_iteration"),
            (std::vector<std::string>{"{rank=\"0\"} 4", "{rank=\"2\"} 9"}));
  EXPECT_EQ(lines_of(text, "tensorstat_last_row_timestamp_seconds"),
            (std::vector<std::string>{"{rank=\"0\"} 1700000001.500000", "{rank=\"2\"} 0.000000"}));
}

// The check value of RFC 3720's polynomial, and the RFC's own examples.
TEST(TfEvents, HaveCastagnolisChecksum) {
  EXPECT_EQ(crc32c_of("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c_of(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c_of(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(crc32c_of(""), 0u);
}

}  // namespace open_metrics_test
}  // namespace tensorstat
