#include "host/thread_pool.hpp"

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "stats/core/abandon.hpp"
#include "stats/core/thread_signals.hpp"

namespace tensorstat::host {
namespace {

unsigned cores() { return std::max(1u, std::thread::hardware_concurrency()); }

}  // namespace

// The threads and all that they wait on. A forked child has copies of these objects in any state, and not the
// threads: it can neither lock a mutex of theirs, nor destroy a condition variable, which waits for its waiters.
struct ThreadPool::Crew {
  ~Crew() {
    {
      const std::lock_guard lock(mutex);
      stopping = true;
    }
    wake.notify_all();
    for (std::thread& worker : workers) worker.join();
  }

  // At the first run that can use them, so that a process which never measures has no threads of ours.
  void start(unsigned count) {
    started = true;
    const ThreadSignals none_of_the_processs;
    try {
      workers.reserve(count);
      while (workers.size() < count) workers.emplace_back([this] { serve(); });
    } catch (const std::exception&) {
      // As many as the system allows; the caller works in any case.
    }
  }

  void run(std::size_t pieces, const std::function<void(std::size_t)>& all) {
    {
      const std::lock_guard lock(mutex);
      work = &all;
      count = pieces;
      next = 0;
      ++round;
    }
    wake.notify_all();
    for (std::size_t i; (i = next.fetch_add(1)) < pieces;) all(i);
    std::unique_lock lock(mutex);
    done.wait(lock, [this] { return busy == 0; });
    work = nullptr;  // a worker that wakes late finds nothing
  }

  void serve() {
    std::unique_lock lock(mutex);
    for (std::uint64_t seen = 0;;) {
      wake.wait(lock, [&] { return stopping || (work != nullptr && round != seen); });
      if (stopping) return;
      seen = round;
      ++busy;
      const auto* const now = work;
      const std::size_t pieces = count;
      lock.unlock();
      for (std::size_t i; (i = next.fetch_add(1)) < pieces;) (*now)(i);
      lock.lock();
      if (--busy == 0) done.notify_all();
    }
  }

  std::mutex turn;  // one run at a time
  bool started = false;
  std::mutex mutex;
  std::condition_variable wake, done;
  const std::function<void(std::size_t)>* work = nullptr;
  std::size_t count = 0;
  std::atomic<std::size_t> next{0};
  std::size_t busy = 0;
  std::uint64_t round = 0;
  bool stopping = false;
  std::vector<std::thread> workers;
};

ThreadPool::ThreadPool(unsigned threads, Executor executor)
    : threads_(threads != 0 ? threads : cores()), executor_(std::move(executor)), crew_(std::make_unique<Crew>()) {}

ThreadPool::~ThreadPool() {
  const int owner = owner_pid_;
  if (owner != 0 && owner != getpid()) abandon(std::move(crew_));
}

void ThreadPool::run(std::size_t count, const std::function<void(std::size_t)>& work) {
  if (executor_) return lend(count, work);
  int owner = 0;
  // Before any lock is taken, so that a child which is forked from now on knows that the locks are not its own.
  const bool threaded = count > 1 && threads_ > 1 &&
                        (owner_pid_.compare_exchange_strong(owner, getpid()) || owner == getpid());
  if (!threaded) {
    for (std::size_t i = 0; i < count; ++i) work(i);
    return;
  }
  const std::lock_guard turn(crew_->turn);
  if (!crew_->started) crew_->start(threads_ - 1);
  crew_->run(count, work);
}

void ThreadPool::lend(std::size_t count, const std::function<void(std::size_t)>& work) const {
  std::atomic<std::size_t> done{0};
  executor_(count, [&](std::size_t i) {
    work(i);
    done.fetch_add(1);
  });
  if (done == count) return;
  throw std::runtime_error("the executor returned when " + std::to_string(done) + " of " + std::to_string(count) +
                           " pieces of the work were done");
}

}  // namespace tensorstat::host
