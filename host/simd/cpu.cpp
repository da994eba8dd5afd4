#include "host/simd/cpu.hpp"

#include <array>
#include <cstddef>
#include <cstdlib>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

namespace tensorstat {
namespace {

constexpr std::array kIsas = {Isa::kBaseline, Isa::kAvx2, Isa::kAvx512};

#if defined(__x86_64__) || defined(__i386__)

// clang 14's __builtin_cpu_supports does not know "f16c". This bit is about the processor only; the check of AVX2 tells
// whether the system saves the wide registers.
bool has_f16c() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

Isa widest() {
  __builtin_cpu_init();
  if (!(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c() &&
        __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2"))) {
    return Isa::kBaseline;
  }
#ifdef TENSORSTAT_AVX512
  if (!(__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))) {
    return Isa::kAvx2;
  }
  return Isa::kAvx512;
#else
  return Isa::kAvx2;
#endif
}

#else

Isa widest() { return Isa::kBaseline; }

#endif

Isa chosen() {
  const auto runnable = runnable_isas();
  if (const char* wanted = std::getenv("TENSORSTAT_ISA")) {
    for (Isa isa : runnable) {
      if (name(isa) == wanted) return isa;
    }
  }
  return runnable.back();
}

}  // namespace

std::string_view name(Isa isa) {
  switch (isa) {
    case Isa::kAvx512:
      return "avx512";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kBaseline:
      break;
  }
  return "baseline";
}

std::span<const Isa> runnable_isas() {
  static const std::size_t count = static_cast<std::size_t>(widest()) + 1;
  return std::span(kIsas).first(count);
}

Isa best_isa() {
  static const Isa isa = chosen();
  return isa;
}

}  // namespace tensorstat
