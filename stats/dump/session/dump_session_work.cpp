// The part of a dump session that runs on its own thread.

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>

#include "stats/dump/session/dump_session.hpp"

namespace tensorstat {
namespace {

// To wake a sleeping thread costs the training thread microseconds. So the worker polls every kGlance. After kPatience
// polls without work it sleeps until it is woken.
constexpr auto kGlance = std::chrono::milliseconds(2);
constexpr int kPatience = 50;

// Runs that are measured in one request.
constexpr std::size_t kMostRuns = 64;

}  // namespace

// The thread blocks all signals, so that the program's handlers do not run on it.
bool DumpSession::State::has_thread() noexcept {
  if (stopping_ || thread_refused_) return false;  // the thread that hands over does the work
  if (thread_.joinable()) return true;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this] { run_thread(); });
  } catch (const std::exception& fault) {
    thread_refused_ = true;
    notices->warn_once(
        "thread", [&] { return "no thread for dumping, so training does the work: " + std::string(fault.what()); });
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return !thread_refused_;
}

void DumpSession::State::post(Item item) {
  Items one;
  one.push_back(std::move(item));
  post(std::move(one));
}

void DumpSession::State::post(Items one) noexcept {
  {
    const std::lock_guard lock(queue_mutex_);
    if (has_thread()) {
      queue_.splice(queue_.end(), one);
      ++posted_;
      if (asleep_) came_.notify_one();
      return;
    }
  }
  const std::lock_guard lock(work_mutex);
  work_on(one);
}

void DumpSession::State::run_thread() noexcept {
  Notices::never_deliver_from_this_thread();
  std::unique_lock lock(queue_mutex_);
  int glances = 0;
  while (!queue_.empty() || !stopping_) {
    if (is_at_work_) {
      done_.wait(lock, [&] { return !is_at_work_; });
      continue;
    }
    if (queue_.empty()) {
      asleep_ = ++glances > kPatience;
      const auto something = [&] { return hurry_ || stopping_ || (asleep_ && !queue_.empty()); };
      asleep_ ? came_.wait(lock, something) : static_cast<void>(came_.wait_for(lock, kGlance, something));
      asleep_ = false;
      hurry_ = false;
      continue;
    }
    glances = 0;
    take_turn(lock);
  }
}

// Works on the first items of the queue, with the lock released. The items are destroyed after they count as finished:
// the deleter of a keep_alive is the caller's, and may wait for a thread that waits in drain().
void DumpSession::State::take_turn(std::unique_lock<std::mutex>& lock) noexcept {
  Items items;
  const std::size_t count = std::min(queue_.size(), kMostRuns);
  items.splice(items.end(), queue_, queue_.begin(), std::next(queue_.begin(), static_cast<std::ptrdiff_t>(count)));
  is_at_work_ = true;
  lock.unlock();
  {
    const std::lock_guard work(work_mutex);
    work_on(items);
  }
  lock.lock();
  finished_ += count;
  is_at_work_ = false;
  done_.notify_all();
  lock.unlock();
  items.clear();
  lock.lock();
}

// Whether more measured tensors wait than allowed. memory_bytes does not count these; each takes less than a KiB.
bool DumpSession::State::is_behind() noexcept {
  constexpr std::uint64_t kMostMeasured = 4096;
  const std::lock_guard lock(queue_mutex_);
  return posted_ - finished_ >= kMostMeasured;
}

// Whether destroying the queued items runs none of the caller's code. The caller may hold locks that this code needs.
bool DumpSession::State::is_for_anyone() const noexcept {
  return std::ranges::none_of(queue_, [](const Item& item) {
    const auto* run = std::get_if<PendingRun>(&item);
    const auto is_kept = [](const PendingTensor& tensor) { return tensor.keep_alive != nullptr; };
    return run != nullptr && std::ranges::any_of(run->tensors, is_kept);
  });
}

// Returns when everything handed over so far is done. If allowed, this thread does the work itself: waking another
// thread and waiting for it takes longer than writing a few rows.
void DumpSession::State::drain() noexcept {
  std::unique_lock lock(queue_mutex_);
  const std::uint64_t mine = posted_;
  const bool is_thread = thread_.get_id() == std::this_thread::get_id();  // called from the deleter of a keep_alive
  while (finished_ < mine) {
    if (is_at_work_) {
      done_.wait(lock, [&] { return !is_at_work_; });
    } else if (is_thread || is_for_anyone()) {
      take_turn(lock);
    } else {
      hurry_ = true;
      came_.notify_one();
      done_.wait(lock, [&] { return finished_ >= mine; });
    }
  }
}

void DumpSession::State::work_on(Items& items) noexcept {
  std::array<PendingRun*, kMostRuns> runs;
  std::size_t count = 0;
  auto first = items.begin();  // the first of the current runs
  for (auto next = items.begin(); next != items.end();) {
    const auto at = next++;
    if (auto* run = std::get_if<PendingRun>(&*at)) {
      if (count == 0) first = at;
      runs[count++] = run;
      if (next != items.end() && count < kMostRuns && std::holds_alternative<PendingRun>(*next)) continue;
      dump({runs.data(), count});
      if (dump_meter.left_in_use()) in_use_->splice(in_use_->end(), items, first, next);
      count = 0;
    } else {
      std::get<Errand> (*at)(*output);
    }
  }
}

// Whether the output admits this run and, in overflow dumps, whether its operator overflows. Called in order, so that
// the first overflow_number overflows are the ones dumped.
bool DumpSession::State::is_to_be_dumped(PendingRun& run) noexcept {
  if (config.op_debug_mode != DebugMode::kOverflow) return output->admits(run);
  if (enough_overflows) return false;
  try {
    if (!dump_meter.overflows(run)) return false;
  } catch (const std::exception&) {  // when in doubt, dump it
  }
  const std::uint64_t count = ++tally.overflows;
  if (config.overflow_number != 0 && count >= config.overflow_number) enough_overflows = true;
  return output->admits(run);
}

bool DumpSession::State::measure(std::span<PendingRun* const> runs) noexcept try {
  std::vector<PendingTensor*> tensors;
  for (PendingRun* run : runs) {
    if (run->is_measured) continue;
    for (PendingTensor& tensor : run->tensors) {
      take_sample(tensor, sample_num());
      tensors.push_back(&tensor);
    }
  }
  if (config.saves_statistics()) dump_meter.measure(tensors);
  return true;
} catch (const std::exception& fault) {
  if (runs.size() == 1) tally.lose(runs.front()->tensors.size(), fault.what());
  return false;
}

void DumpSession::State::dump(std::span<PendingRun*> runs) noexcept {
  const auto end = std::remove_if(runs.begin(), runs.end(), [&](PendingRun* run) { return !is_to_be_dumped(*run); });
  write_all(runs.first(static_cast<std::size_t>(end - runs.begin())));
}

void DumpSession::State::write_all(std::span<PendingRun*> runs) noexcept {
  if (!measure(runs)) {  // memory is short: try the runs one by one
    for (std::size_t i = 0; runs.size() > 1 && i < runs.size(); ++i) write_all(runs.subspan(i, 1));
    return;
  }
  output->write(runs);
}

}  // namespace tensorstat
