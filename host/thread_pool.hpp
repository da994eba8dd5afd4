// A pool of threads, shared by all tensors.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <tensorstat/meter.hpp>

namespace tensorstat::host {

class ThreadPool {
 public:
  // `threads` threads work at once, including the caller's; 0: one for each core. With an executor, that does the work,
  // and no threads are started.
  explicit ThreadPool(unsigned threads = 0, Executor executor = {});
  // In a forked child it does not touch the threads and their synchronisation.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  unsigned threads() const { return threads_; }

  // Calls work(i) for every i below `count`, on any of the threads, and returns when all are done. Several threads may
  // call at once: each works on its own pieces, and the pool's threads help the oldest call. In a forked child, which
  // has no threads, the caller does all the work.
  // If `work` throws, remaining pieces may be skipped, and the first exception is rethrown here when no thread works on
  // the job any more. Also throws the executor's exceptions, and a std::runtime_error if the executor returns before
  // all work is done.
  void run(std::size_t count, const std::function<void(std::size_t)>& work);

 private:
  struct Crew;
  void lend(std::size_t count, const std::function<void(std::size_t)>& work) const;

  const unsigned threads_;
  const Executor executor_;
  std::atomic<int> owner_pid_{0};  // the process that has the threads; 0 if there are none yet
  std::unique_ptr<Crew> crew_;
};

}  // namespace tensorstat::host
