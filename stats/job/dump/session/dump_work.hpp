// Measures and writes the runs of a dump session.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <tensorstat/dump.hpp>
#include <utility>
#include <variant>
#include <vector>

#include "stats/data/rows/notices.hpp"
#include "stats/job/dump/config/dump_config.hpp"
#include "stats/job/dump/output/dump_output.hpp"
#include "stats/job/dump/session/alerted_output.hpp"
#include "stats/job/dump/session/dump_meter.hpp"
#include "stats/job/dump/session/dump_tally.hpp"
#include "stats/job/dump/session/pending_run.hpp"
#include "stats/job/dump/session/work_queue.hpp"

namespace tensorstat {

// Work other than writing runs. It keeps its place in the queue.
using DumpErrand = std::function<void(DumpOutput&)>;
using DumpItem = std::variant<PendingRun, DumpErrand>;
using DumpQueue = WorkQueue<DumpItem>;

// Knows nothing of threads: the queue calls it.
class DumpWork final : public DumpQueue::Worker {
 public:
  // The references must outlive this.
  DumpWork(const DumpConfig& config, const DumpOptions& options, const Categories& columns,
           const std::shared_ptr<Notices>& notices);
  ~DumpWork();

  void work_on(DumpQueue::Items& items) noexcept override;
  bool runs_callers_code(const DumpItem& item) const noexcept override;

  // Before the first run. A second call replaces the first. `more` is measured behind the columns, for the rules alone.
  AlertedOutput& set_alerts(AlertSetup setup, const Categories& more);

  // How many values of a tensor are dumped; 0: all. As in MindSpore, the device's statistics cover whole tensors.
  std::uint32_t sample_num() const { return config_.on_device ? 0 : config_.sample_num; }
  // Whether overflow_number overflows were dumped. Called from any thread.
  bool has_enough_overflows() const { return enough_overflows_.load(std::memory_order_relaxed); }

  // The late faults of the runs done since the last call. Called from any thread.
  std::vector<LateFaults> take_late_faults();

  DumpMeter meter;
  DumpTally tally;
  std::unique_ptr<DumpOutput> output;

 private:
  bool is_to_be_dumped(PendingRun& run) noexcept;
  void dump(std::span<PendingRun*> runs) noexcept;
  bool measure(std::span<PendingRun* const> runs) noexcept;
  void write_all(std::span<PendingRun*> runs) noexcept;
  void keep_faults(std::span<PendingRun* const> runs) noexcept;

  const DumpConfig& config_;
  const DumpOptions& options_;
  const std::shared_ptr<Notices> notices_;
  std::atomic<bool> enough_overflows_{false};
  std::mutex late_mutex_;
  std::vector<LateFaults> late_;
  // Runs with tensors that a failed device may still read. They are never freed.
  std::unique_ptr<DumpQueue::Items> in_use_ = std::make_unique<DumpQueue::Items>();
};

}  // namespace tensorstat
