#include "stats/answer/findings/findings.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "stats/answer/findings/finding_words.hpp"
#include "stats/answer/findings/gone_tensors.hpp"
#include "stats/answer/findings/parted_ranks.hpp"
#include "stats/answer/findings/series_rules.hpp"
#include "stats/answer/findings/silent_rules.hpp"
#include "stats/answer/findings/unwritten_parameters.hpp"

namespace tensorstat {
namespace {

// Tensors that break a rule within so many iterations after another do it together: a batch shows in the forward pass,
// in the gradients, and an iteration later in the parameters. What drifts spreads slowly.
constexpr std::uint64_t kTogether = 5;
std::uint64_t together(FindingRule rule) { return rule == FindingRule::kDrift ? 500 : kTogether; }

constexpr std::size_t kRuleCount = std::size(kFindingRules);

class Search {
 public:
  Search(const History& history, const Answer& answer, const Hints& hints, const FindingLimits& limits)
      : history_(history), verdict_(answer.verdict), hints_(hints), limits_(limits) {
    findings_.notes = answer.notes;
  }

  Findings found() {
    findings_.rows = history_.row_count();
    findings_.tensors = history_.tensors().size();
    findings_.ranks = history_.ranks();
    if (!history_.iterations().empty()) {
      findings_.first_iteration = history_.iterations().front();
      findings_.last_iteration = history_.iterations().back();
    }
    find_fault();
    find_silent();
    find_in_series();
    for (Finding& each : silent_) add(std::move(each));  // an activation that dies stands before its gradients
    find_gone();
    find_unwritten();
    find_unequal_replicas();
    find_unequal_ranks();
    find_stopped_ranks();
    group();
    findings_.verdict = verdict_of(findings_, history_, verdict_);
    say_what_was_not_measured();
    return std::move(findings_);
  }

 private:
  bool has_fault() const { return verdict_.kind != FaultKind::kNone; }
  double limit_of(FindingRule rule) const {
    const auto limit = limits_.find(rule);
    return limit == limits_.end() ? facts(rule).limit : limit->second;
  }
  std::uint64_t after_consequences() const { return verdict_.iteration + kTogether + 1; }

  // A finding that begins with the fault, on a rank that has the fault, is its consequence.
  bool is_consequence(std::uint32_t rank, std::uint64_t iteration) const {
    return has_fault() && iteration >= verdict_.iteration && iteration < after_consequences() &&
           reached_.contains(rank);
  }

  void add(Finding finding) {
    if (is_consequence(finding.rank, finding.first_iteration)) {
      ++consequences_;
    } else {
      findings_.list.push_back(std::move(finding));
    }
  }

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
    judged_[0] = judged_[1] = judged_[2] = true;
    if (!has_fault()) return;
    for (const HistorySeries& series : history_.series()) {
      const auto first = std::ranges::find_if(series.cells, [&](const HistoryCell& cell) {
        return history_.iteration(cell) >= verdict_.iteration && (history_.has_nan(cell) || history_.has_inf(cell));
      });
      if (first == series.cells.end()) continue;
      holders_.insert(series.tensor);
      if (history_.iteration(*first) < after_consequences()) reached_.insert(series.rank);
    }
    const NamedCall& call = verdict_.guilty.is_named() ? verdict_.guilty : verdict_.row_of;
    Finding finding{.rule = verdict_.specials.nan == 0U ? FindingRule::kInf : FindingRule::kNan,
                    .op_type = call.op_type,
                    .op_name = call.op_name,
                    .io = verdict_.row == kNoRow  ? ""
                          : verdict_.row_is_input ? "input"
                                                  : "output",
                    .slot = verdict_.row_slot,
                    .rank = verdict_.rank,
                    .first_iteration = verdict_.iteration,
                    .last_clean_iteration = verdict_.last_clean_iteration,
                    .others = holders_.empty() ? 0 : holders_.size() - 1,
                    .text = verdict_.sentence,
                    .next = verdict_.next.empty() ? std::string(facts(FindingRule::kNan).next) : verdict_.next};
    findings_.list.push_back(finding);
    if (!verdict_.turned_by.is_named()) return;
    const NamedCall& turned_by = verdict_.turned_by;
    findings_.list.push_back({.rule = FindingRule::kTurned,
                              .op_type = turned_by.op_type,
                              .op_name = turned_by.op_name,
                              .rank = verdict_.rank,
                              .first_iteration = verdict_.iteration,
                              .last_clean_iteration = verdict_.last_clean_iteration,
                              .text = turned_by.op_name + " was given the Inf and made NaN of it at iteration " +
                                      std::to_string(verdict_.iteration),
                              .next = std::string(facts(FindingRule::kTurned).next)});
  }

