// Device memory beside the tensors: buffers that the ledger counts, and that are used again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "kernels-cl/driver/cl.hpp"
#include "kernels-cl/launch/at_rest.hpp"
#include "stats/core/engine/ledger.hpp"

namespace tensorstat::cl_engine {

// Keeps the buffers that nothing uses at the moment. Thread-safe.
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
    // Host memory of the same size, for callers that allocate it. It stays with the buffer; the ledger does not count
    // it.
    std::unique_ptr<std::byte[]> host{};
  };

  // Returns at least `bytes` of device memory; if the budget is tight, at most an eighth more. It takes an idle buffer
  // if one suits, so batches of equal size soon allocate nothing more. It frees the idle buffers if all are too small,
  // or if the budget has no room beside them.
  Result<Buffer> take(std::uint64_t bytes, const char* purpose);
  // Frees the buffer if the host is out of memory: destructors call it.
  void give_back(Buffer buffer) noexcept;

  // For a buffer that is not given back: removes its bytes from the ledger. Call it once the device no longer uses it.
  void forget(std::uint64_t bytes) { ledger_.release(bytes); }

  // The most bytes that `take` can return now.
  std::uint64_t room_bytes() const;

 private:
  void drop_idle();

  const cl::Context context_;
  Ledger& ledger_;
  mutable std::mutex mutex_;
  std::vector<Buffer> idle_;
};

}  // namespace tensorstat::cl_engine
