// Whether this build has a sanitizer that wants the process for itself: its memory fits into no limit, and
// its library must be loaded first.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
