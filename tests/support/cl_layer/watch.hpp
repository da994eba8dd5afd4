// Ends what the layer holds back, for a test that would wait for ever where it finds a fault.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/support/cl_layer/loaded.hpp"

// Lets go after a time in which everything else has long been done, and remembers that it had to.
class Watch {
 public:
  Watch() : thread_([this] {
    for (int i = 0; i < 200 && !done_; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    barked_ = !done_;
    cl_layer().let_go();
  }) {}
  ~Watch() {
    done_ = true;
    thread_.join();
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  bool barked() const { return barked_; }

 private:
  std::atomic<bool> done_{false}, barked_{false};
  std::thread thread_;
};
