#include "stats/answer/origin/verdict.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "stats/answer/origin/ended.hpp"
#include "stats/answer/origin/lists.hpp"
#include "stats/answer/origin/ranks.hpp"
#include "stats/answer/origin/sentence.hpp"
#include "stats/answer/origin/telling.hpp"
#include "stats/answer/origin/walk.hpp"
#include "stats/data/rows/names/row_kind.hpp"

namespace tensorstat {

class FaultSearch::State {
 public:
  State(const RunFacts& facts, Hints& hints, const FaultChoice& choice)
      : hints_(hints), choice_(choice), facts_(facts) {}

  bool has_verdict() const { return verdict_.kind != FaultKind::kNone; }

  const FaultVerdict& verdict() const { return has_verdict() ? verdict_ : cut_off_; }

  void look_at(const Record& record, std::span<const std::uint64_t> clean, std::uint64_t first_iteration) {
    record_ = &record;
    std::uint32_t first = 0;
    while (first < record.run_count() && iteration_of(first) < first_iteration) ++first;
    auto next_clean = clean.begin();
    while (first < record.run_count() && (!has_verdict() || choice_.with_lists)) {
      std::uint32_t last = first + 1;
      const std::uint64_t iteration = iteration_of(first);
      while (last < record.run_count() && iteration_of(last) == iteration) ++last;
      for (; next_clean != clean.end() && *next_clean < iteration; ++next_clean) pass_clean(*next_clean);
      if (!has_fault(first, last)) {
        pass_clean(iteration);
      } else if (has_verdict()) {
        list_later(first, last);
      } else if (auto verdict = verdict_of(first, last)) {
        verdict_ = *std::move(verdict);
        verdict_.last_clean_iteration = last_clean_;
        finish(verdict_);
      }
      first = last;
    }
    for (; next_clean != clean.end(); ++next_clean) pass_clean(*next_clean);
    record_ = nullptr;
  }

  Answer answer() {
    if (!has_verdict() && cut_off_.kind != FaultKind::kNone) {
      verdict_ = std::move(cut_off_);
      lists_ = std::move(lists_of_cut_off_);
    } else if (!has_verdict()) {
      finish(verdict_);
    }
    Answer answer{.verdict = std::move(verdict_), .lists = std::move(lists_), .notes = notes()};
    return answer;
  }

 private:
  struct Ended {
    std::uint64_t count = 0, first = 0, last = 0;
  };

  std::uint64_t iteration_of(std::uint32_t run) const { return record_->run(run).front().iteration; }

  bool is_faulty(const RecordRow& row) const { return origin_rules::fault_in(*record_, row, choice_).any(); }

  void pass_clean(std::uint64_t iteration) {
    if (has_verdict()) return;
    end_skipping(iteration);
    last_clean_ = iteration;
  }

  // This iteration was not skipped.
  void end_skipping(std::uint64_t iteration) {
    if (skipped_in_a_row_ != 0 && skipped_in_a_row_ == most_in_a_row_) end_of_most_ = iteration;
    skipped_in_a_row_ = 0;
  }

  // While its rows are at hand; without a fault it has none.
  void finish(FaultVerdict& verdict) const {
    if (hints_.has_parameters_off()) verdict.not_watched.emplace_back("parameters");
    if (hints_.has_gradients_off()) verdict.not_watched.emplace_back("gradients");
    if (facts_.form == Form::kWatch && !facts_.has_loss) verdict.not_watched.emplace_back("loss");
    verdict.not_seen = hints_.all_not_seen();
    if (const std::string* why = hints_.model_not_seen()) {
      verdict.not_watched.emplace_back("model");
      verdict.unseen = *why;
    }
    if (verdict.row != kNoRow) {
      const RecordRow& row = record_->rows()[verdict.row];
      verdict.row_of = {std::string(record_->texts()[row.op_type]), std::string(record_->texts()[row.name])};
      verdict.row_is_input = row.is_input;
      verdict.row_slot = row.slot;
    }
    if (verdict.kind == FaultKind::kNone) {
      put_nothing_into_words(facts_, verdict, notes().empty());
    } else {
      put_into_words(*record_, facts_.form, verdict);
    }
  }

