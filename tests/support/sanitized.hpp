// Whether this build has a sanitizer that wants the process for itself: its memory fits into no limit, and
// its library must be loaded first.
#pragma once

#ifndef __has_feature  // clang's
#define __has_feature(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
