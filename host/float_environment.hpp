// Sets the floating-point mode that the folds need, round to nearest with subnormals, and restores the caller's mode. A
// library built with -Ofast, or the caller itself, may have set another one. Writing the mode costs some 10 ns, reading
// it almost nothing.
// Also clears the upper halves of the vector registers, where the wide folds leave values. Otherwise SSE code, such as
// a BLAS for any x86-64, would run several times slower.
#pragma once

#include <cstdint>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "host/simd/cpu.hpp"

namespace tensorstat::host {

class FloatEnvironment {
 public:
#if defined(__x86_64__)
  FloatEnvironment() : saved_(_mm_getcsr()) {
    if ((saved_ & ~kFlags) != kDefault) _mm_setcsr(kDefault);
  }
  ~FloatEnvironment() {
    if (_mm_getcsr() != saved_) _mm_setcsr(saved_);
    if (best_isa() != Isa::kBaseline) asm volatile("vzeroupper");
  }
#elif defined(__aarch64__)
  FloatEnvironment() {
    asm volatile("mrs %0, fpcr" : "=r"(saved_));
    if (saved_ != 0) asm volatile("msr fpcr, %0" : : "r"(std::uint64_t{0}));
  }
  ~FloatEnvironment() {
    if (saved_ != 0) asm volatile("msr fpcr, %0" : : "r"(saved_));
  }
#endif
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

 private:
#if defined(__x86_64__)
  static constexpr unsigned kFlags = 0x3f;      // exception flags
  static constexpr unsigned kDefault = 0x1f80;  // all exceptions masked, no flush-to-zero
  unsigned saved_;
#elif defined(__aarch64__)
  std::uint64_t saved_ = 0;
#endif
};

}  // namespace tensorstat::host
