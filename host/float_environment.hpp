// The folds want IEEE arithmetic: round to nearest, subnormals kept. A caller's thread may have been
// given another mode by a library built with -Ofast, or on purpose; it gets that back. To set the mode takes some
// 10 ns, to read it next to nothing.
// The wide folds leave values in the upper halves of the vector registers. Code of SSE, such as a BLAS that was
// compiled for any x86-64, then takes some times as long for as long as they are there: they are cleared, too.
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
    asm volatile("msr fpcr, %0" : : "r"(std::uint64_t{0}));
  }
  ~FloatEnvironment() { asm volatile("msr fpcr, %0" : : "r"(saved_)); }
#endif
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

 private:
#if defined(__x86_64__)
  static constexpr unsigned kFlags = 0x3f;       // of what has happened
  static constexpr unsigned kDefault = 0x1f80;  // all exceptions masked, nothing flushed
  unsigned saved_;
#elif defined(__aarch64__)
  std::uint64_t saved_ = 0;
#endif
};

}  // namespace tensorstat::host
