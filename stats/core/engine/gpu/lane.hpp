// A stream of our own beside tensors in CUDA's or ROCm's memory. The host reads them through two windows of pinned
// memory: while it folds one, the device fills the other. kernels-cl/cuda folds them where they are.
//
// The caller's context, streams and captures stay as they are. All runs in the device's primary context, behind the
// work that the tensor's stream held when it was handed over. Only our own stream is waited for.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "stats/core/engine/gpu/driver.hpp"

namespace tensorstat::gpu {

// A stream and two windows on one device. Used by one thread at a time.
class Lane {
 public:
  static constexpr std::uint64_t kWindowBytes = std::uint64_t{8} << 20;

  static Result<std::unique_ptr<Lane>> open(const Driver& driver, int device);
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  ~Lane();

  // Everything is read behind the work that `stream` holds now. An error if the stream is being captured.
  Status follow(Handle stream);
  // The two halves of it. join() is called in inside().
  Status refuse_capture(Handle stream);
  Called join(Handle stream) const;
  // The capture that a stream of CUDA's is in; 0: none. kUnsupported: the default stream, while another is captured.
  Result<std::uint64_t> capture_of(Handle stream);

  // The elements [first, first + count) of a contiguous tensor, at most kWindowBytes of them, in a window. They are
  // valid until the next call. As many elements behind them are already on their way.
  Result<Tensor> part(const Tensor& tensor, std::uint64_t first, std::uint64_t count);

  Status read(const std::byte* from, std::span<std::byte> to);

  // Waits for the copies under way. False if a call has failed, except for lack of memory: then the lane must not be
  // used again.
  bool rest() noexcept;

  bool is_on(const Driver& driver, int device) const { return driver_.name == driver.name && device_ == device; }
  const Driver& driver() const { return driver_; }
  int device() const { return device_; }
  Handle context() const { return context_; }
  Handle stream() const { return stream_; }

  // Driver::inside of the device's context.
  template <typename Work>
  Called inside(const Work& work) noexcept;

 private:
  Lane(const Driver& driver, int device) : driver_(driver), device_(device) {}
  Called open_windows();
  Called copy(const std::byte* from, std::span<std::byte> to) const;
  Called wait();

  const Driver driver_;
  const int device_;
  Handle context_ = nullptr, stream_ = nullptr, event_ = nullptr;
  std::array<void*, 2> windows_{};
  std::size_t next_ = 0;              // the window to fill next
  std::span<const std::byte> ahead_;  // the bytes that it is being filled with; may be empty
  bool has_failed_ = false;
};

template <typename Work>
Called Lane::inside(const Work& work) noexcept {
  const Called called = driver_.inside(context_, work);
  has_failed_ |= !called && called.outcome != kOutOfMemory;
  return called;
}

// The lanes of a Meter. Thread-safe. Lanes stay open as long as the Meter, because pinned memory is slow to get.
class Lanes {
 public:
  struct GiveBack {
    Lanes* owner = nullptr;
    void operator()(Lane* lane) const { owner->take_back(std::unique_ptr<Lane>(lane)); }
  };
  using Lent = std::unique_ptr<Lane, GiveBack>;

  Lanes() = default;
  ~Lanes();

  // Whether this process is a forked child of the one that lent the first lane. Then the driver must not be called.
  bool forked() const;

  // The device of a tensor in a GPU's memory.
  struct Place {
    const Driver* driver = nullptr;
    int device = 0;
    Handle context = nullptr;  // of the memory; nullptr if the driver does not know it
    friend bool operator==(const Place&, const Place&) = default;
  };
  Result<Place> find(const Tensor& tensor);

  // A lane on the tensor's device, which follows the tensor's stream.
  Result<Lent> lend(const Tensor& tensor);
  Result<Lent> lend(const Place& place);

 private:
  Result<const Driver*> driver(Where where);
  void take_back(std::unique_ptr<Lane> lane);

  std::atomic<pid_t> owner_{0};  // the process that lent the first lane
  std::mutex mutex_;
  std::array<std::optional<Driver>, 2> drivers_;
  std::vector<std::unique_ptr<Lane>> free_;
  std::size_t lent_ = 0;
};

}  // namespace tensorstat::gpu
