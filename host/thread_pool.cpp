#include "host/thread_pool.hpp"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "stats/core/base/abandon.hpp"
#include "stats/core/base/process_id.hpp"
#include "stats/core/base/thread_signals.hpp"

namespace tensorstat::host {
namespace {

unsigned cores() { return std::max(1u, std::thread::hardware_concurrency()); }

// One call of run(). It is on its caller's stack until no thread works on it.
struct Job {
  const std::function<void(std::size_t)>& work;
  const std::size_t count;
  std::atomic<std::size_t> next{0};
  // Guarded by the crew's mutex.
  std::size_t helpers = 0;
  std::exception_ptr thrown = nullptr;  // the first exception of a helper

  bool has_pieces() const { return next.load(std::memory_order_relaxed) < count; }
  void work_on() {
    for (std::size_t i; (i = next.fetch_add(1)) < count;) work(i);
  }
};

}  // namespace

// The threads and their synchronisation. A forked child has copies of these objects in any state, but not the threads.
// So it must not lock the mutex, nor destroy the condition variables, which would wait for their waiters.
//
// Every caller works on its own job. The threads help the oldest job that has pieces left, so a small job never waits
// for a large one.
struct ThreadPool::Crew {
  ~Crew() {
    {
      const std::lock_guard lock(mutex);
      stopping = true;
    }
    wake.notify_all();
    for (std::thread& worker : workers) worker.join();
  }

  // Called at the first run that can use threads, so that a process that never measures has none.
  void start(unsigned count) {
    if (started) return;
    started = true;
    const ThreadSignals none_of_the_processs;
    try {
      workers.reserve(count);
      while (workers.size() < count) workers.emplace_back([this] { serve(); });
    } catch (const std::exception&) {
      // If the system allows no more threads, these suffice; the caller works in any case.
    }
  }

  // Offers a job to the threads while it exists. Its destructor waits for all helpers, also after an exception.
  class Posted {
   public:
    Posted(Crew& crew, Job& job, unsigned threads) : crew_(crew), job_(job) {
      {
        const std::lock_guard lock(crew_.mutex);
        crew_.jobs.push_back(&job_);
        crew_.start(threads);
      }
      crew_.wake.notify_all();
    }
    ~Posted() {
      job_.next = job_.count;  // after an exception, skip the remaining pieces
      std::unique_lock lock(crew_.mutex);
      std::erase(crew_.jobs, &job_);
      crew_.done.wait(lock, [this] { return job_.helpers == 0; });
    }
    Posted(const Posted&) = delete;
    Posted& operator=(const Posted&) = delete;

   private:
    Crew& crew_;
    Job& job_;
  };

  void run(Job& job, unsigned threads) {
    {
      const Posted posted(*this, job, threads);
      job.work_on();
    }
    if (job.thrown) std::rethrow_exception(job.thrown);
  }

  void serve() {
    std::unique_lock lock(mutex);
    for (;;) {
      auto waiting = jobs.end();
      wake.wait(lock, [&] {
        waiting = std::ranges::find_if(jobs, &Job::has_pieces);
        return stopping || waiting != jobs.end();
      });
      if (stopping) return;
      Job& job = **waiting;
      ++job.helpers;
      lock.unlock();
      std::exception_ptr thrown;
      try {
        job.work_on();
      } catch (...) {
        job.next = job.count;
        thrown = std::current_exception();
      }
      lock.lock();
      if (thrown && !job.thrown) job.thrown = std::move(thrown);
      if (--job.helpers == 0) done.notify_all();
    }
  }

  bool started = false;
  std::mutex mutex;
  std::condition_variable wake, done;
  std::vector<Job*> jobs;  // oldest first
  bool stopping = false;
  std::vector<std::thread> workers;
};

ThreadPool::ThreadPool(unsigned threads, Executor executor)
    : threads_(threads != 0 ? threads : cores()), executor_(std::move(executor)), crew_(std::make_unique<Crew>()) {}

ThreadPool::~ThreadPool() {
  const int owner = owner_pid_;
  if (owner != 0 && owner != process_id()) abandon(std::move(crew_));
}

void ThreadPool::run(std::size_t count, const std::function<void(std::size_t)>& work) {
  if (executor_) return lend(count, work);
  int owner = 0;
  // Set owner_pid_ before any lock is taken, so that a child forked after this knows that the locks are not its own.
  const bool threaded =
      count > 1 && threads_ > 1 && (owner_pid_.compare_exchange_strong(owner, process_id()) || owner == process_id());
  if (!threaded) {
    for (std::size_t i = 0; i < count; ++i) work(i);
    return;
  }
  Job job{work, count};
  crew_->run(job, threads_ - 1);
}

// The executor expects that `work` does not throw.
void ThreadPool::lend(std::size_t count, const std::function<void(std::size_t)>& work) const {
  std::atomic<std::size_t> done{0};
  std::mutex failing;
  std::exception_ptr thrown;
  executor_(count, [&](std::size_t i) {
    try {
      work(i);
    } catch (...) {
      const std::lock_guard lock(failing);
      if (!thrown) thrown = std::current_exception();
    }
    done.fetch_add(1);
  });
  if (thrown) std::rethrow_exception(thrown);
  if (done == count) return;
  throw std::runtime_error("the executor returned when " + std::to_string(done) + " of " + std::to_string(count) +
                           " pieces of the work were done");
}

}  // namespace tensorstat::host
