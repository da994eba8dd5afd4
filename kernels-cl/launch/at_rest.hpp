// Tells after a failed OpenCL call whether the commands that were enqueued before it have ended. Further calls may
// fail, too.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "kernels-cl/driver/cl.hpp"

namespace tensorstat::cl_engine {

// Tells when the driver has deleted a buffer. The driver does so once every reference is released and every command
// that uses the buffer has ended. The callback is registered when the buffer is made, so no later call is needed.
class Witness {
 public:
  Witness() = default;
  static Result<Witness> of(const cl::Buffer& buffer);

  // Always false if there is no buffer.
  bool deleted() const { return deleted_ != nullptr && *deleted_; }

 private:
  std::shared_ptr<std::atomic<bool>> deleted_;
};

enum class Rest : std::uint8_t {
  kEnded,    // every event has ended, the driver says
  kSeen,     // the caller has seen the end by other means
  kUnknown,  // commands may still run
};

// Waits until all `events` have ended, or `seen()` is true. Gives up after a minute, or after TENSORSTAT_CL_PATIENCE
// milliseconds. It does not call clFinish: that might wait for an event that the caller has yet to set.
Rest come_to_rest(const cl::CommandQueue& queue, std::span<const cl::Event> events, const std::function<bool()>& seen);

// For Code::kInUse: adds to the message what the caller must do.
Error with_advice(Error error);

// Host memory that a command may still touch is never freed.
void keep_for_ever(void* memory) noexcept;

}  // namespace tensorstat::cl_engine
