// What a job is told while it runs: each thing once, however often it happens.
#pragma once

#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <tensorstat/meter.hpp>

namespace tensorstat {

// Thread-safe. The log is called by one thread at a time and must not call back.
class Notices {
 public:
  explicit Notices(Log log) : log_(std::move(log)) {}

  // Hands `message` to the log unless something was said under `key` before.
  void warn_once(std::string_view key, std::string_view message) {
    say_once(Severity::kWarning, key, message);
  }
  void inform_once(std::string_view key, std::string_view message) {
    say_once(Severity::kInfo, key, message);
  }

  void warn(std::string_view message) {
    const std::lock_guard lock(mutex_);
    if (log_) log_(Severity::kWarning, message);
  }

 private:
  void say_once(Severity severity, std::string_view key, std::string_view message) {
    const std::lock_guard lock(mutex_);
    if (said_.emplace(key).second && log_) log_(severity, message);
  }

  std::mutex mutex_;
  std::set<std::string, std::less<>> said_;
  Log log_;
};

}  // namespace tensorstat
