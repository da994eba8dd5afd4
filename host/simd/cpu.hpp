// The instruction sets for which the host's loops are compiled, and the choice at run time.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace tensorstat {

// From the narrowest to the widest. Each includes the ones before it.
enum class Isa : std::uint8_t {
  kBaseline,  // what the compiler targets by default: SSE2 on x86-64, NEON on 64-bit Arm
  kAvx2,      // AVX2, FMA, F16C, BMI1 and BMI2
  kAvx512,    // kAvx2 and AVX-512 F, CD, BW, DQ and VL
};

std::string_view name(Isa isa);  // "baseline", "avx2", "avx512": as TENSORSTAT_ISA spells them

// Every Isa that is compiled and that this processor and operating system can run, narrowest first.
std::span<const Isa> runnable_isas();

// The instruction set to use: the widest runnable one, or the one in the environment variable TENSORSTAT_ISA if that is
// narrower. Any other text in the variable is ignored. It is read once.
Isa best_isa();

}  // namespace tensorstat
