// After a call of OpenCL has failed: whether the commands that were enqueued before it have ended, though
// any further call may fail too.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "kernels-cl/driver/cl.hpp"

namespace tensorstat::cl_engine {

// Tells when the driver has deleted a buffer. That happens once every reference is released and every command
// that uses the buffer has ended. It is arranged when the buffer is made, and no later call is needed.
class Witness {
 public:
  Witness() = default;
  static Result<Witness> of(const cl::Buffer& buffer);

  // Of no buffer: never.
  bool deleted() const { return deleted_ != nullptr && *deleted_; }

 private:
  std::shared_ptr<std::atomic<bool>> deleted_;
};

enum class Rest : std::uint8_t {
  kEnded,    // the driver says so of each event
  kSeen,     // by other means
  kUnknown,  // commands may still run
};

// Waits until all `events` have ended, or `seen()` is true; for a minute at most (TENSORSTAT_CL_PATIENCE: so many
// milliseconds). Does not call clFinish, which might wait for what the caller has yet to do.
Rest come_to_rest(const cl::CommandQueue& queue, std::span<const cl::Event> events, const std::function<bool()>& seen);

// For the caller: what Code::kInUse asks of it is said behind what went wrong.
Error with_advice(Error error);

// Host memory that a command may still touch is never freed.
void keep_for_ever(void* memory) noexcept;

}  // namespace tensorstat::cl_engine
