// Keeps objects that must never be destroyed. In a forked child these are objects of threads that exist only in the
// parent. After a failure of a device it is memory that the device may still use.
#pragma once

#include <atomic>
#include <memory>
#include <new>

namespace tensorstat {

// Never destroys the object. It stays reachable, so leak checkers do not report it.
template <typename T>
void abandon(std::unique_ptr<T> object) noexcept {
  struct Node {
    T* object;
    Node* next;
  };
  static std::atomic<Node*> kept{nullptr};
  T* const left = object.release();
  if (auto* const entry = new (std::nothrow) Node{left, kept.load()}) {
    while (!kept.compare_exchange_weak(entry->next, entry)) {
    }
  }
}

}  // namespace tensorstat