  bool is_of_list(const HistorySeries& series) const {
    return listed_.contains(history_.tensors()[series.tensor].op_name);
  }

  // Asks `judge` about a range of iterations. If the answer is a consequence of the fault, asks again about the
  // iterations after it. Returns the first iteration that broke the rule.
  template <typename Judge>
  std::optional<std::uint64_t> ask(FindingRule rule, const HistorySeries& series, IterationRange range, Judge judge) {
    SeriesJudgement judgement = judge(range);
    judged_[static_cast<int>(rule)] |= judgement.was_judged;
    if (!judgement.breach) return std::nullopt;
    const std::uint64_t first = history_.iteration(series.cells[judgement.breach->cell]);
    if (is_consequence(series.rank, first)) {
      ++consequences_;
      judgement = judge({std::max(range.begin, after_consequences()), range.end});
      if (!judgement.breach) return first;
    }
    Finding finding = finding_of(rule, series, *judgement.breach);
    finding.text = sentence_of(finding, history_, series, *judgement.breach);
    add(std::move(finding));
    return first;
  }

  void find_silent() {
    std::vector<double> limits;
    for (const FindingRuleFacts& rule : kFindingRules) limits.push_back(limit_of(rule.rule));
    std::set<FindingRule> judged;
    for (SilentFault& each : silent_faults(history_, hints_, limits, noise_, judged)) {
      if (each.rule == FindingRule::kStuck) stuck_.insert(each.series);
      Finding finding = finding_of(each.rule, *each.series, {.value = each.value, .limit = limit_of(each.rule)});
      finding.first_iteration = each.first_iteration;
      const auto begin = std::ranges::lower_bound(each.series->cells, each.first_iteration, {},
                                                  [&](const HistoryCell& cell) { return history_.iteration(cell); });
      if (begin != each.series->cells.begin()) finding.last_clean_iteration = history_.iteration(*std::prev(begin));
      finding.text = std::move(each.text);
      silent_.push_back(std::move(finding));
    }
    for (const FindingRule rule : judged) judged_[static_cast<int>(rule)] = true;
  }

  void find_in_series() {
    const std::map<std::uint32_t, std::uint64_t> changes_until = last_changes();
    for (const HistorySeries& series : history_.series()) {
      const TensorKind kind = kind_of(history_, series);
      if (kind == TensorKind::kBuffer) continue;  // running statistics begin at 0 and grow by design
      if (is_of_list(series)) continue;
      const auto judged = [&](FindingRule rule, auto judge, const auto&... noise) {
        return [&, limit = limit_of(rule), judge](IterationRange range) {
          return judge(history_, series, limit, range, noise...);
        };
      };
      ask(FindingRule::kOverflow, series, {}, judged(FindingRule::kOverflow, judge_overflow));
      const auto jump = ask(FindingRule::kJump, series, {}, judged(FindingRule::kJump, judge_jump, noise_));
      if (kind == TensorKind::kUpdate) continue;  // the schedule of the learning rate makes it grow and shrink
      // A jump that stays is not a drift.
      const auto drift = judged(FindingRule::kDrift, judge_drift, noise_);
      ask(FindingRule::kDrift, series, {.end = jump.value_or(UINT64_MAX)}, drift);
      ask(FindingRule::kDead, series, {}, judged(FindingRule::kDead, judge_dead));
      if (!stuck_.contains(&series) && !noisy_.contains({series.rank, history_.tensors()[series.tensor].op_name}))
        ask(FindingRule::kFrozen, series, {}, [&](IterationRange range) {
          return judge_frozen(history_, series, limit_of(FindingRule::kFrozen), range, changes_until.at(series.rank));
        });
    }
  }

