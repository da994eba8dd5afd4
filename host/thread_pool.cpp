#include "host/thread_pool.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <system_error>

namespace tensorstat::host {
namespace {

unsigned cores() { return std::max(1u, std::thread::hardware_concurrency()); }

}  // namespace

ThreadPool::ThreadPool(unsigned threads, Executor executor)
    : threads_(threads != 0 ? threads : cores()), executor_(std::move(executor)) {}

ThreadPool::~ThreadPool() {
  if (owner_pid_ != 0 && owner_pid_ != getpid()) {
    // A forked child has the handles but not the threads: there is nothing to join.
    for (std::thread& worker : workers_) worker.detach();
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

// At the first run that can use them, so that a process which never measures has no threads of ours.
void ThreadPool::start() {
  owner_pid_ = getpid();
  try {
    while (workers_.size() + 1 < threads_) workers_.emplace_back([this] { serve(); });
  } catch (const std::system_error&) {
    // As many as the system allows; the caller works in any case.
  }
}

void ThreadPool::run(std::size_t count, const std::function<void(std::size_t)>& work) {
  if (executor_) return executor_(count, work);
  const int owner = owner_pid_;
  if (count < 2 || threads_ < 2 || (owner != 0 && owner != getpid())) {
    for (std::size_t i = 0; i < count; ++i) work(i);
    return;
  }
  const std::lock_guard turn(turn_);
  if (owner_pid_ == 0) start();
  {
    const std::lock_guard lock(mutex_);
    work_ = &work;
    count_ = count;
    next_ = 0;
    ++round_;
  }
  wake_.notify_all();
  for (std::size_t i; (i = next_.fetch_add(1)) < count;) work(i);
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return busy_ == 0; });
  work_ = nullptr;  // a worker that wakes late finds nothing
}

void ThreadPool::serve() {
  std::unique_lock lock(mutex_);
  for (std::uint64_t seen = 0;;) {
    wake_.wait(lock, [&] { return stopping_ || (work_ != nullptr && round_ != seen); });
    if (stopping_) return;
    seen = round_;
    ++busy_;
    const auto* work = work_;
    const std::size_t count = count_;
    lock.unlock();
    for (std::size_t i; (i = next_.fetch_add(1)) < count;) (*work)(i);
    lock.lock();
    if (--busy_ == 0) done_.notify_all();
  }
}

}  // namespace tensorstat::host
