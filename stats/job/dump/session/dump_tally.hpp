// Counts what happened to everything handed to a dump session.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "stats/data/rows/notices.hpp"

namespace tensorstat {

// Usable from any thread without a lock.
class DumpTally {
 public:
  explicit DumpTally(std::shared_ptr<Notices> notices) : notices_(std::move(notices)) {}

  std::atomic<std::uint64_t> operators{0}, tensors{0}, overflows{0}, lost_files{0}, lost_tensors{0}, complex{0},
      stalls{0}, stalled_us{0};

  void lose(std::size_t count, const char* why = "out of memory") noexcept {
    lost_tensors += count;
    notices_->warn_once("lost", [&] { return "tensors are lost: " + std::string(why); });
  }

 private:
  const std::shared_ptr<Notices> notices_;
};

}  // namespace tensorstat
