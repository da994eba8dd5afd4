// Values that take long to make, one for each key, made at the first request. If a value is being made, requests for it
// wait. Requests for other keys do not. Thread-safe.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <tensorstat/status.hpp>

namespace tensorstat::cl_engine {

template <typename Key, typename Value>
class MadeOnce {
 public:
  // Whether the value was made, or is being made.
  bool has(const Key& key) {
    const std::lock_guard lock(mutex_);
    return values_.contains(key);
  }

  // Calls `take` with each value that was made, under the lock.
  template <typename Take>
  void for_each(const Take& take) {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, value] : values_) {
      if (value) take(*value);
    }
  }

  // Calls `make` without a lock. Errors are not kept: the next request tries again.
  Result<Value> get(const Key& key, const std::function<Result<Value>()>& make) {
    {
      std::unique_lock lock(mutex_);
      for (;;) {
        const auto [entry, is_new] = values_.try_emplace(key);
        if (is_new) break;
        if (entry->second) return *entry->second;
        ended_.wait(lock);
      }
    }
    const Attempt attempt{*this, key};
    auto made = make();
    if (made) {
      const std::lock_guard lock(mutex_);
      values_[key] = *made;
    }
    return made;
  }

 private:
  // Wakes the waiting requests, however `make` ends. One of them tries again if there is no value.
  struct Attempt {
    ~Attempt() {
      const std::lock_guard lock(all.mutex_);
      if (const auto entry = all.values_.find(key); !entry->second) all.values_.erase(entry);
      all.ended_.notify_all();
    }
    MadeOnce& all;
    const Key& key;
  };

  std::mutex mutex_;
  std::condition_variable ended_;
  std::map<Key, std::optional<Value>> values_;  // nullopt: being made
};

}  // namespace tensorstat::cl_engine
