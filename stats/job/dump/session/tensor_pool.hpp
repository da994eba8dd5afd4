// Bounded memory for tensors between the training thread and the disk.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace tensorstat {

// Thread-safe. The buffer that was returned last is reused first, because its pages exist and may still be in the
// cache.
class TensorPool {
 public:
  // Memory of one hand-over. Its `size_bytes` count against the limit until it is destroyed.
  class Buffer {
   public:
    Buffer() = default;
    Buffer(Buffer&& other) noexcept { *this = std::move(other); }
    Buffer& operator=(Buffer&& other) noexcept {
      std::swap(pool_, other.pool_);
      std::swap(bytes_, other.bytes_);
      std::swap(capacity_, other.capacity_);
      std::swap(counted_, other.counted_);
      return *this;
    }
    ~Buffer() {
      if (pool_ != nullptr) pool_->take_back(*this);
    }
    std::byte* data() const { return bytes_.get(); }
    explicit operator bool() const { return pool_ != nullptr; }

   private:
    friend class TensorPool;
    TensorPool* pool_ = nullptr;
    std::unique_ptr<std::byte[]> bytes_;
    std::size_t capacity_ = 0;
    std::uint64_t counted_ = 0;
  };

  explicit TensorPool(std::uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}

  // A buffer of `size_bytes`; also counts `pinned_bytes` that are elsewhere. Empty if the limit or the system does not
  // allow it.
  Buffer take(std::size_t size_bytes, std::uint64_t pinned_bytes);

  // Needs no lock: a forked child may call it, too.
  std::uint64_t held_bytes() const { return held_bytes_; }
  std::uint64_t most_held_bytes() const { return most_held_bytes_; }

 private:
  void take_back(Buffer& buffer);

  struct Spare {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t capacity;
  };

  const std::uint64_t limit_bytes_;
  std::mutex mutex_;
  std::vector<Spare> spares_;
  std::atomic<std::uint64_t> held_bytes_{0}, most_held_bytes_{0};
  std::uint64_t spare_bytes_ = 0;
};

}  // namespace tensorstat
