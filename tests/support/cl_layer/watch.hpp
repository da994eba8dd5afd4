// Releases what the layer holds, so that a test that finds a fault does not hang.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/support/cl_layer/loaded.hpp"

// After a time that is far longer than everything else takes, releases all and remembers it.
class Watch {
 public:
  Watch()
      : thread_([this] {
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
