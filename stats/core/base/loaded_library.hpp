// A shared library that is loaded when one of its functions is first needed. Linking it would make every process start
// later, also those that never call it.
//
//   #define FUNCTIONS(F) F(deflate) F(inflate)
//   struct Zlib { TENSORSTAT_LOADED_FUNCTIONS(FUNCTIONS) };
//   if (const Zlib* zlib = loaded<Zlib>("libz.so.1")) zlib->deflate_(...);
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <new>

// The expansion of a macro as text: headers may rename a function.
#define TENSORSTAT_TEXT_OF(text) #text
#define TENSORSTAT_TEXT(text) TENSORSTAT_TEXT_OF(text)

#define TENSORSTAT_LOADED_MEMBER(function) decltype(&::function) function##_ = nullptr;
#define TENSORSTAT_LOADED_FIND(function) \
  &&(function##_ = reinterpret_cast<decltype(function##_)>(::dlsym(handle, TENSORSTAT_TEXT(function)))) != nullptr
#define TENSORSTAT_LOADED_FUNCTIONS(FUNCTIONS) \
  FUNCTIONS(TENSORSTAT_LOADED_MEMBER)          \
  bool find(void* handle) noexcept { return handle != nullptr FUNCTIONS(TENSORSTAT_LOADED_FIND); }

namespace tensorstat {

// The first of these files that the loader finds and that has every function; else nullptr. Then the next call tries
// again: the process may have been out of descriptors. Any thread may call it. The library is never unloaded.
template <typename Library, typename... Files>
const Library* loaded(const Files*... files) noexcept {
  static std::atomic<const Library*> known{nullptr};
  const Library* library = known.load(std::memory_order_acquire);
  if (library != nullptr) return library;
  auto* const candidate = new (std::nothrow) Library;
  if (candidate != nullptr && (... || candidate->find(::dlopen(files, RTLD_NOW | RTLD_LOCAL))) &&
      known.compare_exchange_strong(library, candidate)) {
    return candidate;
  }
  delete candidate;
  return library;  // another thread's
}

}  // namespace tensorstat
