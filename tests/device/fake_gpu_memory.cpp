// The memory of a GPU's double: device memory, pinned host memory, and copies between the two.
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "tests/device/fake_gpu.hpp"

namespace fake_gpu {
namespace {

bool overlap(const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes) {
  const auto first = reinterpret_cast<std::uintptr_t>(a), second = reinterpret_cast<std::uintptr_t>(b);
  return first < second + b_bytes && second < first + a_bytes;
}

// Call it before host memory changes. Uploads that were enqueued before read the old bytes now.
void take_uploads(const void* from, std::size_t bytes) {
  std::erase_if(state().uploads, [&](const std::weak_ptr<Upload>& each) {
    const auto upload = each.lock();
    if (upload && overlap(upload->from, upload->bytes, from, bytes)) upload->take();
    return !upload || upload->is_taken;
  });
}

bool is_pinned(const void* host) {
  return std::ranges::any_of(state().pinned,
                             [&](const auto& each) { return overlap(each.first, each.second, host, 1); });
}

}  // namespace

std::pair<const std::uint64_t, Memory>* memory_at(std::uint64_t pointer, std::size_t bytes) {
  auto after = state().memory.upper_bound(pointer);
  if (after == state().memory.begin()) return nullptr;
  auto& entry = *--after;
  const std::uint64_t offset = pointer - entry.first, size = entry.second.content.size();
  return offset < size && bytes <= size - offset ? &entry : nullptr;
}

}  // namespace fake_gpu

using namespace fake_gpu;

