#include "stats/findings/findings.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>

#include "stats/findings/series_rules.hpp"

namespace tensorstat {
namespace {

// Tensors that break a rule within so many iterations after another do it together: a batch shows in the forward pass,
// in the gradients, and an iteration later in the parameters. What drifts spreads slowly.
std::uint64_t together(FindingRule rule) { return rule == FindingRule::kDrift ? 500 : 5; }

constexpr std::size_t kRuleCount = std::size(kFindingRules);

std::string shown_number(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", number);
  return text;
}

std::string plural(std::uint64_t count, const char* noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

// A text that begins with a word of ours begins with a capital. The name of a tensor stays as it is.
std::string as_sentence(std::string text) {
  for (const std::string_view word : {"parameter ", "gradient ", "the loss", "rank "}) {
    if (text.starts_with(word)) text[0] = static_cast<char>(text[0] - 'a' + 'A');
  }
  return text;
}

class Search {
 public:
  Search(const History& history, const Record& record, const Answer& answer, const RuleLimits& limits)
      : history_(history), record_(record), answer_(answer), limits_(limits) {
    if (answer.verdict.kind != FaultKind::kNone) end_ = answer.verdict.iteration;
  }

  Findings found() {
    findings_.notes = answer_.notes;
    findings_.rows = history_.row_count();
    findings_.tensors = history_.tensors().size();
    findings_.ranks = history_.ranks();
    if (!history_.iterations().empty()) {
      findings_.first_iteration = history_.iterations().front();
      findings_.last_iteration = history_.iterations().back();
    }
    find_fault();
    find_in_series();
    find_unequal_ranks();
    find_stopped_ranks();
    group();
    say_verdict();
    say_what_was_not_measured();
    return std::move(findings_);
  }

 private:
  bool has_fault() const { return answer_.verdict.kind != FaultKind::kNone; }

  Finding finding_of(FindingRule rule, const HistorySeries& series, const Breach& breach) const {
    const HistoryTensor& tensor = history_.tensors()[series.tensor];
    Finding finding{.rule = rule,
                    .op_type = std::string(history_.op_type(series.tensor)),
                    .op_name = std::string(history_.op_name(series.tensor)),
                    .io = tensor.is_input ? "input" : "output",
                    .slot = tensor.slot,
                    .rank = series.rank,
                    .first_iteration = history_.iteration(series.cells[breach.cell]),
                    .value = breach.value,
                    .limit = breach.limit,
                    .next = std::string(facts(rule).next)};
    if (breach.cell > 0) finding.last_clean_iteration = history_.iteration(series.cells[breach.cell - 1]);
    return finding;
  }

  // Origin's verdict, and how many tensors hold NaN or Inf beside it.
  void find_fault() {
    judged_[0] = judged_[1] = true;
    if (!has_fault()) return;
    const FaultVerdict& verdict = answer_.verdict;
    Finding finding{.rule = verdict.specials.nan == 0U ? FindingRule::kInf : FindingRule::kNan,
                    .op_type = verdict.guilty.op_type,
                    .op_name = verdict.guilty.op_name,
                    .rank = verdict.rank,
                    .first_iteration = verdict.iteration,
                    .last_clean_iteration = verdict.last_clean_iteration,
                    .text = verdict.sentence,
                    .next = verdict.next.empty() ? std::string(facts(FindingRule::kNan).next) : verdict.next};
    if (verdict.row != kNoRow) {
      const Seen& row = record_.rows()[verdict.row];
      finding.io = row.is_input ? "input" : "output";
      finding.slot = row.slot;
      if (finding.op_name.empty()) {
        finding.op_name = record_.texts()[row.name];
        finding.op_type = record_.texts()[row.op_type];
      }
    }
    std::uint64_t holders = 0;
    for (const HistorySeries& series : history_.series()) {
      holders += std::ranges::any_of(series.cells, [&](const HistoryCell& cell) {
        return history_.iteration(cell) >= verdict.iteration && (history_.has_nan(cell) || history_.has_inf(cell));
      });
    }
    finding.others = holders > 0 ? holders - 1 : 0;
    findings_.list.push_back(std::move(finding));
  }

  void find_in_series() {
    const std::map<std::uint32_t, std::uint64_t> changes_until = last_changes();
    for (const HistorySeries& series : history_.series()) {
      const auto ask = [&](FindingRule rule, const SeriesJudgement& judgement) {
        judged_[static_cast<int>(rule)] |= judgement.was_judged;
        if (!judgement.breach) return;
        Finding finding = finding_of(rule, series, *judgement.breach);
        finding.text = text_of(finding, series, *judgement.breach);
        findings_.list.push_back(std::move(finding));
      };
      ask(FindingRule::kOverflow, judge_overflow(history_, series, limits_.of(FindingRule::kOverflow), end_));
      const SeriesJudgement jump = judge_jump(history_, series, limits_.of(FindingRule::kJump), end_);
      ask(FindingRule::kJump, jump);
      // What jumped and stayed is no drift.
      const std::uint64_t end_of_drift =
          jump.breach ? std::min(end_, history_.iteration(series.cells[jump.breach->cell])) : end_;
      ask(FindingRule::kDrift, judge_drift(history_, series, limits_.of(FindingRule::kDrift), end_of_drift));
      ask(FindingRule::kDead, judge_dead(history_, series, limits_.of(FindingRule::kDead), end_));
      ask(FindingRule::kFrozen,
          judge_frozen(history_, series, limits_.of(FindingRule::kFrozen), end_, changes_until.at(series.rank)));
    }
  }

  // By rank, the last iteration in which at least three parameters have other values than before.
  std::map<std::uint32_t, std::uint64_t> last_changes() const {
    constexpr int kLeast = 3;
    std::map<std::uint32_t, std::map<std::uint64_t, int>> changing;
    for (const HistorySeries& series : history_.series()) {
      for (std::size_t at = 1; at < series.fingerprints.size(); ++at) {
        if (series.fingerprints[at] != series.fingerprints[at - 1]) {
          ++changing[series.rank][history_.iteration(series.cells[at])];
        }
      }
    }
    std::map<std::uint32_t, std::uint64_t> last;
    for (const std::uint32_t rank : history_.ranks()) {
      last[rank] = 0;
      for (const auto& [iteration, count] : changing[rank]) {
        if (count >= kLeast) last[rank] = iteration;
      }
    }
    return last;
  }

  std::string text_of(const Finding& finding, const HistorySeries& series, const Breach& breach) const {
    const std::string who = label_of(history_, series), at = " at iteration " + std::to_string(finding.first_iteration);
    const std::string times = breach.usual > 0 ? shown_number(breach.value / breach.usual) + " times" : "";
    switch (finding.rule) {
      case FindingRule::kOverflow: {
        const std::string dtype(history_.dtype(series.cells.front()));
        return who + " reached " + shown_number(breach.value) + at + ", and " + dtype + " ends at " +
               shown_number(greatest_finite(dtype));
      }
      case FindingRule::kJump:
        return who + " jumped to " + times + " its median" + at;
      case FindingRule::kDrift:
        return who + " has grown to " + times + " what it was by iteration " + std::to_string(finding.first_iteration);
      case FindingRule::kDead:
        return who + " is all 0 since iteration " + std::to_string(finding.first_iteration);
      case FindingRule::kFrozen:
        return who + " has not changed since iteration " +
               std::to_string(finding.last_clean_iteration.value_or(finding.first_iteration)) + ", and others have";
      case FindingRule::kNan:
      case FindingRule::kInf:
      case FindingRule::kRanks:
      case FindingRule::kStopped:
        break;
    }
    return who;
  }

  // Parameters that were equal on two ranks and are not any more. Ranks that hold different parts of a model were never
  // equal.
  void find_unequal_ranks() {
    for (const HistorySeries& series : history_.series()) {
      if (kind_of(history_, series) != TensorKind::kParameter || is_of_batch_norm(series)) continue;
      const HistorySeries* first = nullptr;  // of the lowest rank
      for (const std::uint32_t rank : history_.ranks()) {
        if ((first = history_.series(series.tensor, rank)) != nullptr) break;
      }
      if (first == nullptr || first == &series) continue;
      const auto breach = parted(*first, series);
      if (!breach) continue;
      Finding finding = finding_of(FindingRule::kRanks, series, {.cell = *breach});
      finding.value.reset();
      finding.limit.reset();
      finding.text = label_of(history_, series) + " differs between rank " + std::to_string(first->rank) +
                     " and rank " + std::to_string(series.rank) + " since iteration " +
                     std::to_string(finding.first_iteration);
      findings_.list.push_back(std::move(finding));
    }
  }

  // Each rank keeps its own running statistics.
  bool is_of_batch_norm(const HistorySeries& series) const {
    const std::string_view name = history_.op_name(series.tensor);
    return name.ends_with("running_mean") || name.ends_with("running_var") || name.ends_with("num_batches_tracked");
  }

  // The cell of `b` from which on it differs from `a` to the end, where it was equal and not constant before.
  std::optional<std::size_t> parted(const HistorySeries& a, const HistorySeries& b) {
    std::size_t in_a = 0;
    std::optional<std::size_t> since;
    bool was_equal_after_a_change = false;
    std::uint64_t last = 0;  // a fingerprint
    for (std::size_t at = 0; at < b.cells.size() && history_.iteration(b.cells[at]) < end_; ++at) {
      const std::uint64_t iteration = history_.iteration(b.cells[at]);
      while (in_a < a.cells.size() && history_.iteration(a.cells[in_a]) < iteration) ++in_a;
      if (in_a == a.cells.size() || history_.iteration(a.cells[in_a]) != iteration) continue;
      const std::uint64_t print = b.fingerprints[at];
      if (print == 0 || a.fingerprints[in_a] == 0) continue;
      judged_[static_cast<int>(FindingRule::kRanks)] = true;
      if (print == a.fingerprints[in_a]) {
        was_equal_after_a_change |= last != 0 && last != print;
        since.reset();
      } else if (!since) {
        since = at;
      }
      last = print;
    }
    return was_equal_after_a_change ? since : std::nullopt;
  }

  void find_stopped_ranks() {
    const auto& iterations = history_.iterations();
    if (history_.ranks().size() < 2 || iterations.size() < 3) return;
    judged_[static_cast<int>(FindingRule::kStopped)] = true;
    std::map<std::uint32_t, std::uint64_t> last;
    for (const HistoryPlace& place : history_.places()) last[place.rank] = place.iteration;  // they ascend
    for (const auto& [rank, iteration] : last) {
      const auto after = iterations.end() - std::ranges::upper_bound(iterations, iteration);
      if (static_cast<double>(after) <= limits_.of(FindingRule::kStopped)) continue;
      findings_.list.push_back({.rule = FindingRule::kStopped,
                                .rank = rank,
                                .first_iteration = *std::ranges::upper_bound(iterations, iteration),
                                .last_clean_iteration = iteration,
                                .value = static_cast<double>(after),
                                .limit = limits_.of(FindingRule::kStopped),
                                .text = "rank " + std::to_string(rank) + " has no rows after iteration " +
                                        std::to_string(iteration) + ", and another rank is at " +
                                        std::to_string(iterations.back()),
                                .next = std::string(facts(FindingRule::kStopped).next)});
    }
  }

  // Brings the findings into order, the fault's first. Of those with one rule, the first stays for all that follow
  // within some iterations; it says how many.
  void group() {
    const auto begin = findings_.list.begin() + (has_fault() ? 1 : 0);
    std::stable_sort(begin, findings_.list.end(), [](const Finding& a, const Finding& b) {
      return std::pair(a.first_iteration, a.rule) < std::pair(b.first_iteration, b.rule);
    });
    std::vector<Finding> grouped(std::make_move_iterator(findings_.list.begin()), std::make_move_iterator(begin));
    std::array<std::optional<std::size_t>, kRuleCount> open{};
    std::array<std::uint64_t, kRuleCount> until{};
    for (auto each = begin; each != findings_.list.end(); ++each) {
      const auto rule = static_cast<std::size_t>(each->rule);
      const bool is_alone = each->rule == FindingRule::kStopped;
      if (!is_alone && open[rule] && each->first_iteration <= until[rule] + together(each->rule)) {
        ++grouped[*open[rule]].others;
      } else {
        open[rule] = grouped.size();
        grouped.push_back(std::move(*each));
      }
      until[rule] = each->first_iteration;
    }
    findings_.list = std::move(grouped);
    for (Finding& finding : findings_.list) {
      if (finding.others == 0 || finding.rule <= FindingRule::kInf) continue;
      finding.text += "; so did " + plural(finding.others, "other tensor");
    }
  }

  std::string what_was_read() const {
    std::string text = plural(findings_.rows, "row") + " of " + plural(findings_.tensors, "tensor");
    if (findings_.first_iteration) {
      text += ", iterations " + std::to_string(*findings_.first_iteration) + " to " +
              std::to_string(*findings_.last_iteration);
    }
    return text + ", " + plural(findings_.ranks.size(), "rank");
  }

  void say_verdict() {
    if (has_fault()) {
      findings_.verdict.push_back(answer_.verdict.sentence);
      findings_.verdict.insert(findings_.verdict.end(), answer_.verdict.details.begin(), answer_.verdict.details.end());
      if (const std::uint64_t others = findings_.list.front().others; others != 0) {
        findings_.verdict.push_back(plural(others, "other tensor") + (others == 1 ? " holds" : " hold") +
                                    " NaN or Inf from iteration " + std::to_string(answer_.verdict.iteration) + " on");
      }
    } else if (findings_.list.empty()) {
      findings_.verdict.push_back("Nothing found in " + what_was_read());
    } else {
      findings_.verdict.push_back(as_sentence(findings_.list.front().text) + ". No NaN and no Inf lasted");
    }
    if (findings_.list.empty()) say_nearest_limit();
  }

  // The tensor that is nearest to the greatest value of its dtype.
  void say_nearest_limit() {
    double share = 0, value = 0;
    const HistorySeries* nearest = nullptr;
    for (const HistorySeries& series : history_.series()) {
      for (const HistoryCell& cell : series.cells) {
        const double greatest = greatest_finite(history_.dtype(cell)), absmax = history_.absmax(cell);
        if (greatest > 0 && absmax < greatest && absmax / greatest > share) {
          share = absmax / greatest;
          value = absmax;
          nearest = &series;
        }
      }
    }
    if (nearest == nullptr) return;
    const std::string dtype(history_.dtype(nearest->cells.front()));
    findings_.verdict.push_back("The nearest to its limit: " + label_of(history_, *nearest) + " reached " +
                                shown_number(value) + ", and " + dtype + " ends at " +
                                shown_number(greatest_finite(dtype)));
  }

  void say_what_was_not_measured() {
    for (const FindingRuleFacts& rule : kFindingRules) {
      if (judged_[static_cast<int>(rule.rule)] || has_fault()) continue;
      findings_.not_measured.push_back(std::string(rule.name) + ": needs " + std::string(rule.needs));
    }
    if (has_fault()) {
      findings_.not_measured.push_back("iterations from " + std::to_string(end_) +
                                       " on, by other rules than nan and inf: what follows from a fault is no finding");
    }
    for (const std::string& each : answer_.verdict.not_watched)
      findings_.not_measured.push_back(each + ": not watched");
  }

  const History& history_;
  const Record& record_;
  const Answer& answer_;
  const RuleLimits& limits_;
  std::uint64_t end_ = std::numeric_limits<std::uint64_t>::max();  // the fault's iteration
  std::array<bool, kRuleCount> judged_{};
  Findings findings_;
};

}  // namespace

std::string_view name(FindingSeverity severity) {
  switch (severity) {
    case FindingSeverity::kError:
      return "error";
    case FindingSeverity::kWarning:
      return "warning";
    case FindingSeverity::kNotice:
      break;
  }
  return "notice";
}

std::optional<FindingRule> finding_rule_from(std::string_view name) {
  for (const FindingRuleFacts& rule : kFindingRules) {
    if (rule.name == name) return rule.rule;
  }
  return std::nullopt;
}

Findings find_in(const History& history, const Record& record, const Answer& answer, const RuleLimits& limits) {
  return Search(history, record, answer, limits).found();
}

}  // namespace tensorstat
