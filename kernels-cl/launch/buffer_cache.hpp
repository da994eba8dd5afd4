// Device memory beside the tensors: buffers that are entered in the ledger, and used again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "kernels-cl/driver/cl.hpp"
#include "stats/core/ledger.hpp"

namespace tensorstat::cl_engine {

// After a failed call: waits until a queue has come to rest. Where it cannot be waited for, `last`, the event
// of our last command there, is asked for some seconds. False: commands may still run.
bool come_to_rest(const cl::CommandQueue& queue, const cl::Event& last);

// Host memory that a command may still touch is never freed.
void keep_for_ever(void* memory);

// Buffers that nothing uses at the moment. Thread-safe.
class BufferCache {
 public:
  BufferCache(cl::Context context, Ledger& ledger) : context_(std::move(context)), ledger_(ledger) {}
  ~BufferCache();
  BufferCache(const BufferCache&) = delete;
  BufferCache& operator=(const BufferCache&) = delete;

  struct Buffer {
    cl::Buffer memory;
    std::uint64_t bytes = 0;
    // As many on the host, for a user who puts them there: kept with the buffer, and not in the ledger.
    std::unique_ptr<std::byte[]> host{};
  };

  // At least `bytes` of device memory, and where the budget is tight at most an eighth more. An idle buffer
  // where one suits, so that batches of one size, so many in flight, soon allocate nothing more. Where all
  // are too small, or the budget has no room beside them, the idle ones are given up.
  Result<Buffer> take(std::uint64_t bytes, const char* purpose);
  void give_back(Buffer buffer);

  // What `take` may be asked for, at this moment.
  std::uint64_t room_bytes() const;

 private:
  void drop_idle();

  const cl::Context context_;
  Ledger& ledger_;
  mutable std::mutex mutex_;
  std::vector<Buffer> idle_;
};

}  // namespace tensorstat::cl_engine
