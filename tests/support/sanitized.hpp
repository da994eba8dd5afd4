// Whether this build has a sanitizer that needs the process for itself: its memory exceeds any limit, and its library
// must be loaded first. Whether the process runs in QEMU, which has memory and threads of its own.
#pragma once

#include <cstdlib>

#ifndef __has_feature  // clang has it
#define __has_feature(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || __has_feature(address_sanitizer) || \
    __has_feature(thread_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

inline bool is_emulated() { return std::getenv("QEMU_LD_PREFIX") != nullptr; }  // support/arm64.sh sets it