  // By rank, the last iteration in which at least three parameters have other values than before.
  std::map<std::uint32_t, std::uint64_t> last_changes() const {
    constexpr int kLeast = 3;
    std::map<std::uint32_t, std::map<std::uint64_t, int>> changing;
    for (const HistorySeries& series : history_.series()) {
      for (std::size_t cell = 1; cell < series.fingerprints.size(); ++cell) {
        if (series.fingerprints[cell] != series.fingerprints[cell - 1]) {
          ++changing[series.rank][history_.iteration(series.cells[cell])];
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

  void find_gone() {
    const double limit = limit_of(FindingRule::kGone);
    for (const GoneTensor& gone : gone_tensors(history_, limit, judged_[static_cast<int>(FindingRule::kGone)])) {
      const HistorySeries& series = *gone.series;
      if (is_of_list(series)) continue;
      Finding finding = finding_of(FindingRule::kGone, series, {.cell = series.cells.size() - 1});
      finding.last_clean_iteration = finding.first_iteration;
      finding.first_iteration = history_.iteration(gone.longest->cells[gone.last + 1]);
      finding.value = static_cast<double>(gone.longest->cells.size() - gone.last - 1);
      finding.limit = limit;
      finding.text = sentence_of(finding, history_, series, {});
      add(std::move(finding));
    }
  }

  void find_unwritten() {
    const double limit = limit_of(FindingRule::kUnwritten);
    for (const UnwrittenParameter& each :
         unwritten_parameters(history_, limit, judged_[static_cast<int>(FindingRule::kUnwritten)])) {
      Finding finding = finding_of(FindingRule::kUnwritten, *each.series, {});
      finding.first_iteration = history_.iteration(each.gradient->cells.front());
      finding.value = static_cast<double>(each.steps);
      finding.limit = limit;
      finding.text = sentence_of(finding, history_, *each.series, {});
      add(std::move(finding));
    }
  }

  // The watch compared every bit and wrote the result into its hints.
  void find_unequal_replicas() {
    judged_[static_cast<int>(FindingRule::kReplica)] = hints_.compares_replicas();
    for (const UnequalReplicas& each : hints_.unequal_replicas()) {
      add({.rule = FindingRule::kReplica,
           .op_type = each.op_type,
           .op_name = each.op_name,
           .io = "output",
           .rank = each.ranks.front(),
           .first_iteration = each.iteration,
           .text = sentence_of(each),
           .next = std::string(facts(FindingRule::kReplica).next)});
      replicas_.emplace(each.op_type, each.op_name);
    }
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
      const auto breach = parted(history_, *first, series, judged_[static_cast<int>(FindingRule::kRanks)]);
      const bool is_known = replicas_.contains(
          {std::string(history_.op_type(series.tensor)), std::string(history_.op_name(series.tensor))});
      if (!breach || is_known) continue;
      Finding finding = finding_of(FindingRule::kRanks, series, {.cell = *breach});
      finding.value.reset();
      finding.limit.reset();
      finding.text = label_of(history_, series) + " differs between rank " + std::to_string(first->rank) +
                     " and rank " + std::to_string(series.rank) + " since iteration " +
                     std::to_string(finding.first_iteration);
      add(std::move(finding));
    }
  }

  // Each rank keeps its own running statistics.
  bool is_of_batch_norm(const HistorySeries& series) const {
    const std::string_view name = history_.op_name(series.tensor);
    return name.ends_with("running_mean") || name.ends_with("running_var") || name.ends_with("num_batches_tracked");
  }

  void find_stopped_ranks() {
    const auto& iterations = history_.iterations();
    if (history_.ranks().size() < 2 || iterations.size() < 3) return;
    judged_[static_cast<int>(FindingRule::kStopped)] = true;
    std::map<std::uint32_t, std::uint64_t> last;
    for (const HistoryPlace& place : history_.places()) last[place.rank] = place.iteration;  // they ascend
    for (const auto& [rank, iteration] : last) {
      const auto after = iterations.end() - std::ranges::upper_bound(iterations, iteration);
      if (static_cast<double>(after) <= limit_of(FindingRule::kStopped)) continue;
      findings_.list.push_back({.rule = FindingRule::kStopped,
                                .rank = rank,
                                .first_iteration = *std::ranges::upper_bound(iterations, iteration),
                                .last_clean_iteration = iteration,
                                .value = static_cast<double>(after),
                                .limit = limit_of(FindingRule::kStopped),
                                .text = "rank " + std::to_string(rank) + " has no rows after iteration " +
                                        std::to_string(iteration) + ", and another rank is at " +
                                        std::to_string(iterations.back()),
                                .next = std::string(facts(FindingRule::kStopped).next)});
    }
  }

  // The tensors that a finding stands for, and the ranks that have the finding's own tensor.
  struct Group {
    using Tensor = std::tuple<std::string, std::string, std::string, std::uint32_t>;
    std::set<Tensor> tensors = {};
    std::set<std::uint32_t> ranks = {};
    void add(const Finding& finding, const Finding& first) {
      tensors.insert(tensor_of(finding));
      if (tensor_of(finding) == tensor_of(first)) ranks.insert(finding.rank);
    }
    static Tensor tensor_of(const Finding& each) { return {each.op_type, each.op_name, each.io, each.slot}; }
  };

  // Brings the findings into order, the fault's first. Of those with one rule, the first stays for all that follow
  // within some iterations; it says how many.
  void group() {
    const auto begin =
        std::ranges::find_if(findings_.list, [](const Finding& each) { return !is_of_origin(each.rule); });
    std::stable_sort(begin, findings_.list.end(), [](const Finding& a, const Finding& b) {
      return std::pair(a.first_iteration, a.rule) < std::pair(b.first_iteration, b.rule);
    });
    std::vector<Finding> grouped(std::make_move_iterator(findings_.list.begin()), std::make_move_iterator(begin));
    std::vector<Group> groups(grouped.size());
    std::array<std::optional<std::size_t>, kRuleCount> open{};
    std::array<std::uint64_t, kRuleCount> until{};
    for (auto each = begin; each != findings_.list.end(); ++each) {
      const auto rule = static_cast<std::size_t>(each->rule);
      const bool is_alone = each->rule == FindingRule::kStopped;
      if (!is_alone && open[rule] && each->first_iteration <= until[rule] + together(each->rule)) {
        groups[*open[rule]].add(*each, grouped[*open[rule]]);
      } else {
        open[rule] = grouped.size();
        groups.emplace_back().add(*each, *each);
        grouped.push_back(*each);
      }
      until[rule] = each->first_iteration;
    }
    findings_.list = std::move(grouped);
    for (std::size_t i = 0; i < groups.size(); ++i) {
      Finding& finding = findings_.list[i];
      if (is_of_origin(finding.rule)) continue;
      finding.others = groups[i].tensors.size() - 1;
      if (const std::size_t ranks = groups[i].ranks.size() - 1; ranks != 0)
        finding.text += "; on " + shown_count(ranks, "other rank") + ", too";
      if (finding.others != 0) finding.text += "; so did " + shown_count(finding.others, "other tensor");
    }
  }

  // The reason why a rule was not judged: missing statistics or rows.
  std::string needs_of(const FindingRuleFacts& rule) const {
    const bool is_of_forward = rule.rule == FindingRule::kOverflow || rule.rule == FindingRule::kDead;
    const auto has_extrema = [](const HistoryKind& kind) { return kind.has(kHasAbsmax); };
    const auto is_forward = [&](const HistorySeries& series) {
      return kind_of(history_, series) == TensorKind::kForward;
    };
    if (is_of_forward && std::ranges::any_of(history_.kinds(), has_extrema) &&
        std::ranges::none_of(history_.series(), is_forward)) {
      return "judges outputs of the forward pass, and no row is one";
    }
    return "needs " + std::string(rule.needs);
  }

  void say_what_was_not_measured() {
    for (const FindingRuleFacts& rule : kFindingRules) {
      if (judged_[static_cast<int>(rule.rule)]) continue;
      findings_.not_measured.push_back(std::string(rule.name) + ": " + needs_of(rule));
    }
    if (has_fault() && !holders_.empty()) {
      findings_.not_measured.push_back(shown_count(holders_.size(), "tensor") +
                                       ", by other rules than nan and inf, in those " + "iterations from " +
                                       std::to_string(verdict_.iteration) + " on in which they hold NaN or Inf");
    }
    if (consequences_ != 0) {
      findings_.not_measured.push_back(
          "consequences of the first finding: other rules were broken " + std::to_string(consequences_) +
          (consequences_ == 1 ? " time" : " times") + " in iterations " + std::to_string(verdict_.iteration) + " to " +
          std::to_string(after_consequences() - 1) + ", on ranks that hold NaN or Inf there");
    }
    for (const std::string& each : verdict_.not_watched) findings_.not_measured.push_back(each + ": not watched");
  }

  const History& history_;
  const FaultVerdict& verdict_;
  const Hints& hints_;
  const FindingLimits& limits_;
  std::set<std::uint32_t> reached_;  // ranks that hold NaN or Inf when the fault begins
  std::set<std::uint32_t> holders_;  // tensors that hold NaN or Inf since then, on any rank
  std::uint64_t consequences_ = 0;
  std::set<std::pair<std::string, std::string>> replicas_;  // that differ: op type and name
  std::array<bool, kRuleCount> judged_{};
  const std::vector<double> noise_ = noise_of_steps(history_);
  const std::set<std::pair<std::uint32_t, std::uint32_t>> noisy_ = noisy_parameters(history_, noise_);
  const std::set<std::uint32_t> listed_ = listed_states(history_);
  std::set<const HistorySeries*> stuck_;
  std::vector<Finding> silent_;
  Findings findings_;
};

}  // namespace

Findings find_in(const History& history, const Answer& answer, const Hints& hints, const FindingLimits& limits) {
  return Search(history, answer, hints, limits).found();
}

}  // namespace tensorstat
