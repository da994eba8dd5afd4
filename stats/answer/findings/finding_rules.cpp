#include "stats/answer/findings/finding_rules.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "stats/core/base/float_environment.hpp"
#include "stats/core/base/printable.hpp"

namespace tensorstat {

static_assert([] {
  for (std::size_t index = 0; index < std::size(kFindingRules); ++index) {
    if (static_cast<std::size_t>(kFindingRules[index].rule) != index) return false;
  }
  return true;
}());

std::string_view name(FindingSeverity severity) {
  constexpr std::string_view kNames[] = {"error", "warning", "notice"};
  return kNames[static_cast<int>(severity)];
}

std::string_view name(FindingRule rule) { return facts(rule).name; }
FindingSeverity severity(FindingRule rule) { return facts(rule).severity; }
std::string_view definition(FindingRule rule) { return facts(rule).definition; }

std::optional<double> default_limit(FindingRule rule) {
  return facts(rule).limit == 0 ? std::nullopt : std::optional(facts(rule).limit);
}

std::optional<FindingRule> finding_rule_from(std::string_view name) {
  for (const FindingRuleFacts& rule : kFindingRules) {
    if (rule.name == name) return rule.rule;
  }
  return std::nullopt;
}

Result<FindingLimits> finding_limits_from(std::string_view text) {
  const FloatEnvironment ieee;
  FindingLimits limits;
  while (!text.empty()) {
    const std::string_view each = text.substr(0, text.find(','));
    const std::size_t sign = each.find('=');
    const auto rule = finding_rule_from(each.substr(0, sign));
    double limit = 0;
    const bool is_number = sign != each.npos && [&] {
      const char* end = each.data() + each.size();
      const auto [rest, error] = std::from_chars(each.data() + sign + 1, end, limit);
      return error == std::errc() && rest == end && limit > 0;
    }();
    if (!rule || facts(*rule).limit == 0 || !is_number) {
      std::string names;
      for (const FindingRuleFacts& known : kFindingRules) {
        if (known.limit != 0) names.append(names.empty() ? "" : ", ").append(known.name);
      }
      return Error{Code::kInvalid, "a limit is RULE=NUMBER, a number above 0 and one of the rules " + names +
                                       "; this is '" + printable(each) + "'"};
    }
    limits[*rule] = limit;
    text.remove_prefix(std::min(each.size() + 1, text.size()));
  }
  return limits;
}

}  // namespace tensorstat
