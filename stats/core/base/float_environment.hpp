// Sets the floating-point mode in which all of the library computes: round to nearest, subnormals kept, no traps. The
// caller's mode is put back. Each door of the library has one: a program linked with -Ofast, or
// torch.set_flush_denormal(True), flushes subnormals to zero, and a trap would end the process. Writing the mode costs
// some 10 ns, reading it almost nothing.
#pragma once

#include <cstdint>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace tensorstat {

class FloatEnvironment {
 public:
#if defined(__x86_64__)
  FloatEnvironment() : saved_(_mm_getcsr()) {
    if ((saved_ & ~kFlags) != kDefault) _mm_setcsr(kDefault);
    asm volatile("" : : : "memory");  // keeps computations on memory behind this line
  }
  ~FloatEnvironment() {
    asm volatile("" : : : "memory");
    if (_mm_getcsr() != saved_) _mm_setcsr(saved_);
  }
#elif defined(__aarch64__)
  FloatEnvironment() {
    asm volatile("mrs %0, fpcr" : "=r"(saved_));
    if (saved_ != 0) asm volatile("msr fpcr, %0" : : "r"(std::uint64_t{0}));
    asm volatile("" : : : "memory");
  }
  ~FloatEnvironment() {
    asm volatile("" : : : "memory");
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

}  // namespace tensorstat
