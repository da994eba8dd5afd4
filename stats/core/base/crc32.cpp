#include "stats/core/base/crc32.hpp"

#include <array>
#include <cstring>
#include <functional>
#include <numeric>

#include "precision/scalars.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_acle.h>
#include <arm_neon.h>
#include <sys/auxv.h>
#endif

namespace {
#include "precision/checksum.h"
}

namespace tensorstat {
namespace {

// kTables[k][b]: the CRC of byte b followed by k zero bytes.
constexpr std::size_t kStep = 8;
constexpr auto kTables = [] {
  std::array<std::array<std::uint32_t, 256>, kStep> tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) tables[0][byte] = crc_of_byte(byte);
  for (std::size_t k = 1; k < kStep; ++k) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[k - 1][byte];
      tables[k][byte] = before >> 8 ^ tables[0][before & 0xff];
    }
  }
  return tables;
}();

std::uint32_t by_tables(std::uint32_t before, std::span<const std::byte> bytes) {
  std::uint32_t crc = ~before;
  const auto* cursor = reinterpret_cast<const unsigned char*>(bytes.data());
  std::size_t left = bytes.size();
  for (; left >= kStep; cursor += kStep, left -= kStep) {
    std::uint32_t next = 0;
    for (std::size_t k = 0; k < kStep; ++k) {
      next ^= kTables[kStep - 1 - k][k < 4 ? (crc >> 8 * k & 0xff) ^ cursor[k] : std::uint32_t{cursor[k]}];
    }
    crc = next;
  }
  for (; left != 0; ++cursor, --left) crc = crc >> 8 ^ kTables[0][(crc ^ *cursor) & 0xff];
  return ~crc;
}

static_assert([] {
  for (int k = 0; k < 32; ++k) {
    if (crc_times(crc_on[k], crc_on[k]) != crc_on[(k + 1) % 32] || crc_times(crc_on[k], crc_back[k]) != CRC_ONE)
      return false;
  }
  return crc_of_byte(1) == crc_times(1, crc_on[0]);
}());

#if defined(__aarch64__)
// Functions for processors that have these instructions. clang's arm_acle.h declares none for a single function.
#ifdef __clang__
#define WITH_CRC __attribute__((target("crc")))
#define WITH_PRODUCTS __attribute__((target("aes")))
#define CRC_OF_8(crc, word) __builtin_arm_crc32d(crc, word)
#define CRC_OF_1(crc, byte) __builtin_arm_crc32b(crc, byte)
#else
#define WITH_CRC __attribute__((target("+crc")))
#define WITH_PRODUCTS __attribute__((target("+crypto")))
#define CRC_OF_8(crc, word) __crc32d(crc, word)
#define CRC_OF_1(crc, byte) __crc32b(crc, byte)
#endif

bool has(unsigned long instructions) {
  static const unsigned long all = getauxval(AT_HWCAP);
  return (all & instructions) != 0;
}

WITH_CRC std::uint32_t by_instructions(std::uint32_t before, std::span<const std::byte> bytes) {
  std::uint32_t crc = ~before;
  for (; bytes.size() >= kStep; bytes = bytes.subspan(kStep)) {
    std::uint64_t next;
    std::memcpy(&next, bytes.data(), sizeof next);
    crc = CRC_OF_8(crc, next);
  }
  for (const std::byte each : bytes) crc = CRC_OF_1(crc, static_cast<std::uint8_t>(each));
  return ~crc;
}

std::uint32_t in_steps(std::uint32_t before, std::span<const std::byte> bytes) {
  return has(HWCAP_CRC32) ? by_instructions(before, bytes) : by_tables(before, bytes);
}
#else
#define WITH_PRODUCTS __attribute__((target("pclmul,sse2")))

std::uint32_t in_steps(std::uint32_t before, std::span<const std::byte> bytes) { return by_tables(before, bytes); }
#endif

#if defined(__x86_64__) || defined(__aarch64__)

// Folding with carry-less multiplication. The CRC is a remainder modulo a polynomial. It does not change if 128 bits
// are replaced by a congruent value further on: by the sum of their halves times x^(distance + 32) and x^(distance -
// 32). Source: Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction", Intel, 2009.
// The rest after each loop goes to the loop with the next shorter distance, the last bytes to in_steps().
typedef std::uint64_t Lane __attribute__((vector_size(16)));
constexpr std::size_t kLane = sizeof(Lane), kLanes = 4, kShort = 2 * kLanes * kLane;

constexpr std::uint64_t factor(int bits) {
  return std::uint64_t{crc_moved(CRC_ONE, crc_on, static_cast<std::uint64_t>(bits / 8))} << 1;
}
// The factor for the lower half of a lane comes first.
constexpr std::array<std::uint64_t, 2> factors(int distance) { return {factor(distance + 32), factor(distance - 32)}; }

