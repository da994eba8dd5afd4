// What must not be destroyed: in a forked child, what belongs to threads that stayed with the parent; and memory that
// a failed device may still use.
#pragma once

#include <atomic>
#include <memory>
#include <new>

namespace tensorstat {

// Leaves the object alone for as long as the process lives. It stays reachable, so that no leak checker counts it.
template <typename T>
void abandon(std::unique_ptr<T> object) noexcept {
  struct Kept {
    T* object;
    Kept* next;
  };
  static std::atomic<Kept*> kept{nullptr};
  T* const left = object.release();
  if (auto* const entry = new (std::nothrow) Kept{left, kept.load()}) {
    while (!kept.compare_exchange_weak(entry->next, entry)) {
    }
  }
}

}  // namespace tensorstat
