#include "kernels-cl/launch/buffer_cache.hpp"

#include <algorithm>
#include <new>

namespace tensorstat::cl_engine {
namespace {

// If the budget has room for this many such buffers, a buffer may be larger than requested.
constexpr std::uint64_t kAmple = 16;

}  // namespace

BufferCache::~BufferCache() { drop_idle(); }

void BufferCache::drop_idle() {
  for (Buffer& buffer : idle_) {
    buffer.memory = cl::Buffer();
    ledger_.release(buffer.bytes);
  }
  idle_.clear();
}

Result<BufferCache::Buffer> BufferCache::take(std::uint64_t bytes, const char* purpose) {
  const std::lock_guard lock(mutex_);
  auto best = idle_.end();
  for (auto each = idle_.begin(); each != idle_.end(); ++each) {
    if (each->bytes >= bytes && (best == idle_.end() || each->bytes < best->bytes)) best = each;
  }
  const bool tight = best != idle_.end() && ledger_.free_bytes() < kAmple * best->bytes;
  if (best != idle_.end() && (!tight || best->bytes - bytes <= bytes / 8)) {
    Buffer buffer = std::move(*best);
    idle_.erase(best);
    return buffer;
  }
  if (best == idle_.end()) drop_idle();  // all are too small
  if (!ledger_.reserve(bytes)) {
    drop_idle();
    if (!ledger_.reserve(bytes)) {
      return Error{Code::kOverBudget, std::to_string(bytes) + " bytes of device memory for " + purpose +
                                          " exceed the budget, of which " + std::to_string(ledger_.free_bytes()) +
                                          " are free"};
    }
  }
  cl_int code = CL_SUCCESS;
  cl::Buffer made(context_, CL_MEM_READ_WRITE, bytes, nullptr, &code);
  if (code != CL_SUCCESS) {
    ledger_.release(bytes);
    return error("allocating " + std::to_string(bytes) + " bytes for " + purpose, "clCreateBuffer", code);
  }
  auto witness = Witness::of(made);
  if (!witness) {
    made = {};
    ledger_.release(bytes);
    return witness.error();
  }
  return Buffer{std::move(made), bytes, *std::move(witness), nullptr};
}

void BufferCache::give_back(Buffer buffer) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    idle_.push_back(std::move(buffer));
  } catch (const std::bad_alloc&) {
    buffer.memory = cl::Buffer();
    ledger_.release(buffer.bytes);
  }
}

std::uint64_t BufferCache::room_bytes() const {
  const std::lock_guard lock(mutex_);
  std::uint64_t room = ledger_.free_bytes();
  for (const Buffer& buffer : idle_) room += buffer.bytes;
  return room;
}

}  // namespace tensorstat::cl_engine
