// SPDX-License-Identifier: Apache-2.0
// The subcommand `tensorstat report` as a function: whether a run went wrong, where first, and what to look at next.
//
//   const auto found = findings("runs/nan", {.limits = {{FindingRule::kJump, 20}}});
//   if (found) for (const Finding& each : found->list) puts(each.text.c_str());
//
// A path is a file of rows (statistic.csv in any dialect) or a dump's folder, as in compare.hpp. The rules are fixed,
// and stats/doc/report.md defines them. Nothing here throws.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tensorstat/meter.hpp>
#include <tensorstat/status.hpp>
#include <vector>

namespace tensorstat {

enum class FindingSeverity : std::uint8_t { kError, kWarning, kNotice };
std::string_view name(FindingSeverity severity);  // "error"

// In the order in which findings of one iteration are listed.
enum class FindingRule : std::uint8_t {
  kNan,
  kInf,
  kTurned,
  kOverflow,
  kJump,
  kDrift,
  kDead,
  kFrozen,
  kGone,
  kUnwritten,
  kRanks,
  kStopped,
  kReplica,
  kStuck,
  kUnreached,
  kShrunk,
  kMode
};
std::string_view name(FindingRule rule);                // "jump"
FindingSeverity severity(FindingRule rule);             // the same for all findings of a rule
std::string_view definition(FindingRule rule);          // in words
std::optional<double> default_limit(FindingRule rule);  // nullopt: the rule has none
std::optional<FindingRule> finding_rule_from(std::string_view name);

// What broke a rule.
struct Finding {
  FindingRule rule = FindingRule::kNan;
  std::string op_type = {}, op_name = {};  // the operator or parameter; empty for a rank
  std::string io = {};                     // "input" or "output"; empty for a rank
  std::uint32_t slot = 0, rank = 0;
  std::uint64_t first_iteration = 0;
  std::optional<std::uint64_t> last_clean_iteration = {};  // of the tensor, among the iterations in the rows
  std::optional<double> value = {}, limit = {};            // what broke the rule, and what it broke
  std::uint64_t others = 0;  // other tensors that broke the rule then or soon after, on any rank; not listed
  std::string text = {};     // a sentence
  std::string next = {};     // what to look at next
};

// Another limit for rules that have one; a number above 0.
using FindingLimits = std::map<FindingRule, double>;
// Of a text "jump=20,drift=5". kInvalid: no such rule, the rule has no limit, or it is no number above 0.
Result<FindingLimits> finding_limits_from(std::string_view text);

struct Findings {
  std::vector<std::string> verdict;     // sentences; the first one says it all
  std::vector<Finding> list;            // by iteration; the verdict's first. Empty: nothing was found
  std::vector<std::string> notes;       // what was wrong and is no fault: Inf that ended, steps that were skipped
  std::uint64_t rows = 0, tensors = 0;  // that were read
  std::vector<std::uint32_t> ranks;
  std::optional<std::uint64_t> first_iteration, last_iteration;
  std::vector<std::string> not_measured;  // what was not judged, and why: "frozen: needs rows of parameters"
  std::vector<std::string> faults;        // one message for each file that could not be read; the rest is judged

  bool is_clean() const { return list.empty(); }
};

struct FindingOptions {
  FindingLimits limits = {};
  MeterOptions meter = {};  // for tensors
};

// kUnreadable: `path` holds no rows and no tensors. kInvalid: a limit is not above 0.
Result<Findings> findings(const std::string& path, const FindingOptions& options = {});

// {schema_version, verdict, sentences: [...], findings: [{rule, severity, op_type, op_name, io, slot, rank,
// first_iteration, last_clean_iteration, value, limit, others, text, next, definition}], notes: [...], measured: {rows,
// tensors, ranks: [...], first_iteration, last_iteration}, not_measured: [...]}. What is not known is null.
std::string json_of(const Findings& findings);

// The same for people, as the command prints it: lines, each ending in LF.
std::string text_of(const Findings& findings);

}  // namespace tensorstat
