// Counts every operator new of a program and makes chosen ones fail. For tests, in one source file per program.
#pragma once

#include <execinfo.h>
#include <link.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <new>
#include <string_view>

namespace {

// While `armed`, allocations are counted. Allocation number `fail_at` fails; with `for_ever` also all later ones. With
// `only_ours`, allocations of drivers never fail: their behaviour without memory is not tested.
std::atomic<bool> armed{false}, for_ever{false}, only_ours{false};
std::atomic<std::int64_t> allocations{0}, fail_at{0};

// The addresses of the program, and of the libraries that every C++ program has.
struct Range {
  std::uintptr_t begin = 0, end = 0;
};
struct OurCode {
  Range ranges[8];
  std::size_t count = 0;

  OurCode() { dl_iterate_phdr(add, this); }

  static int add(dl_phdr_info* object, std::size_t, void* given) {
    auto& all = *static_cast<OurCode*>(given);
    const std::string_view name(object->dlpi_name);
    bool is_ours = name.empty();  // the program itself has no name
    for (const char* each : {"/libstdc++.so", "/libgcc_s.so", "/libc.so", "/libm.so"})
      is_ours |= name.find(each) != name.npos;
    if (!is_ours || all.count == std::size(all.ranges)) return 0;
    Range& range = all.ranges[all.count++];
    range.begin = UINTPTR_MAX;
    for (int i = 0; i < object->dlpi_phnum; ++i) {
      const auto& part = object->dlpi_phdr[i];
      if (part.p_type != PT_LOAD) continue;
      const std::uintptr_t begin = object->dlpi_addr + part.p_vaddr;
      range.begin = begin < range.begin ? begin : range.begin;
      range.end = begin + part.p_memsz > range.end ? begin + part.p_memsz : range.end;
    }
    return 0;
  }

  bool holds(const void* address) const {
    for (std::size_t i = 0; i < count; ++i) {
      const auto value = reinterpret_cast<std::uintptr_t>(address);
      if (value >= ranges[i].begin && value < ranges[i].end) return true;
    }
    return false;
  }
};

// Whether only our code is on the call stack, apart from the standard library. The caller alone is not enough: a
// driver's template of the standard library may be resolved to the program's copy.
bool is_ours(const void* caller) {
  static const OurCode our_code;
  if (!our_code.holds(caller)) return false;
  void* callers[64];
  const int count = backtrace(callers, 64);
  for (int i = 0; i < count; ++i) {
    if (!our_code.holds(callers[i])) return false;
  }
  return true;
}

void* counted(std::size_t bytes, const void* caller) {
  if (armed && (!only_ours || is_ours(caller))) {
    const std::int64_t now = ++allocations;
    if (now == fail_at || (for_ever && now > fail_at)) throw std::bad_alloc();
  }
  if (void* block = std::malloc(bytes == 0 ? 1 : bytes)) return block;
  throw std::bad_alloc();
}

// noinline: if GCC 12 inlines this but not operator new, it warns of a mismatch.
[[gnu::noinline]] void given_back(void* block) { std::free(block); }

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t bytes) { return counted(bytes, __builtin_return_address(0)); }
[[gnu::noinline]] void* operator new[](std::size_t bytes) { return counted(bytes, __builtin_return_address(0)); }
// The operators that throw nothing, too: under ASan they are its own otherwise, and do not go with the operators delete
// below.
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept try {
  return counted(bytes, __builtin_return_address(0));
} catch (const std::bad_alloc&) {
  return nullptr;
}
[[gnu::noinline]] void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept try {
  return counted(bytes, __builtin_return_address(0));
} catch (const std::bad_alloc&) {
  return nullptr;
}
void operator delete(void* block) noexcept { given_back(block); }
void operator delete[](void* block) noexcept { given_back(block); }
void operator delete(void* block, std::size_t) noexcept { given_back(block); }
void operator delete[](void* block, std::size_t) noexcept { given_back(block); }
