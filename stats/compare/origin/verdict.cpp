#include "stats/compare/origin/verdict.hpp"

#include <algorithm>
#include <map>

#include "stats/compare/origin/lists.hpp"
#include "stats/compare/origin/ranks.hpp"
#include "stats/compare/origin/sentence.hpp"
#include "stats/compare/origin/telling.hpp"
#include "stats/compare/origin/walk.hpp"

namespace tensorstat {
namespace {

// Iteration after iteration, until one has a verdict.
class Search {
 public:
  Search(const Record& record, Hints& hints, const FaultChoice& choice)
      : record_(record), hints_(hints), choice_(choice), form_(form_of(record, hints)) {
    for (const Seen& row : record.rows()) {
      has_loss_ |= record.texts()[row.op_type] == "Loss";
      if (record.texts()[row.op_type] != "Parameter") continue;
      has_parameters_ = true;
      has_written_ |= !row.is_input;
    }
  }

  Answer answer() {
    Answer answer;
    std::uint32_t first = 0;
    bool has_verdict = false;
    while (first < record_.run_count() && (!has_verdict || choice_.with_lists)) {
      std::uint32_t last = first + 1;
      const std::uint64_t iteration = iteration_of(first);
      while (last < record_.run_count() && iteration_of(last) == iteration) ++last;
      if (has_verdict) {
        if (has_fault(first, last)) list_later(first, last);
      } else if (has_fault(first, last)) {
        if (auto verdict = verdict_of(first, last)) {
          answer.verdict = *std::move(verdict);
          has_verdict = true;
        }
      } else {
        skipped_in_a_row_ = 0;
        last_clean_ = iteration;
      }
      first = last;
    }
    if (answer.verdict.kind != FaultKind::kNone) answer.verdict.last_clean_iteration = last_clean_;
    answer.notes = notes();
    answer.lists = std::move(lists_);
    if (hints_.has_parameters_off()) answer.verdict.not_watched.emplace_back("parameters");
    if (hints_.has_gradients_off()) answer.verdict.not_watched.emplace_back("gradients");
    if (form_ == Form::kWatch && !has_loss_) answer.verdict.not_watched.emplace_back("loss");
    put_into_words(record_, form_, answer.verdict, answer.notes.empty());
    return answer;
  }

 private:
  struct Ended {
    std::uint64_t count = 0, first = 0, last = 0;
  };

  std::uint64_t iteration_of(std::uint32_t run) const { return record_.run(run).front().iteration; }

  bool is_faulty(const Seen& row) const { return origin_rules::fault_in(record_, row, choice_).any(); }
  bool has_fault(std::uint32_t first, std::uint32_t last) const {
    for (std::uint32_t run = first; run < last; ++run) {
      if (std::ranges::any_of(record_.run(run), [&](const Seen& row) { return is_faulty(row); })) return true;
    }
    return false;
  }

  std::optional<FaultVerdict> verdict_of(std::uint32_t first, std::uint32_t last) {
    origin_rules::Around all = origin_rules::around_of(record_, choice_, first, last);
    all.has_written = has_written_;
    std::vector<FaultVerdict> candidates;
    bool is_skipped = false;
    const std::uint64_t iteration = iteration_of(first);
    std::map<std::uint32_t, origin_rules::Walked> by_rank;
    for (const std::uint32_t rank : all.ranks) {
      const origin_rules::Walked& walked = by_rank[rank] =
          origin_rules::Walk(record_, hints_, choice_, all, model_of(record_, form_, hints_, rank, first, last)).run();
      origin_rules::Telling telling(record_, hints_, choice_, walked, has_parameters_);
      for (const origin_rules::Fault& fault : walked.faults) {
        if (fault.is_open || &fault == walked.verdict || fault.is_received) continue;
        Ended& ended = ended_[telling.note(fault)];
        if (ended.count++ == 0) ended.first = iteration;
        ended.last = iteration;
      }
      is_skipped |= walked.is_skipped;
      if (walked.verdict != nullptr) candidates.push_back(telling.verdict(*walked.verdict));
    }
    if (!candidates.empty()) {
      FaultVerdict verdict = origin_rules::pick_of_ranks(candidates);
      if (choice_.with_lists) {
        for (const bool is_of_verdict : {true, false}) {
          for (const auto& [rank, walked] : by_rank) {
            if ((rank == verdict.rank) == is_of_verdict) list(walked, !is_of_verdict);
          }
        }
      }
      return verdict;
    }
    if (is_skipped) {
      skipped_.push_back(iteration);
      most_in_a_row_ = std::max(most_in_a_row_, ++skipped_in_a_row_);
    } else {
      skipped_in_a_row_ = 0;
      last_clean_ = iteration;
    }
    return std::nullopt;
  }

