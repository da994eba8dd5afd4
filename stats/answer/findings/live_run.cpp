#include "stats/answer/findings/live_run.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include "stats/answer/compare/row_place.hpp"
#include "stats/data/rows/row_source.hpp"

namespace tensorstat {
namespace {

constexpr int kShareOfTime = 100, kShareOfFaults = 10;  // judging takes one part of so many
constexpr std::chrono::milliseconds kLeastGap{250};

bool shows_fault(const History& history, const HistoryCell& cell) {
  return history.has_nan(cell) || history.has_inf(cell);
}

}  // namespace

LiveRun::LiveRun(std::string path, FindingLimits limits)
    : path_(std::move(path)), limits_(std::move(limits)), dump_(path_) {}

void LiveRun::forget() {
  history_ = {};
  findings_ = {};
  verdict_ = {};
  ranks_.clear();
  run_ = {};
  has_other_run_ = false;
  folders_.clear();
  judged_rows_ = 0;
  has_fault_ = has_new_fault_ = false;
}

LiveRun::News LiveRun::look(const EachNewRow& each) {
  News news;
  const auto read_file = [&](const std::string& path, const GrowingDump::ReadNew& read) -> Result<RowsRead> {
    if (Status is_of_run = run_.add(path); !is_of_run) {
      has_other_run_ = true;
      return is_of_run.error();
    }
    const auto stored = stored_path(path);
    const std::string& file = stored ? stored->file : path;
    const DumpPlace of_file = place_of_rows(file).value_or(DumpPlace{});
    const Execution execution = execution_of_file(file);
    const std::string folder = file.substr(0, file.rfind('/') == file.npos ? 0 : file.rfind('/'));
    const std::string net = std::filesystem::path(folder).parent_path().parent_path().string();
    return read([&](Row&& row) {
      const RowPlace row_place = place_of_row(row.identity, of_file);
      const HistoryPlace place{.rank = row_place.rank, .graph = row_place.graph, .iteration = row_place.iteration};
      if (!stored) folders_.try_emplace(net, row_place.rank, folder);
      add(row, place, row_place.is_parameter, execution);
      return each ? each(row, path, place) : Status();
    });
  };
  GrowingDump::Look seen = dump_.look(read_file);
  if (seen.begins_again) {
    forget();
    GrowingDump::Look again = dump_.look(read_file);
    seen.rows = again.rows;
    std::ranges::move(again.faults, std::back_inserter(seen.faults));
    news.begins_again = true;
  }
  has_looked_ = true;
  news.rows = seen.rows;
  news.faults = std::move(seen.faults);
  return news;
}

void LiveRun::add(const Row& row, const HistoryPlace& place, bool is_parameter, Execution execution) {
  const HistorySeries& series = history_.add(row, {.name = row.identity.op_name,
                                                   .rank = place.rank,
                                                   .iteration = place.iteration,
                                                   .graph = place.graph,
                                                   .is_parameter = is_parameter,
                                                   .execution = execution});
  last_row_ = Clock::now();
  RankNews& rank = ranks_[place.rank];
  rank.last_iteration = std::max(rank.last_iteration, place.iteration);
  ++rank.rows;
  rank.last_row = last_row_;
  rank.is_live |= has_looked_;
  rank.last_row_us = std::max(rank.last_row_us, row.identity.timestamp_us);
  if (!shows_fault(history_, series.cells.back())) return;
  has_fault_ = true;
  // A mask holds Inf in each iteration, so a fault is new only if the row before had none.
  has_new_fault_ |= series.cells.size() == 1 || !shows_fault(history_, series.cells[series.cells.size() - 2]);
}

bool LiveRun::is_due() const {
  if (is_judged()) return false;
  const auto waited = Clock::now() - judged_;
  if (waited < kLeastGap) return false;
  if (has_new_fault_ && waited > cost_ * kShareOfFaults) return true;
  return waited > cost_ * kShareOfTime;
}

void LiveRun::judge() {
  const auto begin = Clock::now();
  history_.finish();
  // The rows of another run beside this one were not taken.
  const std::string& path = has_other_run_ ? run_.first() : path_;
  auto run = has_fault_ ? judge_run(path, limits_, {}, {}) : Result<JudgedRun>(Error{});
  if (run) {
    findings_ = std::move(run->findings);
    verdict_ = std::move(run->verdict);
  } else {
    findings_ = find_in(history_, {}, hints_beside_rows(), limits_);
    verdict_ = {};
    if (has_fault_) findings_.verdict = {"The rows hold NaN or Inf, which could not be judged: " + run.error().message};
  }
  is_blind_ = has_fault_ && !run;
  judged_rows_ = history_.row_count();
  has_new_fault_ = false;
  judged_ = Clock::now();
  cost_ = judged_ - begin;
}

// Read anew: it grows with the rows.
Hints LiveRun::hints_beside_rows() const {
  Hints hints;
  for (const auto& [net, folder] : folders_) hints.add_folder(folder.first, 0, 0, folder.second);
  return hints;
}

bool LiveRun::is_settled(const Finding& finding) const {
  constexpr std::chrono::seconds kPatience{5};
  if (!is_of_origin(finding.rule)) return true;
  if (findings_.last_iteration.value_or(0) > finding.first_iteration + 1) return true;
  return is_judged() && quiet() > kPatience;
}

bool LiveRun::has_unsettled() const {
  return std::ranges::any_of(findings_.list, [&](const Finding& finding) { return !is_settled(finding); });
}

Findings LiveRun::settled_findings() const {
  Findings settled = findings_;
  std::erase_if(settled.list, [&](const Finding& finding) { return !is_settled(finding); });
  return settled;
}

}  // namespace tensorstat