  // An overflow that a clamp or the like cut off is the verdict where the whole run has no other.
  void keep_cut_off(const origin_rules::Walked& walked, const origin_rules::Fault& fault,
                    origin_rules::Telling& telling) {
    if (cut_off_.kind != FaultKind::kNone || choice_.nan_only || fault.has_nan || fault.kind != FaultKind::kProduced)
      return;
    const Call& seen = walked.model.calls[fault.seen_in];
    const CutOff* cut = hints_.cut_off_of(seen.rank, seen.iteration, record_->texts()[seen.name]);
    if (cut == nullptr) return;
    cut_off_ = telling.verdict(fault);
    cut_off_.rule = "R7o";
    cut_off_.is_likely = true;
    cut_off_.cut_off = *cut;
    cut_off_.last_clean_iteration = last_clean_;
    finish(cut_off_);
    if (choice_.with_lists) origin_rules::add_to_lists(*record_, choice_, walked, fault, telling, lists_of_cut_off_);
  }

  bool has_fault(std::uint32_t first, std::uint32_t last) const {
    for (std::uint32_t run = first; run < last; ++run) {
      if (std::ranges::any_of(record_->run(run), [&](const RecordRow& row) { return is_faulty(row); })) return true;
    }
    return false;
  }

  std::optional<FaultVerdict> verdict_of(std::uint32_t first, std::uint32_t last) {
    origin_rules::Around all = origin_rules::around_of(*record_, choice_, first, last);
    all.has_written = facts_.has_written;
    all.harmless = &harmless_;
    all.writers = &writers_;
    std::vector<origin_rules::OfRank> candidates, of_evaluation;
    bool is_skipped = false;
    const std::uint64_t iteration = iteration_of(first);
    std::map<std::pair<std::uint32_t, Part>, origin_rules::Walked> by_rank;
    std::vector<std::string> ended_makers;
    for (const auto& [rank, part] : parts(all, first, last)) {
      const origin_rules::Walked& walked = by_rank[{rank, part}] = walk(all, rank, first, last, part);
      origin_rules::Telling telling(*record_, hints_, choice_, walked, facts_.has_parameters);
      for (const origin_rules::Fault& fault : walked.faults) {
        // Its zoom may say that a mask wrote the Inf. Later iterations have no zoom of that call.
        if (!fault.has_nan && fault.kind == FaultKind::kProduced && fault.call != kNoCall)
          origin_rules::is_inf_written(*record_, hints_, walked.model, fault, &writers_);
        if (fault.is_open || &fault == walked.verdict || fault.is_received || fault.is_spent) continue;
        if (fault.has_nan && fault.call != kNoCall)
          ended_makers.emplace_back(record_->texts()[walked.model.calls[fault.call].name]);
        Ended& ended = ended_[telling.note(fault)];
        if (ended.count++ == 0) ended.first = iteration;
        ended.last = iteration;
        keep_cut_off(walked, fault, telling);
      }
      is_skipped |= walked.is_skipped;
      if (walked.verdict == nullptr) continue;
      (part == Part::kEvaluation ? of_evaluation : candidates)
          .push_back(origin_rules::of_rank(*record_, walked, telling.verdict(*walked.verdict)));
    }
    harmless_.insert(ended_makers.begin(), ended_makers.end());
    if (candidates.empty()) candidates = std::move(of_evaluation);
    if (!candidates.empty()) {
      FaultVerdict verdict = origin_rules::pick_of_ranks(candidates);
      if (choice_.with_lists) {
        for (const bool is_of_verdict : {true, false}) {
          for (const auto& [place, walked] : by_rank) {
            const bool is_its = place.first == verdict.rank && walked.model.is_evaluation == verdict.is_evaluation;
            if (is_its == is_of_verdict) list(walked, !is_of_verdict);
          }
        }
      }
      return verdict;
    }
    if (is_skipped) {
      skipped_.push_back(iteration);
      most_in_a_row_ = std::max(most_in_a_row_, ++skipped_in_a_row_);
    } else {
      end_skipping(iteration);
      last_clean_ = iteration;
    }
    return std::nullopt;
  }

  void list(const origin_rules::Walked& walked, bool is_told) {
    origin_rules::Telling telling(*record_, hints_, choice_, walked, facts_.has_parameters);
    origin_rules::add_to_lists(*record_, choice_, walked, telling, is_told, lists_);
  }

  // An iteration after the verdict's: most of its faults only pass on what the parameters hold since then.
  void list_later(std::uint32_t first, std::uint32_t last) {
    origin_rules::Around all = origin_rules::around_of(*record_, choice_, first, last);
    all.has_written = facts_.has_written;
    all.harmless = &harmless_;
    all.writers = &writers_;
    for (const auto& [rank, part] : parts(all, first, last)) list(walk(all, rank, first, last, part), true);
  }

