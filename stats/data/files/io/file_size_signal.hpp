// Suppresses SIGXFSZ, which a write beyond RLIMIT_FSIZE raises and which ends the process.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace tensorstat {

// While it exists, such a write of this thread only fails with EFBIG.
class WithoutFileSizeSignal {
 public:
  WithoutFileSizeSignal() {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  ~WithoutFileSizeSignal() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  WithoutFileSizeSignal(const WithoutFileSizeSignal&) = delete;
  WithoutFileSizeSignal& operator=(const WithoutFileSizeSignal&) = delete;

  // After EFBIG: removes the pending signal, so that it is not delivered later.
  void take() {
    const timespec at_once{};
    if (sigismember(&before_, SIGXFSZ) == 0) sigtimedwait(&signal_, nullptr, &at_once);
  }

 private:
  sigset_t signal_, before_;
};

}  // namespace tensorstat
