// The inside of DumpSession: what is between the training thread and the disk.
#pragma once

#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tensorstat/dump.hpp>
#include <thread>
#include <variant>
#include <vector>

#include "stats/dump/mindspore/config.hpp"
#include "stats/dump/dump_writer.hpp"
#include "stats/dump/examiner.hpp"
#include "stats/dump/pending_run.hpp"
#include "stats/rows/notices.hpp"
#include "stats/dump/selection.hpp"
#include "stats/dump/tensor_pool.hpp"

namespace tensorstat {

// Work is done in the order it came: by one thread of its own, or, where memory is short or bits
// must not be left behind, by the thread that hands over, after all that came before it.
struct DumpSession::State {
  State(DumpConfig config, DumpOptions options, std::shared_ptr<Notices> notices);
  ~State();

  static Result<std::unique_ptr<State>> open(Result<DumpConfig> config, DumpOptions options,
                                             std::shared_ptr<Notices> notices);

  // The iteration of `place` as the config and the folders count it.
  DumpPlace counted(DumpPlace place) const {
    place.iteration += config.initial_iteration;
    return place;
  }
  bool is_in_fork() const { return process != getpid(); }
  bool wants(const DumpPlace& place, const DumpOperator* op, bool failed) const;
  // How many values of a tensor are dumped; 0: all. The device's statistics are of whole tensors, as MindSpore's are.
  std::uint32_t sample_num() const { return config.on_device ? 0 : config.sample_num; }

  const DumpOperator* operator_named(std::string_view type, std::string_view name, bool set_dump,
                                     std::uint64_t stream_id, std::uint64_t task_id);
  void collect(const DumpPlace& place, const DumpOperator* op, std::span<const DumpTensor> tensors);
  void step_end(const DumpPlace& place);
  void flush();
  void close();

  struct Text {
    std::string path, text;
  };
  struct Line {
    std::string path, line;
  };
  struct StepEnd {
    DumpPlace place;
  };
  using Item = std::variant<PendingRun, Text, Line, StepEnd>;
  void post(Item item);

  const DumpConfig config;
  const DumpOptions options;
  const std::shared_ptr<Notices> notices;
  const Selection selection;
  const Categories columns;
  const pid_t process;
  std::atomic<bool> closed{false}, enough_overflows{false};

  TensorPool pool;
  std::mutex work_mutex;  // whoever does the work
  Examiner examiner;
  DumpWriter writer;

  struct {
    std::atomic<std::uint64_t> operators{0}, tensors{0}, overflows{0}, lost_tensors{0}, stalls{0},
        stalled_us{0};
  } counts;

 private:
  void say_unlisted(std::uint32_t device) const noexcept;
  void hold_all(std::span<const DumpTensor> tensors, PendingRun& run);
  void hand_over(PendingRun run);
  std::uint64_t next_timestamp_us();
  bool has_thread();
  void run_thread();
  void work_on(std::deque<Item>& items);
  void lose(const std::vector<PendingRun*>& runs, const std::exception& fault) noexcept;
  void dump(std::vector<PendingRun*> runs);
  bool is_to_be_dumped(const PendingRun& run);
  bool save(const PendingRun& run, const PendingTensor& tensor, const std::string& folder);

  mutable std::atomic<std::uint64_t> unlisted_devices_{0};  // those said, a bit each; the last one is all from 63 on

  std::mutex operators_mutex_;
  std::map<std::string, std::unique_ptr<DumpOperator>, std::less<>> operators_;

  std::atomic<std::uint64_t> last_timestamp_us_{0};

  std::mutex queue_mutex_;
  std::condition_variable came_, done_;
  std::deque<Item> queue_, taken_;
  std::uint64_t posted_ = 0, finished_ = 0;
  bool stopping_ = false, asleep_ = false, hurry_ = false, thread_refused_ = false;
  std::thread thread_;
};

}  // namespace tensorstat
