// The mode in which the folds compute, as for all of the library. Also clears the upper halves of the vector registers,
// where the wide folds leave values. Otherwise SSE code, such as a BLAS for any x86-64, would run several times slower.
#pragma once

#include "host/simd/cpu.hpp"
#include "stats/core/base/float_environment.hpp"

namespace tensorstat::host {

class FloatEnvironment {
 public:
  FloatEnvironment() = default;
  ~FloatEnvironment() {
#if defined(__x86_64__)
    if (best_isa() != Isa::kBaseline) asm volatile("vzeroupper");
#endif
  }
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

 private:
  const tensorstat::FloatEnvironment mode_;
};

}  // namespace tensorstat::host
