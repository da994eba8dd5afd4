// Device memory beside the tensors: buffers that are entered in the ledger, and used again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "kernels-cl/driver/cl.hpp"
#include "kernels-cl/launch/at_rest.hpp"
#include "stats/engine/ledger.hpp"

namespace tensorstat::cl_engine {

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
    Witness witness{};
    // As many on the host, for a user who puts them there: kept with the buffer, and not in the ledger.
    std::unique_ptr<std::byte[]> host{};
  };

  // At least `bytes` of device memory, and where the budget is tight at most an eighth more. An idle buffer
  // where one suits, so that batches of one size, so many in flight, soon allocate nothing more. Where all
  // are too small, or the budget has no room beside them, the idle ones are given up.
  Result<Buffer> take(std::uint64_t bytes, const char* purpose);
  void give_back(Buffer buffer);

  // Of a buffer that is not given back: its bytes leave the ledger once the device does not use it any more.
  void forget(std::uint64_t bytes) { ledger_.release(bytes); }

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
