#include "stats/job/attach/collector.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <set>
#include <thread>

#include "stats/core/base/abandon.hpp"
#include "stats/core/base/process_id.hpp"
#include "stats/core/base/thread_signals.hpp"
#include "stats/job/attach/rows.hpp"

namespace tensorstat::attach {
namespace {

using namespace std::chrono_literals;

// A driver may forget a callback.
constexpr auto kTick = 20ms;
// How long the process may end later while readings are still ending; and how long it waits for one that does not.
constexpr auto kMostAtEnd = 10s;
constexpr auto kPatience = 3s;  // longer than pocl compiles a kernel

class CollectorThread final : public Collector {
 public:
  bool has_room() const override { return waiting_.load(std::memory_order_relaxed) < kMostWaiting; }

  void add(std::unique_ptr<Launch> launch) override {
    const auto events = launch->events();
    const cl_event event = events.empty() ? nullptr : events.back();
    // While this thread owns the launch, the event lives.
    if (event != nullptr) below.clSetEventCallback(event, CL_COMPLETE, wake, this);
    const std::lock_guard lock(mutex_);
    start();
    launches_.push_back(std::move(launch));
    ++waiting_;
    // At exit the driver may have to compile what we wait for, and pocl's LLVM has objects that it made when it
    // compiled first. They are destroyed before a handler that is older than they are: so launches 1, 2, 4, 8 ... renew
    // ours.
    if (std::has_single_bit(++added_)) finish_at_exit();
    // The event may have called `wake` already, and without launches the thread waits for nothing else.
    if (event == nullptr || launches_.size() == 1) ended_.notify_one();
  }

  void note() override {
    if (has_counted_.exchange(true)) return;
    const std::lock_guard lock(mutex_);
    start();
    ended_.notify_one();
  }

  void retire(std::shared_ptr<void> object) override {
    const std::lock_guard lock(mutex_);
    start();
    retired_.push_back(std::move(object));
    ended_.notify_one();
  }

  void end_with_process() override {
    static std::once_flag once;
    std::call_once(once, finish_at_exit);
  }

 private:
  static void finish_at_exit() {
    std::atexit([] { static_cast<CollectorThread&>(collector()).finish(); });
  }

  static void CL_CALLBACK wake(cl_event, cl_int, void* self) {
    auto& collector = *static_cast<CollectorThread*>(self);
    collector.has_news_ = true;
    collector.ended_.notify_one();
  }

  void start() {
    if (thread_.joinable()) return;
    const ThreadSignals blocked;
    thread_ = std::thread([this] { run(); });
  }

  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      const bool is_last = is_ending_;
      has_news_ = false;
      take(lock);
      if (is_last) break;
      if (launches_.empty() && retired_.empty()) {
        ended_.wait(lock, [&] { return is_ending_ || has_counted_ || !launches_.empty() || !retired_.empty(); });
      } else {
        ended_.wait_for(lock, kTick, [&] { return is_ending_ || has_news_ || !retired_.empty(); });
      }
    }
    const auto begin = std::chrono::steady_clock::now();
    auto last_progress = begin;
    while (!launches_.empty()) {
      const std::size_t before = launches_.size();
      take(lock);
      const auto now = std::chrono::steady_clock::now();
      if (launches_.size() != before) last_progress = now;
      if (now - begin > kMostAtEnd || now - last_progress > kPatience) break;
      if (launches_.size() == before) ended_.wait_for(lock, 1ms);
    }
    // These launches may never end, and their memory is still being written to.
    for (auto& launch : launches_) {
      layer().tally->left_out += launch->arguments.size();
      abandon(std::move(launch));
    }
    launches_.clear();
    guarded([] { close_recorders(); });
    guarded([] { write_tally(); });
  }

  // Takes the launches that have ended, in their order. Without the lock while it works.
  void take(std::unique_lock<std::mutex>& lock) {
    std::vector<std::unique_ptr<Launch>> ended;
    std::vector<std::shared_ptr<void>> retired = std::move(retired_);
    retired_.clear();
    // An in-order queue may proceed between two checks, so a launch is not taken before the ones in front of it.
    std::set<std::uint32_t> busy_queues;
    for (auto& launch : launches_) {
      if (busy_queues.contains(launch->queue_number)) continue;
      if (launch->has_ended()) {
        ended.push_back(std::move(launch));
      } else if (launch->is_ordered) {
        busy_queues.insert(launch->queue_number);
      }
    }
    std::erase(launches_, nullptr);
    lock.unlock();
    for (auto& launch : ended) {
      guarded([&] { write_rows(*launch); });
      guarded([&] { forget_events(*launch); });
      launch.reset();
      --waiting_;
    }
    ended.clear();
    retired.clear();
    has_counted_ = false;
    guarded([] { write_tally(); });
    lock.lock();
  }

  static void forget_events(Launch& launch) {
    const std::lock_guard lock(layer().objects.mutex);
    for (const Launch::Watched& each : launch.storages) {
      std::erase_if(each.storage->readings, [&](const OpenReading& reading) { return reading.launch == launch.open; });
    }
  }

  void finish() {
    if (process_id() != layer().process) return;
    layer().is_open = false;
    {
      const std::lock_guard lock(mutex_);
      is_ending_ = true;
      ended_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
  }

  std::mutex mutex_;
  std::condition_variable ended_;
  std::atomic<bool> has_news_{false}, has_counted_{false};
  std::atomic<std::size_t> waiting_{0};
  std::size_t added_ = 0;
  bool is_ending_ = false;
  std::deque<std::unique_ptr<Launch>> launches_;
  std::vector<std::shared_ptr<void>> retired_;
  std::thread thread_;
};

}  // namespace

std::vector<cl_event> Launch::events_behind() const {
  std::vector<cl_event> behind;
  for (const Argument& argument : arguments) {
    if (argument.look && argument.look->event() != nullptr) behind.push_back(argument.look->event());
  }
  if (after) behind.push_back(after->event());
  return behind;
}

std::vector<cl_event> Launch::events() const {
  std::vector<cl_event> all = events_behind();
  if (before) all.push_back(before->event());
  return all;
}

bool Launch::has_ended() const { return std::ranges::all_of(events(), has_event_ended); }

Collector& collector() {
  static CollectorThread& all = *new CollectorThread;
  return all;
}

}  // namespace tensorstat::attach