  void list(const origin_rules::Walked& walked, bool is_told) {
    origin_rules::Telling telling(record_, hints_, choice_, walked, has_parameters_);
    origin_rules::add_to_lists(record_, choice_, walked, telling, is_told, lists_);
  }

  // An iteration behind that of the verdict: most of it passes on what the parameters hold since.
  void list_later(std::uint32_t first, std::uint32_t last) {
    origin_rules::Around all = origin_rules::around_of(record_, choice_, first, last);
    all.has_written = has_written_;
    for (const std::uint32_t rank : all.ranks) {
      const origin_rules::Walked walked =
          origin_rules::Walk(record_, hints_, choice_, all, model_of(record_, form_, hints_, rank, first, last)).run();
      list(walked, true);
    }
  }

  std::vector<std::string> notes() const {
    std::vector<std::string> notes;
    if (!skipped_.empty()) {
      constexpr std::size_t kMostNamed = 10;
      constexpr std::uint64_t kMany = 5;
      std::string text = std::to_string(skipped_.size()) + (skipped_.size() == 1 ? " step was" : " steps were") +
                         " skipped (gradients with NaN or Inf, and no parameter was written): iteration" +
                         (skipped_.size() == 1 ? "" : "s");
      for (std::size_t i = 0; i < skipped_.size() && i < kMostNamed; ++i)
        text += (i == 0 ? " " : ", ") + std::to_string(skipped_[i]);
      if (skipped_.size() > kMostNamed) text += " and " + std::to_string(skipped_.size() - kMostNamed) + " more";
      if (most_in_a_row_ >= kMany)
        text += "; " + std::to_string(most_in_a_row_) + " in a row: no scale may be small enough";
      notes.push_back(std::move(text));
    }
    std::vector<const std::pair<const std::string, Ended>*> in_time;
    for (const auto& each : ended_) in_time.push_back(&each);
    std::ranges::stable_sort(in_time, {}, [](const auto* each) { return each->second.first; });
    for (const auto* each : in_time) {
      const Ended& ended = each->second;
      std::string text = each->first + ": ";
      if (ended.count > 1) text += std::to_string(ended.count) + " times, ";
      text += ended.first == ended.last
                  ? "iteration " + std::to_string(ended.first)
                  : "iterations " + std::to_string(ended.first) + " to " + std::to_string(ended.last);
      notes.push_back(std::move(text));
    }
    return notes;
  }

  const Record& record_;
  Hints& hints_;
  const FaultChoice& choice_;
  const Form form_;
  bool has_written_ = false, has_parameters_ = false, has_loss_ = false;
  std::optional<std::uint64_t> last_clean_;
  std::vector<std::uint64_t> skipped_;
  std::uint64_t skipped_in_a_row_ = 0, most_in_a_row_ = 0;
  std::map<std::string, Ended> ended_;
  Origin lists_;
};

}  // namespace

std::string_view name(FaultKind kind) {
  constexpr std::string_view kNames[] = {"none",      "produced", "entered",   "loss",
                                         "parameter", "gradient", "optimizer", "unknown"};
  return kNames[static_cast<int>(kind)];
}

Answer answer_of(const Record& record, Hints& hints, const FaultChoice& choice) {
  return Search(record, hints, choice).answer();
}

}  // namespace tensorstat
