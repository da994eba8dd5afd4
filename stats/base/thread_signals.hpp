// Signals that are sent to the process are for the application's threads: a thread of the library takes none of them.
#pragma once

#include <csignal>

namespace tensorstat {

// While it lives, threads that the calling thread starts begin with these signals blocked. Not blocked are those
// that a thread raises by a fault of its own, so that the application's handler for crashes still sees them.
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
