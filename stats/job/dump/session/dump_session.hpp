// DumpSession's implementation, between the training thread and the disk.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tensorstat/dump.hpp>
#include <vector>

#include "stats/data/rows/notices.hpp"
#include "stats/job/dump/config/dump_config.hpp"
#include "stats/job/dump/config/selection.hpp"
#include "stats/job/dump/session/alerted_output.hpp"
#include "stats/job/dump/session/arrivals.hpp"
#include "stats/job/dump/session/dump_graph.hpp"
#include "stats/job/dump/session/dump_work.hpp"
#include "stats/job/dump/session/ended_steps.hpp"
#include "stats/job/dump/session/pending_run.hpp"
#include "stats/job/dump/session/tensor_pool.hpp"
#include "stats/job/dump/session/waiting_items.hpp"

namespace tensorstat {

// Selects tensors, holds them, and passes them to `queue`, which has the thread. `work` measures and writes. If memory
// is short, or the tensor's memory cannot be kept, the calling thread does the work itself, after all earlier work.
// Host tensors that need only merging statistics are measured at once by the calling thread, because a copy would take
// as long.
//
// The caller's code is never called under a lock. The log is called by the Hold at the start of every public call. The
// deleters of keep_alive run when a list of items is destroyed, after the locks are released.
//
// Its members up to `private` are for DumpSession's own functions, which stand in the same files.
struct DumpSession::State {
  State(DumpConfig config, DumpOptions options, std::shared_ptr<Notices> notices);
  ~State();

  static Result<std::unique_ptr<State>> open(Result<DumpConfig> config, DumpOptions options,
                                             std::shared_ptr<Notices> notices);

  // `place` with the iteration as the config and the folders count it.
  DumpPlace counted(DumpPlace place) const {
    place.iteration += initial_iteration.load(std::memory_order_relaxed);
    return place;
  }
  // Whether anything of this counted place is wanted, by the config and by the run-time switch.
  bool wants_step(const DumpPlace& counted) const {
    const Switch now = run_time_switch.load(std::memory_order_relaxed);
    if (now == Switch::kOff || !selection.wants_rank(counted.rank)) return false;
    return (now == Switch::kOn && config.start_is_of_any_iteration) || selection.wants_iteration(counted);
  }
  bool is_in_fork() const { return queue.is_in_fork(); }
  bool wants(const DumpPlace& place, const DumpOperator* op, bool failed) const;
  void note_place(const DumpPlace& place) const noexcept;

  const DumpOperator* operator_named(std::string_view type, std::string_view name, bool set_dump,
                                     std::optional<std::uint64_t> given_stream_id,
                                     std::optional<std::uint64_t> given_task_id);
  void describe(const DumpOperator* op, std::string_view parent);
  void collect(const DumpPlace& place, const DumpOperator* op, std::span<const DumpTensor> tensors,
               std::string_view layout);
  bool step_end(const DumpPlace& place);
  bool flush();
  bool close();
  Status set_alerts(AlertOptions wanted);
  void deliver_alerts() noexcept;

  void post(DumpItem item);  // behind all earlier work
  std::shared_ptr<DumpGraph> begin_capture();
  void end_capture() noexcept;
  bool replayed(DumpGraph& graph, std::uint64_t iteration, void* stream, std::uint64_t added_to_numbers);
  // See DumpSession::settle().
  std::vector<LateFaults> settle(bool with_this_step);
  // Returns when everything posted so far is done.
  void drain() noexcept;

  const DumpConfig config;
  const DumpOptions options;
  const std::shared_ptr<Notices> notices;
  const Selection selection;
  const Categories columns;
  enum class Switch : std::uint8_t { kByConfig, kOn, kOff };
  std::atomic<Switch> run_time_switch{Switch::kByConfig};
  std::atomic<std::uint64_t> initial_iteration;
  std::atomic<bool> closed{false};
  mutable std::atomic<bool> some_failed{false};  // operators that the backend reported as failed
  std::atomic<bool> has_kernel_args{false};

  TensorPool pool;
  DumpWork work;
  DumpQueue queue;
  WaitingItems waiting;  // before the queue: all work goes through it
  struct {
    AlertedOutput* output = nullptr;  // the output of `work`, if there are alerts
    std::function<void(const Alert&)> on_alert;
    std::vector<std::string> groups;        // each once
    std::atomic<bool> has_unjudged{false};  // runs in the queue
    std::atomic<bool> has_compared{false};  // a tensor came with DumpTensor::differs_over
  } alerts;

 private:
  // Whether the rules are asked before collect() returns, because the tensors of an alert are saved.
  bool judges_at_once() const { return alerts.output != nullptr && alerts.output->saves_tensors(); }
  void judge_here(PendingRun& run) noexcept;
  void count_stall(std::chrono::steady_clock::time_point start) noexcept;
  // Whether ordered_by_queue is to spare collect() a wait for tensors of this run.
  bool goes_without_a_wait(const PendingRun& run) const;
  void say_unlisted(std::uint32_t device) const noexcept;
  void say_what_never_came() noexcept;
  void say_nothing_came() noexcept;
  std::string why_nothing();

  void hold_all(std::span<const DumpTensor> tensors, PendingRun& run) noexcept;
  void measure_here(PendingRun& run) noexcept;
  bool fold_here(PendingRun& run) noexcept;
  bool add_to_graph(PendingRun& run);
  std::string_view why_no_board(const PendingRun& run) const;
  bool goes_on_board(const PendingRun& run) const;
  void hand_over(DumpQueue::Items one) noexcept;
  void copy_all(PendingRun& run, std::size_t alignment) noexcept;
  void copy_strided(PendingRun& run) noexcept;
  std::uint64_t next_timestamp_us();
  void record(const DumpPlace* step) noexcept;
  bool is_behind() noexcept;
  bool has_lost_or_waits() const;

  mutable Arrivals arrivals_;
  // devices already reported, a bit each; the last bit stands for all from 63 on
  mutable std::atomic<std::uint64_t> unlisted_devices_{0};

  std::mutex operators_mutex_;
  std::map<std::string, std::unique_ptr<DumpOperator>, std::less<>> operators_;

  bool is_inside(const DumpOperator& op, std::string& last) const;
  std::map<std::string, std::string, std::less<>> parents_;  // of described operators, by name
  // Described operators that are not wanted so far, by the last known call around them.
  std::map<std::string, std::vector<DumpOperator*>, std::less<>> waiting_;

  std::atomic<std::uint64_t> last_timestamp_us_{0};

  CapturedGraph captured_;  // between begin_capture() and end_capture()
  // With settles_later, once a run was on the board: rules are then asked in the order of the queue alone.
  std::atomic<bool> has_late_{false};

  EndedSteps ended_steps_;
  std::mutex ended_steps_mutex_;  // for the threads that empty it
};

// The rules that TENSORSTAT_ALERTS names.
AlertOptions alerts_of_environment();

}  // namespace tensorstat
