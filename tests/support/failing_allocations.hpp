// Has every operator new of a program counted, and a chosen one fail. For tests, in one source file a program.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace {

// Counted while it is armed; that of number `fail_at` fails, and with `for_ever` all later ones.
std::atomic<bool> armed{false}, for_ever{false};
std::atomic<std::int64_t> allocations{0}, fail_at{0};

void* counted(std::size_t bytes) {
  if (armed) {
    const std::int64_t now = ++allocations;
    if (now == fail_at || (for_ever && now > fail_at)) throw std::bad_alloc();
  }
  if (void* block = std::malloc(bytes == 0 ? 1 : bytes)) return block;
  throw std::bad_alloc();
}

// Apart: GCC 12, where it inlines this and not the above, takes the pair for a mismatch.
[[gnu::noinline]] void given_back(void* block) { std::free(block); }

}  // namespace

void* operator new(std::size_t bytes) { return counted(bytes); }
void* operator new[](std::size_t bytes) { return counted(bytes); }
void operator delete(void* block) noexcept { given_back(block); }
void operator delete[](void* block) noexcept { given_back(block); }
void operator delete(void* block, std::size_t) noexcept { given_back(block); }
void operator delete[](void* block, std::size_t) noexcept { given_back(block); }
