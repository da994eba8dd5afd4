// A run that is still being written: its rows so far, and what the rules find in them.
//
//   LiveRun run("/dumps/run");
//   for (;;) {
//     run.look();
//     if (run.is_due()) run.judge();
//     show(run.history(), run.findings());
//     std::this_thread::sleep_for(run.pause());
//   }
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "stats/answer/findings/findings.hpp"
#include "stats/answer/findings/history.hpp"
#include "stats/data/survey/growing_dump.hpp"

namespace tensorstat {

class LiveRun {
 public:
  using Clock = std::chrono::steady_clock;
  // Called for each new row with the path of its file, and where it belongs.
  using EachNewRow = std::function<Status(const Row& row, const std::string& path, const HistoryPlace& place)>;

  explicit LiveRun(std::string path, FindingLimits limits = {});

  struct News {
    std::uint64_t rows = 0;
    bool begins_again = false;        // the dump was replaced: all rows before are forgotten
    std::vector<std::string> faults;  // what could not be read; each is said once
  };
  News look(const EachNewRow& each = {});

  // Whether judging is worth its time now: there are new rows, and judging has taken less than a hundredth of the time
  // so far. A tensor that holds NaN or Inf for the first time does not wait so long.
  bool is_due() const;
  // Judges all rows that were read, as `report` does. NaN and Inf need the rows around them, so that a run that has
  // these is read again.
  void judge();
  // The results of the last judge().
  const Findings& findings() const { return findings_; }
  const FaultVerdict& verdict() const { return verdict_; }
  // Whether there are NaN or Inf that the last judge() could not judge; then the verdict of findings() says why.
  bool is_blind() const { return is_blind_; }
  // NaN and Inf that end with the next iteration are not findings. So a finding of NaN or Inf is settled when two more
  // iterations were judged, or when no row has come for 5 seconds.
  bool is_settled(const Finding& finding) const;
  bool has_unsettled() const;
  Findings settled_findings() const;
  // Whether rows came after it.
  bool is_judged() const { return judged_rows_ == history_.row_count(); }

  // Cells of a series are in the order in which they were read; places() tells their iterations.
  const History& history() const { return history_; }

  struct RankNews {
    std::uint64_t last_iteration = 0, rows = 0;
    bool is_live = false;           // it has rows that were not there at the first look
    Clock::time_point last_row;     // when it was read
    std::uint64_t last_row_us = 0;  // the time that it says, since the Unix epoch; 0: none
  };
  const std::map<std::uint32_t, RankNews>& ranks() const { return ranks_; }

  bool is_waiting() const { return dump_.is_waiting(); }  // the path does not exist yet
  std::chrono::milliseconds pause() const { return dump_.pause(); }
  // How long there have been no rows.
  Clock::duration quiet() const { return Clock::now() - last_row_; }

 private:
  void forget();
  Hints hints_beside_rows() const;
  void add(const Row& row, const HistoryPlace& place, bool is_parameter, Execution execution);

  const std::string path_;
  const FindingLimits limits_;
  GrowingDump dump_;
  History history_;
  Findings findings_;
  FaultVerdict verdict_;
  std::map<std::uint32_t, RankNews> ranks_;
  OneRun run_;
  bool has_other_run_ = false;  // files of another run are there, and are not read
  // By the folder of a rank's net, where watch.ndjson may be: the rank, and a folder of its rows.
  std::map<std::string, std::pair<std::uint32_t, std::string>> folders_;
  std::uint64_t judged_rows_ = 0;
  bool has_looked_ = false, is_blind_ = false;
  bool has_fault_ = false;      // some row holds NaN or Inf
  bool has_new_fault_ = false;  // a tensor does that did not when the run was judged
  Clock::time_point last_row_ = Clock::now(), judged_{};
  Clock::duration cost_{};  // of the last judgement
};

}  // namespace tensorstat