WITH_PRODUCTS inline Lane moved(Lane sum, Lane factors, Lane next) {
#if defined(__x86_64__)
  const __m128i a = (__m128i)sum, b = (__m128i)factors;
  return (Lane)_mm_clmulepi64_si128(a, b, 0x00) ^ (Lane)_mm_clmulepi64_si128(a, b, 0x11) ^ next;
#else
  return (Lane)vmull_p64(sum[0], factors[0]) ^ (Lane)vmull_high_p64((poly64x2_t)sum, (poly64x2_t)factors) ^ next;
#endif
}

WITH_PRODUCTS std::uint32_t folded(std::uint32_t before, std::span<const std::byte> bytes) {
  static constexpr auto kBy512 = factors(512), kBy128 = factors(128);
  const Lane by512 = {kBy512[0], kBy512[1]}, by128 = {kBy128[0], kBy128[1]};
  const auto lane = [&](std::size_t i) {
    Lane read;
    std::memcpy(&read, bytes.data() + i * kLane, kLane);
    return read;
  };
  Lane sums[kLanes] = {lane(0) ^ Lane{~before & 0xffffffff}, lane(1), lane(2), lane(3)};
  for (bytes = bytes.subspan(kLanes * kLane); bytes.size() >= kLanes * kLane; bytes = bytes.subspan(kLanes * kLane)) {
    for (std::size_t i = 0; i < kLanes; ++i) sums[i] = moved(sums[i], by512, lane(i));
  }
  for (std::size_t i = 1; i < kLanes; ++i) sums[i] = moved(sums[i - 1], by128, sums[i]);
  std::array<std::byte, kLane> left;
  std::memcpy(left.data(), &sums[kLanes - 1], kLane);
  return in_steps(in_steps(~std::uint32_t{0}, left), bytes);
}
#endif

#if defined(__x86_64__)
constexpr std::size_t kWide = 4 * kLanes * kLane, kLong = 2 * kWide;

// The same with vectors of four lanes.
__attribute__((target("avx512f,vpclmulqdq"))) std::uint32_t folded_wide(std::uint32_t before,
                                                                        std::span<const std::byte> bytes) {
  static constexpr std::array<std::array<std::uint64_t, 2>, 4> kBy2048 = {factors(2048), factors(2048), factors(2048),
                                                                          factors(2048)};
  const __m512i by2048 = _mm512_loadu_si512(kBy2048.data());
  const auto lanes = [&](std::size_t i) __attribute__((target("avx512f"))) {
    return _mm512_loadu_si512(bytes.data() + i * 4 * kLane);
  };
  const std::array<std::uint32_t, 16> first = {~before};
  __m512i sums[kLanes] = {_mm512_xor_si512(lanes(0), _mm512_loadu_si512(first.data())), lanes(1), lanes(2), lanes(3)};
  for (bytes = bytes.subspan(kWide); bytes.size() >= kWide; bytes = bytes.subspan(kWide)) {
    for (std::size_t i = 0; i < kLanes; ++i) {
      const __m512i low = _mm512_clmulepi64_epi128(sums[i], by2048, 0x00);
      const __m512i high = _mm512_clmulepi64_epi128(sums[i], by2048, 0x11);
      sums[i] = _mm512_ternarylogic_epi64(low, high, lanes(i), 0x96);  // a ^ b ^ c
    }
  }
  std::array<std::byte, kWide> left;
  for (std::size_t i = 0; i < kLanes; ++i) _mm512_storeu_si512(left.data() + i * 4 * kLane, sums[i]);
  const std::uint32_t crc = folded(~std::uint32_t{0}, left);
  return bytes.size() >= kShort ? folded(crc, bytes) : in_steps(crc, bytes);
}

#endif

}  // namespace

std::uint32_t crc32_of(std::uint32_t before, std::span<const std::byte> bytes) {
#if defined(__x86_64__)
  static const bool multiplies = __builtin_cpu_supports("pclmul");
  static const bool is_wide = multiplies && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("vpclmulqdq");
  if (is_wide && bytes.size() >= kLong) return folded_wide(before, bytes);
  if (multiplies && bytes.size() >= kShort) return folded(before, bytes);
#elif defined(__aarch64__)
  if (has(HWCAP_PMULL) && bytes.size() >= kShort) return folded(before, bytes);
#endif
  return in_steps(before, bytes);
}

std::uint64_t xor64_of(std::span<const std::byte> bytes) {
  typedef std::uint64_t Pair __attribute__((vector_size(16)));
  constexpr std::size_t kPairs = 4;
  Pair pairs[kPairs] = {};
  for (; bytes.size() >= sizeof pairs; bytes = bytes.subspan(sizeof pairs)) {
    for (std::size_t i = 0; i < kPairs; ++i) {
      Pair next;
      std::memcpy(&next, bytes.data() + i * sizeof next, sizeof next);
      pairs[i] ^= next;
    }
  }
  std::array<std::uint64_t, 2 * kPairs> rest{};
  if (!bytes.empty()) std::memcpy(rest.data(), bytes.data(), bytes.size());  // an empty span may have a null pointer
  for (std::size_t i = 0; i < kPairs; ++i) rest[0] ^= pairs[i][0] ^ pairs[i][1];
  return std::accumulate(rest.begin(), rest.end(), std::uint64_t{0}, std::bit_xor<>());
}

}  // namespace tensorstat
