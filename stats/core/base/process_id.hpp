// The process that runs this, without a system call each time: getpid() takes a microsecond in some virtual machines.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <new>

namespace tensorstat {

// Memory that the kernel clears in a forked child (MADV_WIPEONFORK), also in one that clone() made and that runs no
// handlers of pthread_atfork. nullptr if the kernel has none.
inline std::atomic<pid_t>* memory_cleared_by_fork() noexcept {
  constexpr std::size_t kBytes = sizeof(std::atomic<pid_t>);  // the kernel gives a page
  void* const page = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return nullptr;
  if (::madvise(page, kBytes, MADV_WIPEONFORK) == 0) return new (page) std::atomic<pid_t>(0);
  ::munmap(page, kBytes);
  return nullptr;
}

// getpid(). BoringSSL (crypto/fipsmodule/rand/fork_detect) sees forks in this way. No lock: a forked child could wait
// for one for ever.
inline pid_t process_id() noexcept {
  static std::atomic<std::atomic<pid_t>*> known{nullptr};
  static std::atomic<bool> has_none{false};
  std::atomic<pid_t>* kept = known.load(std::memory_order_acquire);
  if (kept == nullptr) {
    if (!has_none.load(std::memory_order_relaxed)) kept = memory_cleared_by_fork();
    if (kept == nullptr) {
      has_none.store(true, std::memory_order_relaxed);
      return ::getpid();
    }
    std::atomic<pid_t>* none = nullptr;  // if another thread was faster, this page is left alone
    if (!known.compare_exchange_strong(none, kept)) kept = none;
  }
  pid_t process = kept->load(std::memory_order_relaxed);
  if (process == 0) kept->store(process = ::getpid(), std::memory_order_relaxed);
  return process;
}

}  // namespace tensorstat
