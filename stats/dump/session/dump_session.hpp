// DumpSession's implementation, between the training thread and the disk.
#pragma once

#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tensorstat/dump.hpp>
#include <thread>
#include <variant>
#include <vector>

#include "stats/dump/config/dump_config.hpp"
#include "stats/dump/config/selection.hpp"
#include "stats/dump/output/dump_output.hpp"
#include "stats/dump/session/dump_meter.hpp"
#include "stats/dump/session/dump_tally.hpp"
#include "stats/dump/session/ended_steps.hpp"
#include "stats/dump/session/pending_run.hpp"
#include "stats/dump/session/tensor_pool.hpp"
#include "stats/rows/notices.hpp"

namespace tensorstat {

// Work is done in the order of hand-over, normally by the session's own thread. The thread that hands over does it,
// after all earlier work, if memory is short or if the tensor's memory cannot be kept. Host tensors that need only
// merging statistics are measured at once by the thread that hands over, because a copy would take as long.
//
// The caller's code is never called under a lock. The log is called by the Hold at the start of every public call. The
// deleters of keep_alive run when a list of Items is destroyed, after the locks are released.
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
  bool is_in_fork() const { return process != getpid(); }
  bool wants(const DumpPlace& place, const DumpOperator* op, bool failed) const;
  // How many values of a tensor are dumped; 0: all. As in MindSpore, the device's statistics cover whole tensors.
  std::uint32_t sample_num() const { return config.on_device ? 0 : config.sample_num; }

  const DumpOperator* operator_named(std::string_view type, std::string_view name, bool set_dump,
                                     std::optional<std::uint64_t> given_stream_id,
                                     std::optional<std::uint64_t> given_task_id);
  void collect(const DumpPlace& place, const DumpOperator* op, std::span<const DumpTensor> tensors,
               std::string_view layout);
  bool step_end(const DumpPlace& place);
  bool flush();
  bool close();

  // Work other than writing runs. It keeps its place in the queue.
  using Errand = std::function<void(DumpOutput&)>;
  using Item = std::variant<PendingRun, Errand>;
  using Items = std::list<Item>;  // splicing between lists needs no memory
  void post(Item item);

  const DumpConfig config;
  const DumpOptions options;
  const std::shared_ptr<Notices> notices;
  const Selection selection;
  const Categories columns;
  const pid_t process;
  enum class Switch : std::uint8_t { kByConfig, kOn, kOff };
  std::atomic<Switch> run_time_switch{Switch::kByConfig};
  std::atomic<std::uint64_t> initial_iteration;
  std::atomic<bool> closed{false}, enough_overflows{false};
  mutable std::atomic<bool> some_failed{false};  // operators that the backend reported as failed
  std::atomic<bool> has_kernel_args{false};

  TensorPool pool;
  std::mutex work_mutex;  // held by the thread that works
  DumpMeter dump_meter;
  DumpTally tally;
  const std::unique_ptr<DumpOutput> output;

 private:
  void say_unlisted(std::uint32_t device) const noexcept;
  void say_what_never_came() noexcept;

  // Called on the thread that hands over.
  void hold_all(std::span<const DumpTensor> tensors, PendingRun& run) noexcept;
  void measure_here(PendingRun& run) noexcept;
  void hand_over(Items one) noexcept;
  void copy_all(PendingRun& run, std::size_t alignment) noexcept;
  void copy_strided(PendingRun& run) noexcept;
  std::uint64_t next_timestamp_us();
  void record(const DumpPlace* step) noexcept;
  void post(Items one) noexcept;
  bool has_thread() noexcept;
  void drain() noexcept;
  bool is_for_anyone() const noexcept;
  bool is_behind() noexcept;

  // Called on the session's thread or on the one that hands over.
  void run_thread() noexcept;
  void take_turn(std::unique_lock<std::mutex>& lock) noexcept;
  void work_on(Items& items) noexcept;
  bool is_to_be_dumped(PendingRun& run) noexcept;
  void dump(std::span<PendingRun*> runs) noexcept;
  bool measure(std::span<PendingRun* const> runs) noexcept;
  void write_all(std::span<PendingRun*> runs) noexcept;
  bool has_lost_or_waits() const;

  // devices already reported, a bit each; the last bit stands for all from 63 on
  mutable std::atomic<std::uint64_t> unlisted_devices_{0};

  std::mutex operators_mutex_;
  std::map<std::string, std::unique_ptr<DumpOperator>, std::less<>> operators_;

  // Runs with tensors that a failed device may still read. They are never freed.
  std::unique_ptr<Items> in_use_ = std::make_unique<Items>();

  std::atomic<std::uint64_t> last_timestamp_us_{0};

  EndedSteps ended_steps_;
  std::mutex ended_steps_mutex_;  // for the threads that empty it

  std::mutex queue_mutex_;
  std::condition_variable came_, done_;
  Items queue_;
  std::uint64_t posted_ = 0, finished_ = 0;
  bool stopping_ = false, asleep_ = false, hurry_ = false, thread_refused_ = false;
  bool is_at_work_ = false;  // a thread is working on items from the queue; the next items must not overtake them
  std::thread thread_;
};

}  // namespace tensorstat
