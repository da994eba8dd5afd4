// Has every operator new of a program counted, and a chosen one fail. For tests, in one source file a program.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

extern "C" const char __executable_start, etext;  // the program's code, as the linker tells it

namespace {

// Counted while it is armed; that of number `fail_at` fails, and with `for_ever` all later ones. With `only_ours`, those
// of shared libraries are left alone: a driver's are its own affair.
std::atomic<bool> armed{false}, for_ever{false}, only_ours{false};
std::atomic<std::int64_t> allocations{0}, fail_at{0};

bool is_ours(const void* caller) { return caller >= &__executable_start && caller < &etext; }

void* counted(std::size_t bytes, const void* caller) {
  if (armed && (!only_ours || is_ours(caller))) {
    const std::int64_t now = ++allocations;
    if (now == fail_at || (for_ever && now > fail_at)) throw std::bad_alloc();
  }
  if (void* block = std::malloc(bytes == 0 ? 1 : bytes)) return block;
  throw std::bad_alloc();
}

// Apart: GCC 12, where it inlines this and not the above, takes the pair for a mismatch.
[[gnu::noinline]] void given_back(void* block) { std::free(block); }

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t bytes) { return counted(bytes, __builtin_return_address(0)); }
[[gnu::noinline]] void* operator new[](std::size_t bytes) { return counted(bytes, __builtin_return_address(0)); }
void operator delete(void* block) noexcept { given_back(block); }
void operator delete[](void* block) noexcept { given_back(block); }
void operator delete(void* block, std::size_t) noexcept { given_back(block); }
void operator delete[](void* block, std::size_t) noexcept { given_back(block); }