extern "C" {

int CALL(cuPointerGetAttribute, hipPointerGetAttribute)(void* to, int attribute, std::uint64_t pointer) {
  ENTER();
  const auto* memory = memory_at(pointer, 1);
  if (memory == nullptr) return kInvalidValue;
  if (attribute == 9) {
    std::memcpy(to, &memory->second.device, sizeof(int));
    return kSuccess;
  }
#ifdef FAKE_ROCM
  return kInvalidValue;
#else
  if (attribute != 1 || memory->second.context == nullptr) return kInvalidValue;
  std::memcpy(to, &memory->second.context, sizeof(void*));
  return kSuccess;
#endif
}
int CALL(cuMemHostAlloc, hipHostMalloc)(void** memory, std::size_t bytes, unsigned flags) {
  ENTER();
  unsafe();
  waits();
  if (flags != 0 || current_context() == nullptr) return kInvalidContext;
  *memory = ::operator new(bytes);
  state().pinned[*memory] = bytes;
  return kSuccess;
}
int CALL(cuMemFreeHost, hipHostFree)(void* memory) {
  const std::lock_guard lock(state().mutex);
  unsafe();
  waits();
  if (const auto entry = state().pinned.find(memory); entry != state().pinned.end())
    take_uploads(memory, entry->second);
  const bool was_there = state().pinned.erase(memory) == 1;
  if (was_there) ::operator delete(memory);
  const int code = counted();
  return was_there ? code : kInvalidValue;
}
int CALL(cuMemcpyDtoHAsync_v2, hipMemcpyDtoHAsync)(void* to, std::uint64_t from, std::size_t bytes, void* stream) {
  ENTER();
  Stream* const target = stream_of(stream);
  auto* const source = memory_at(from, bytes);
  if (target == nullptr || !is_current(target->device)) return kInvalidHandle;
  if (source == nullptr || bytes == 0 || source->second.device != target->device) return kInvalidValue;
  state().largest_copy = std::max(state().largest_copy, bytes);
  take_uploads(to, bytes);
  std::memset(to, 0xa5, bytes);
  // Pinned memory that was freed since is not written: only after a failed wait it may be.
  put(*target, [=, pinned = is_pinned(to)] {
    auto* const memory = memory_at(from, bytes);
    if (memory != nullptr && (!pinned || is_pinned(to))) {
      std::memcpy(to, memory->second.content.data() + (from - memory->first), bytes);
    }
  });
  return kSuccess;
}

#ifndef FAKE_ROCM
int cuMemAlloc_v2(std::uint64_t* pointer, std::size_t bytes) {
  ENTER();
  unsafe();
  waits();
  if (bytes > state().most_memory) return kOutOfMemory;
  for (int device = 0; device < kDevices; ++device) {
    if (!is_current(device)) continue;
    void* const mapped = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    *pointer = reinterpret_cast<std::uintptr_t>(mapped);
    state().memory[*pointer] = {device, std::vector<std::byte>(bytes, std::byte{0xa5}), current_context(), false};
    return kSuccess;
  }
  return kInvalidContext;
}
int cuMemGetAddressRange_v2(std::uint64_t* base, std::size_t* bytes, std::uint64_t pointer) {
  ENTER();
  if (current_context() == nullptr) return kInvalidContext;
  const auto* const memory = memory_at(pointer, 1);
  if (memory == nullptr) return kInvalidValue;
  *base = memory->first;
  *bytes = memory->second.content.size();
  return kSuccess;
}
int cuMemFree_v2(std::uint64_t pointer) {
  const std::lock_guard lock(state().mutex);
  unsafe();
  waits();
  const auto entry = state().memory.find(pointer);
  if (entry == state().memory.end() || entry->second.is_callers) return kInvalidValue;
  ::munmap(reinterpret_cast<void*>(pointer), entry->second.content.size());
  state().memory.erase(entry);
  return counted();
}
int cuMemcpyHtoDAsync_v2(std::uint64_t to, const void* from, std::size_t bytes, void* stream) {
  ENTER();
  Stream* const target = stream_of(stream);
  auto* const memory = memory_at(to, bytes);
  if (target == nullptr || !is_current(target->device)) return kInvalidHandle;
  if (memory == nullptr || bytes == 0 || memory->second.device != target->device) return kInvalidValue;
  if (target->graph != nullptr) {  // each replay reads it
    put(*target, [=, pinned = is_pinned(from)] {
      auto* const there = memory_at(to, bytes);
      if (there == nullptr || !pinned || !is_pinned(from)) {
        state().has_broken_a_capture = true;
        return;
      }
      std::memcpy(there->second.content.data() + (to - there->first), from, bytes);
    });
    return kSuccess;
  }
  auto upload = std::make_shared<Upload>(Upload{static_cast<const std::byte*>(from), bytes});
  if (!is_pinned(from)) upload->take();
  state().uploads.push_back(upload);
  put(*target, [=] {
    upload->take();
    if (auto* const there = memory_at(to, bytes); there != nullptr) {
      std::memcpy(there->second.content.data() + (to - there->first), upload->taken.data(), bytes);
    }
  });
  return kSuccess;
}
#endif

// Device memory with this content. `place`: in the primary context, in another one, or in a pool, which belongs to
// none.
std::uint64_t fake_gpu_allocate(int device, const void* content, std::size_t bytes, int place) {
  const std::lock_guard lock(state().mutex);
  void* const mapped = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return 0;
  const auto* const first = static_cast<const std::byte*>(content);
  const auto pointer = reinterpret_cast<std::uintptr_t>(mapped);
  void* const contexts[] = {&state().primaries[device], &state().other_context, nullptr};
  state().memory[pointer] = {device, {first, first + bytes}, contexts[place]};
  state().primaries[device].default_stream.device = device;
  return pointer;
}
void fake_gpu_free(std::uint64_t pointer) {
  const std::lock_guard lock(state().mutex);
  const auto entry = state().memory.find(pointer);
  ::munmap(reinterpret_cast<void*>(pointer), entry->second.content.size());
  state().memory.erase(entry);
}
// A kernel that writes memory, when the stream comes to it. Streams as in fake_gpu_advance.
void fake_gpu_write(int device, void* stream, std::uint64_t pointer, const void* content, std::size_t bytes) {
  const std::lock_guard lock(state().mutex);
  Stream& target = stream_on(device, stream);
  const auto* const first = static_cast<const std::byte*>(content);
  put(target, [pointer, written = std::vector<std::byte>(first, first + bytes)] {
    auto* const memory = memory_at(pointer, written.size());
    if (memory == nullptr) return;  // it was freed behind a failed call
    std::memcpy(memory->second.content.data() + (pointer - memory->first), written.data(), written.size());
  });
}
std::size_t fake_gpu_largest_copy() {
  const std::lock_guard lock(state().mutex);
  return state().largest_copy;
}
}
