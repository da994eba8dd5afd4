// A few threads that wait for work: one pool for every tensor, never a thread a tensor.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>

#include <tensorstat/meter.hpp>

namespace tensorstat::host {

class ThreadPool {
 public:
  // `threads` work at once, the caller's among them; 0: one a core. With an executor, that does the work
  // instead, and no threads are started.
  explicit ThreadPool(unsigned threads = 0, Executor executor = {});
  // In a child of fork() it leaves the threads, and what they wait on, as they are.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  unsigned threads() const { return threads_; }

  // Calls work(i) for every i below `count`, on any of the threads, and returns when all are done. Several threads may
  // call at once: each works on its own pieces, and the pool's threads help the call that came first. In a child of
  // fork(), where the threads are gone, the caller does all the work itself.
  // Where `work` throws, pieces that nobody has begun may be left out, and the first exception is thrown here once
  // nobody works on it any more. Throws what the executor throws, and a std::runtime_error where that returns before
  // all the work is done.
  void run(std::size_t count, const std::function<void(std::size_t)>& work);

 private:
  struct Crew;
  void lend(std::size_t count, const std::function<void(std::size_t)>& work) const;

  const unsigned threads_;
  const Executor executor_;
  std::atomic<int> owner_pid_{0};  // of the process whose threads these are; 0 before the first run that wants some
  std::unique_ptr<Crew> crew_;
};

}  // namespace tensorstat::host
