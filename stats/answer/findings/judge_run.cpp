#include <iterator>
#include <map>
#include <new>
#include <set>

#include "stats/answer/findings/findings.hpp"
#include "stats/core/base/fault_list.hpp"
#include "stats/core/base/float_environment.hpp"
#include "stats/data/rows/names/row_kind.hpp"

namespace tensorstat {
namespace {

// Rows of the iterations with NaN or Inf that are in memory at a time: some 350 bytes each, beside 42 bytes for each
// row of the run.
constexpr std::uint64_t kMostRows = 200'000;

// Goes through the rows of a run once; what origin needs is read again, iteration after iteration.
class RunReader {
 public:
  RunReader(const std::string& path, const MeterOptions& meter, const ReadListener& listener)
      : path_(path), rows_(path, meter, listener, {.is_alone = true}) {}

  Result<JudgedRun> read(const FindingLimits& limits) {
    JudgedRun run;
    const Status gone = rows_.each([&](const Row& row, const Record::Place& place) {
      run.history.add(row, place);
      ++row_counts_[place.iteration];
      if (is_fault(row.statistics, {})) faulty_.insert(place.iteration);
      if (!place.file.empty()) measured_.add(row, place);
    });
    if (!gone) return gone.error();
    if (run.history.row_count() == 0) return nothing_to_read(path_);
    run.history.finish();
    Hints& hints = hints_ = std::move(rows_.hints());
    FaultSearch search(measured_.rows().empty() ? facts_of(run.history) : facts_of(measured_, hints), hints, {});
    if (Status searched = search_in(search); !searched) return searched.error();
    Answer answer = search.answer();
    run.findings = find_in(run.history, answer, hints, limits);
    run.verdict = std::move(answer.verdict);
    run.verdict.zoom = nullptr;  // it is one of the hints
    return run;
  }

 private:
  RunFacts facts_of(const History& history) const {
    RunFacts facts{.form = hints_.is_of_watch() ? Form::kWatch : Form::kGraph};
    bool is_shown = hints_.is_of_watch();
    for (std::uint32_t tensor = 0; tensor < history.tensors().size(); ++tensor) {
      const std::string_view type = history.op_type(tensor);
      const auto shown = is_shown ? std::nullopt : form_shown_by(type, history.op_name(tensor), true);
      if (shown) facts.form = *shown;
      is_shown |= shown.has_value();
      const RowKind kind = row_kind(type);
      facts.has_loss |= kind == RowKind::kLoss;
      if (kind != RowKind::kParameter) continue;
      facts.has_parameters = true;
      facts.has_written |= !history.tensors()[tensor].is_input;
    }
    return facts;
  }
  static RunFacts facts_of(const Record& record, const Hints& hints) { return tensorstat::facts_of(record, hints); }

  Status search_in(FaultSearch& search) {
    if (!measured_.rows().empty()) {  // to read tensors again is to measure them again
      measured_.sort();
      search.look_at(measured_);
      return {};
    }
    auto next = row_counts_.begin();
    while (next != row_counts_.end() && !search.has_verdict()) {
      const std::uint64_t first = next->first;
      std::set<std::uint64_t> wanted;
      std::vector<std::uint64_t> clean;
      std::uint64_t rows = 0;
      for (; next != row_counts_.end() && (rows == 0 || rows + next->second <= kMostRows); ++next) {
        if (faulty_.count(next->first) == 0) {
          clean.push_back(next->first);
          continue;
        }
        wanted.insert(next->first);
        if (next != row_counts_.begin()) wanted.insert(std::prev(next)->first);
        rows += next->second;
      }
      if (rows != 0) wanted.insert(row_counts_.begin()->first);
      const auto read = read_of(wanted);
      if (!read) return read.error();
      FaultSearch trial(search);
      trial.look_at(*read, clean, first);
      // An Inf is explained by the course of its tensor, too.
      if (trial.has_verdict() && trial.verdict().specials.inf != 0U && trial.verdict().row != kNoRow) {
        const auto with_course = read_of(wanted, &trial.verdict());
        if (!with_course) return with_course.error();
        search.look_at(*with_course, clean, first);
      } else {
        search = std::move(trial);
      }
    }
    return {};
  }

  // Reads the rows of these iterations, and all rows of the tensor that the verdict names.
  Result<Record> read_of(const std::set<std::uint64_t>& iterations, const FaultVerdict* verdict = nullptr) {
    Record record;
    if (iterations.empty()) return record;
    const auto take = [&](const Row& row, const Record::Place& place) {
      const bool is_of_course =
          verdict != nullptr && place.rank == verdict->rank && place.name == verdict->row_of.op_name;
      if (is_of_course || iterations.count(place.iteration) != 0) record.add(row, place);
    };
    if (Status read = rows_.each(take, verdict == nullptr ? &iterations : nullptr); !read) return read.error();
    record.sort();
    return record;
  }

  const std::string& path_;
  RunRows rows_;
  Hints hints_;
  Record measured_;                                    // tensors
  std::map<std::uint64_t, std::uint64_t> row_counts_;  // by iteration
  std::set<std::uint64_t> faulty_;
};

}  // namespace

Result<JudgedRun> judge_run(const std::string& path, const FindingLimits& limits, const MeterOptions& meter,
                            const ReadListener& listener) {
  for (const auto& [rule, limit] : limits) {
    if (facts(rule).limit == 0 || !(limit > 0)) {
      return Error{Code::kInvalid, "a limit of the rule " + std::string(name(rule)) +
                                       (facts(rule).limit == 0 ? ": it has none" : " is a number above 0")};
    }
  }
  FaultList faults;
  const ReadListener kept = {[&](std::string_view words) {
                               faults.add(std::string(words));
                               if (listener.failed) listener.failed(words);
                             },
                             [&](std::size_t done, std::size_t total, std::uint64_t bytes) {
                               if (listener.progressed) listener.progressed(done, total, bytes);
                             }};
  auto run = RunReader(path, meter, kept).read(limits);
  if (run) run->findings.faults = std::move(faults).taken();
  return run;
}

Result<Findings> findings(const std::string& path, const FindingOptions& options) try {
  const FloatEnvironment ieee;
  auto run = judge_run(path, options.limits, options.meter, {});
  if (!run) return run.error();
  return std::move(run->findings);
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

}  // namespace tensorstat
