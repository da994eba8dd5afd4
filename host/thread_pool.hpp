// A few threads that wait for work: one pool for every tensor, never a thread a tensor.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include <tensorstat/meter.hpp>

namespace tensorstat::host {

class ThreadPool {
 public:
  // `threads` work at once, the caller's among them; 0: one a core. With an executor, that does the work
  // instead, and no threads are started.
  explicit ThreadPool(unsigned threads = 0, Executor executor = {});
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  unsigned threads() const { return threads_; }

  // Calls work(i) for every i below `count`, on any of the threads, and returns when all are done.
  // `work` does not throw. Calls from several threads take turns; in a child of fork(), where the
  // threads are gone, the caller does all the work itself.
  void run(std::size_t count, const std::function<void(std::size_t)>& work);

 private:
  void serve();
  void start();

  const unsigned threads_;
  const Executor executor_;
  std::mutex turn_;  // one run at a time
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  const std::function<void(std::size_t)>* work_ = nullptr;
  std::size_t count_ = 0;
  std::atomic<std::size_t> next_{0};
  std::size_t busy_ = 0;
  std::uint64_t round_ = 0;
  bool stopping_ = false;
  std::atomic<int> owner_pid_{0};  // whose threads these are; 0 before they are started
  std::vector<std::thread> workers_;
};

}  // namespace tensorstat::host
