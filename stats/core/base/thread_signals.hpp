// Keeps signals to the process away from the library's threads, so that the application's threads receive them.
#pragma once

#include <csignal>

namespace tensorstat {

// Threads that the calling thread starts while this object exists begin with these signals blocked. Signals that a
// thread raises by its own fault are not blocked, so that the application's crash handler still works.
class ThreadSignals {
 public:
  ThreadSignals() {
    sigset_t blocked;
    sigfillset(&blocked);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) sigdelset(&blocked, own);
    pthread_sigmask(SIG_BLOCK, &blocked, &before_);
  }
  ~ThreadSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  ThreadSignals(const ThreadSignals&) = delete;
  ThreadSignals& operator=(const ThreadSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace tensorstat
