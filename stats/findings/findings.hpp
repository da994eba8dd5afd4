// What a person should know about a run: findings by the rules of finding_rules.hpp, and a verdict in words.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tensorstat/status.hpp>
#include <vector>

#include "stats/compare/origin/verdict.hpp"
#include "stats/findings/finding_rules.hpp"
#include "stats/findings/history.hpp"

namespace tensorstat {

struct Finding {
  FindingRule rule = FindingRule::kNan;
  std::string op_type = {}, op_name = {}, io = {};  // io: "input", "output"; empty for a rank
  std::uint32_t slot = 0, rank = 0;
  std::uint64_t first_iteration = 0;
  std::optional<std::uint64_t> last_clean_iteration = {};  // of the tensor, among the iterations in the rows
  std::optional<double> value = {}, limit = {};            // what broke the rule, and what it broke
  std::uint64_t others = 0;  // tensors of the same rule that broke it then or after, not listed
  std::string text = {}, next = {};
};

struct RuleLimits {
  // By FindingRule; the defaults where it is not in here.
  std::map<FindingRule, double> limits;
  double of(FindingRule rule) const {
    const auto at = limits.find(rule);
    return at == limits.end() ? facts(rule).limit : at->second;
  }
};

struct Findings {
  std::vector<std::string> verdict;  // sentences, the first one says it all
  std::vector<Finding> list;         // by iteration; that of the verdict first
  std::vector<std::string> notes;    // what was wrong and is no fault
  std::uint64_t rows = 0, tensors = 0;
  std::vector<std::uint32_t> ranks;
  std::optional<std::uint64_t> first_iteration, last_iteration;
  std::vector<std::string> not_measured;  // rules that had nothing to look at, and why

  bool is_clean() const { return list.empty(); }
};

// `answer` is origin's of the same rows. Only the first finding of tensors that break the same rule together is listed.
Findings find_in(const History& history, const Record& record, const Answer& answer, const RuleLimits& limits = {});

// {schema_version, verdict, sentences: [...], findings: [{rule, severity, op_type, op_name, io, slot, rank,
// first_iteration, last_clean_iteration, value, limit, others, text, next, definition}], notes: [...], measured: {rows,
// tensors, ranks: [...], first_iteration, last_iteration}, not_measured: [...]}. What is not known is null.
std::string json_of(const Findings& findings);

}  // namespace tensorstat
