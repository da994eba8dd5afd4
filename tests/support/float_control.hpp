// The register that says how floating point rounds, flushes and traps: MXCSR or FPCR, without flags of what has
// happened.
#pragma once

#include <cfenv>
#include <cstdint>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace tensorstat::test {

inline std::uint64_t float_control() {
#if defined(__x86_64__)
  return _mm_getcsr() & ~0x3fu;
#elif defined(__aarch64__)
  std::uint64_t control;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  return control;
#else
  return static_cast<std::uint64_t>(std::fegetround());
#endif
}

// Subnormals become zero, as operands and as results.
inline void flush_to_zero() {
#if defined(__x86_64__)
  _mm_setcsr(_mm_getcsr() | 0x8040);
#elif defined(__aarch64__)
  asm volatile("msr fpcr, %0" : : "r"(float_control() | 1u << 24));
#endif
}

}  // namespace tensorstat::test