  std::vector<std::pair<std::uint32_t, Part>> parts(const origin_rules::Around& all, std::uint32_t first,
                                                    std::uint32_t last) const {
    std::vector<std::pair<std::uint32_t, Part>> pairs;
    for (const std::uint32_t rank : all.ranks) {
      for (const Part part : parts_of(*record_, facts_.form, rank, first, last)) pairs.emplace_back(rank, part);
    }
    return pairs;
  }

  origin_rules::Walked walk(const origin_rules::Around& all, std::uint32_t rank, std::uint32_t first,
                            std::uint32_t last, Part part) {
    Model model = model_of(*record_, facts_.form, hints_, rank, first, last, part);
    return origin_rules::walk(*record_, hints_, choice_, all, std::move(model));
  }

  std::vector<std::string> notes() const {
    std::vector<std::string> notes;
    if (!skipped_.empty()) {
      constexpr std::size_t kMostSteps = 10;
      constexpr std::uint64_t kMany = 5;
      std::string text = std::to_string(skipped_.size()) + (skipped_.size() == 1 ? " step was" : " steps were") +
                         " skipped (gradients with NaN or Inf, and no parameter was written): iteration" +
                         (skipped_.size() == 1 ? "" : "s");
      for (std::size_t i = 0; i < skipped_.size() && i < kMostSteps; ++i)
        text += (i == 0 ? " " : ", ") + std::to_string(skipped_[i]);
      if (skipped_.size() > kMostSteps) text += " and " + std::to_string(skipped_.size() - kMostSteps) + " more";
      if (skipped_in_a_row_ >= kMany) {
        text += "; the last " + std::to_string(skipped_in_a_row_) + " in a row: no scale may be small enough";
      } else if (most_in_a_row_ >= kMany) {
        text += "; " + std::to_string(most_in_a_row_) + " in a row, until iteration " + std::to_string(end_of_most_);
      }
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

  const Record* record_ = nullptr;  // that is looked at
  Hints& hints_;
  const FaultChoice choice_;
  const RunFacts facts_;
  FaultVerdict verdict_, cut_off_;
  std::optional<std::uint64_t> last_clean_;
  std::vector<std::uint64_t> skipped_;
  std::uint64_t skipped_in_a_row_ = 0, most_in_a_row_ = 0, end_of_most_ = 0;
  std::map<std::string, Ended> ended_;
  std::set<std::string, std::less<>> harmless_;  // calls that made a NaN that ended
  origin_rules::Writers writers_;
  Origin lists_, lists_of_cut_off_;
};

FaultSearch::FaultSearch(const RunFacts& facts, Hints& hints, const FaultChoice& choice)
    : state_(std::make_unique<State>(facts, hints, choice)) {}
FaultSearch::FaultSearch(const FaultSearch& other) : state_(std::make_unique<State>(*other.state_)) {}
FaultSearch& FaultSearch::operator=(FaultSearch&&) noexcept = default;
FaultSearch::~FaultSearch() = default;
void FaultSearch::look_at(const Record& record, std::span<const std::uint64_t> clean, std::uint64_t first) {
  state_->look_at(record, clean, first);
}
const FaultVerdict& FaultSearch::verdict() const { return state_->verdict(); }
bool FaultSearch::has_verdict() const { return state_->has_verdict(); }
Answer FaultSearch::answer() { return state_->answer(); }

std::string_view certainty_of(const FaultVerdict& verdict) {
  if (verdict.kind == FaultKind::kNone) return "";
  if (verdict.kind == FaultKind::kUnknown) return "unknown";
  return verdict.is_likely || verdict.came_again || verdict.through.is_named() ? "likely" : "sure";
}

std::string_view name(FaultKind kind) {
  constexpr std::string_view kNames[] = {"none",      "produced", "entered",   "loss",
                                         "parameter", "gradient", "optimizer", "unknown"};
  return kNames[static_cast<int>(kind)];
}

Answer answer_of(const Record& record, Hints& hints, const FaultChoice& choice) {
  FaultSearch search(facts_of(record, hints), hints, choice);
  search.look_at(record);
  return search.answer();
}

bool is_fault(const StatisticsView& statistics, const FaultChoice& choice) {
  const Specials specials = specials_of(statistics);
  return specials.has_nan() || (!choice.nan_only && specials.has_inf());
}

}  // namespace tensorstat
