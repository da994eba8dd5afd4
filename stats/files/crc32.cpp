#include "stats/files/crc32.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace tensorstat {
namespace {

std::uint32_t of_zlib(std::uint32_t before, std::span<const std::byte> bytes) {
  constexpr std::size_t kMost = std::size_t{1} << 30;  // zlib counts in 32 bits
  for (; !bytes.empty(); bytes = bytes.subspan(std::min(kMost, bytes.size()))) {
    const auto piece = bytes.first(std::min(kMost, bytes.size()));
    before = static_cast<std::uint32_t>(
        ::crc32(before, reinterpret_cast<const Bytef*>(piece.data()), static_cast<uInt>(piece.size())));
  }
  return before;
}

#ifdef __x86_64__

constexpr std::size_t kLane = 16, kLanes = 4, kLeast = 2 * kLanes * kLane;

__attribute__((target("pclmul,sse2"))) inline __m128i moved(__m128i sum, __m128i powers, __m128i next) {
  const __m128i low = _mm_clmulepi64_si128(sum, powers, 0x00), high = _mm_clmulepi64_si128(sum, powers, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

// The remainder modulo the polynomial does not change when 128 bits are replaced by what they are congruent to, 512 or
// 128 bits further on. Method and powers of x: Gopal et al., "Fast CRC Computation for Generic Polynomials Using
// PCLMULQDQ Instruction", Intel, 2009. The 16 bytes that are left, and fewer than 64 behind them, are zlib's.
__attribute__((target("pclmul,sse2"))) std::uint32_t folded(std::uint32_t before, std::span<const std::byte> bytes) {
  const __m128i by512 = _mm_set_epi64x(0x1c6e41596, 0x154442bd4), by128 = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
  const auto lane = [&](std::size_t i) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes.data() + i * kLane));
  };
  const __m128i begun = _mm_xor_si128(lane(0), _mm_cvtsi32_si128(static_cast<int>(~before)));
  __m128i sums[kLanes] = {begun, lane(1), lane(2), lane(3)};
  for (bytes = bytes.subspan(kLanes * kLane); bytes.size() >= kLanes * kLane; bytes = bytes.subspan(kLanes * kLane)) {
    for (std::size_t i = 0; i < kLanes; ++i) sums[i] = moved(sums[i], by512, lane(i));
  }
  for (std::size_t i = 1; i < kLanes; ++i) sums[i] = moved(sums[i - 1], by128, sums[i]);
  std::array<std::byte, kLane> left;
  _mm_storeu_si128(reinterpret_cast<__m128i*>(left.data()), sums[kLanes - 1]);
  return of_zlib(of_zlib(~std::uint32_t{0}, left), bytes);
}

#endif

}  // namespace

std::uint32_t crc32_of(std::uint32_t before, std::span<const std::byte> bytes) {
#ifdef __x86_64__
  static const bool multiplies = __builtin_cpu_supports("pclmul");
  if (multiplies && bytes.size() >= kLeast) return folded(before, bytes);
#endif
  return of_zlib(before, bytes);
}

}  // namespace tensorstat
