// Whether this build has a sanitizer that needs the process for itself: its memory exceeds any limit, and its library
// must be loaded first.
#pragma once

#ifndef __has_feature  // clang has it
#define __has_feature(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || __has_feature(address_sanitizer) || \
    __has_feature(thread_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
