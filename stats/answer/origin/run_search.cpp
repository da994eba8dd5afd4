#include "stats/answer/origin/run_search.hpp"

#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "stats/answer/origin/reasons.hpp"
#include "stats/answer/origin/run_facts.hpp"

namespace tensorstat {
namespace {

class RunSearch {
 public:
  RunSearch(const std::string& path, const MeterOptions& meter, const ReadListener& listener, const FaultChoice& choice)
      : path_(path), rows_(path, meter, listener, {.is_alone = true}), choice_(choice) {}

  Result<SearchedRun> search(const RunRows::Each& each) {
    bool is_short = true;
    RunFactsReader facts;
    const Status gone = rows_.each([&](const Row& row, const Record::Place& place) {
      if (each) each(row, place);
      const Identity& call = row.identity;
      facts.add(call.op_type, place.name, call.io == "input", !place.file.empty(), place.iteration);
      facts.add(row.statistics);
      ++row_counts_[place.iteration];
      if (is_fault(row.statistics, choice_)) faulty_.insert(place.iteration);
      // Tensors stay: to read them again is to measure them again.
      add_while_short(record_, is_short, rows_.are_measured(), row, place);
    });
    if (!gone) return gone.error();
    if (row_counts_.empty()) return nothing_to_read(path_);
    SearchedRun run;
    run.hints = std::move(rows_.hints());
    run.is_whole = rows_.is_whole();
    const RunFacts of_run = facts.facts(run.hints);
    run.row_count = of_run.row_count;
    FaultSearch search(of_run, run.hints, choice_);
    if (is_short) {
      record_.sort();
      search.look_at(record_);
    } else if (Status searched = search_parts(search); !searched) {
      return searched.error();
    }
    run.answer = search.answer();
    run.record = std::move(record_);
    return run;
  }

 private:
  Status search_parts(FaultSearch& search) {
    auto next = row_counts_.begin();
    while (next != row_counts_.end() && !search.has_verdict()) {
      const std::uint64_t first = next->first;
      std::set<std::uint64_t> wanted;
      std::vector<std::uint64_t> clean;
      std::uint64_t rows = 0;
      const auto fits = [&] { return choice_.with_lists || rows == 0 || rows + next->second <= kMostRowsKept; };
      for (; next != row_counts_.end() && fits(); ++next) {
        if (faulty_.count(next->first) == 0) {
          clean.push_back(next->first);
          continue;
        }
        wanted.insert(next->first);
        if (next != row_counts_.begin()) wanted.insert(std::prev(next)->first);
        rows += next->second;
      }
      if (rows != 0) wanted.insert(row_counts_.begin()->first);
      if (Status read = read_again(wanted); !read) return read;
      FaultSearch trial(search);
      trial.look_at(record_, clean, first);
      const bool is_new = trial.has_verdict() || search.verdict().kind == FaultKind::kNone;
      if (is_new && trial.verdict().row != kNoRow) {
        if (Status read = read_again(wanted, past_of(trial.verdict())); !read) return read;
        search.look_at(record_, clean, first);
      } else {
        search = std::move(trial);
      }
    }
    return {};
  }

  using Filter = std::function<bool(const Row&, const Record::Place&)>;

  // A verdict is explained by the past of its tensor, of what the model is given and of parameters, too.
  Filter past_of(const FaultVerdict& verdict) const {
    std::set<std::string, std::less<>> of_model;
    for (const std::uint32_t input : verdict.of_model) of_model.emplace(record_.texts()[record_.rows()[input].name]);
    return [&verdict, of_model](const Row& row, const Record::Place& place) {
      return place.iteration < verdict.iteration && may_explain(row, place, verdict, of_model);
    };
  }

  // Reads the rows of these iterations, and of the others those that `past` chooses.
  Status read_again(const std::set<std::uint64_t>& iterations, const Filter& past = {}) {
    if (iterations.empty()) {
      record_ = {};
      return {};
    }
    if (!past) return tensorstat::read_again(record_, rows_, &iterations);
    return tensorstat::read_again(record_, rows_, nullptr, [&](const Row& row, const Record::Place& place) {
      return iterations.count(place.iteration) != 0 || past(row, place);
    });
  }

  const std::string& path_;
  RunRows rows_;
  const FaultChoice choice_;
  Record record_;
  std::map<std::uint64_t, std::uint64_t> row_counts_;  // by iteration
  std::set<std::uint64_t> faulty_;                     // iterations
};

}  // namespace

Result<SearchedRun> search_run(const std::string& path, const MeterOptions& meter, const ReadListener& listener,
                               const FaultChoice& choice, const RunRows::Each& each) {
  return RunSearch(path, meter, listener, choice).search(each);
}

}  // namespace tensorstat
