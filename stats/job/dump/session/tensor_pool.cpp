#include "stats/job/dump/session/tensor_pool.hpp"

#include <algorithm>
#include <new>

namespace tensorstat {

TensorPool::Buffer TensorPool::take(std::size_t size_bytes, std::uint64_t pinned_bytes) {
  constexpr std::size_t kTooLarge = 2, kSearched = 16;
  Buffer buffer;
  {
    const std::lock_guard lock(mutex_);
    const auto fits = [&](const Spare& spare) {
      return spare.capacity >= size_bytes && spare.capacity / kTooLarge <= size_bytes;
    };
    const auto last = std::min(spares_.size(), kSearched);
    const auto spare = std::find_if(spares_.rbegin(), spares_.rbegin() + static_cast<std::ptrdiff_t>(last), fits);
    const bool reused = spare != spares_.rbegin() + static_cast<std::ptrdiff_t>(last);
    const std::size_t capacity = reused ? spare->capacity : size_bytes;
    const std::uint64_t counted = capacity + pinned_bytes;
    if (counted > limit_bytes_ || held_bytes_ > limit_bytes_ - counted) return {};
    if (reused) {
      buffer.bytes_ = std::move(spare->bytes);
      spare_bytes_ -= capacity;
      spares_.erase(std::next(spare).base());
    }
    // Spare buffers count, too. Free the oldest ones.
    while (!spares_.empty() && held_bytes_ + counted + spare_bytes_ > limit_bytes_) {
      spare_bytes_ -= spares_.front().capacity;
      spares_.erase(spares_.begin());
    }
    held_bytes_ += counted;
    most_held_bytes_ = std::max(most_held_bytes_.load(), held_bytes_.load());
    buffer.pool_ = this;
    buffer.capacity_ = capacity;
    buffer.counted_ = counted;
  }
  if (buffer.bytes_ == nullptr && buffer.capacity_ != 0) {
    buffer.bytes_.reset(new (std::nothrow) std::byte[buffer.capacity_]);
    if (buffer.bytes_ == nullptr) {
      buffer.capacity_ = 0;
      return {};  // `counted` is subtracted again
    }
  }
  return buffer;
}

void TensorPool::take_back(Buffer& buffer) {
  const std::lock_guard lock(mutex_);
  held_bytes_ -= buffer.counted_;
  if (buffer.capacity_ == 0) return;
  spare_bytes_ += buffer.capacity_;
  try {
    spares_.push_back({std::move(buffer.bytes_), buffer.capacity_});
  } catch (const std::bad_alloc&) {
    spare_bytes_ -= buffer.capacity_;
  }
}

}  // namespace tensorstat
