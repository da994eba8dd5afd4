#include "kernels-cl/program/definition.hpp"

#include <math.h>

#include <algorithm>
#include <tensorstat/dtypes.inc>

#include "precision/generated/families.h"
#include "precision/partial.h"
#include "precision/scalars.hpp"
#include "precision/sizes.h"
#include "stats/core/engine/accumulator_layout.hpp"
#include "stats/core/engine/pair_layout.hpp"

namespace {

#include "precision/checksum.h"
#include "precision/exact.h"
#include "precision/keyed.h"
#include "precision/lift/lift.h"
#include "precision/low/low.h"
#include "precision/pair/number.h"
// Uses number.h.
#include "precision/pair/lift_pair.h"

// The functions of a dtype.
struct Definition {
  void (*lift)(i64* partial, const u8* p, i64 n, int needs);
  // Lifts the first elements of a byte; null unless the dtype is packed.
  void (*lift_some)(i64* partial, u32 code, u32 elements, i64 n, int needs);
  void (*lift_indices)(i64* partial, const u8* p, u64 count);
  number (*unpack)(const u8* p);
  // Null unless the dtype has a `low`.
  void (*low_tile)(i64* partial, const u8* p, u32 count, int needs);
};
#define PER_DTYPE "kernels-cl/program/definition.inc"
#define PER_DTYPE_IF 1
#include "precision/generated/each_dtype.h"
#define ROW(id, name, ...) dtype_##name::kDefinition,
constexpr Definition kDefinitions[] = {TENSORSTAT_DTYPES(ROW)};
#undef ROW

}  // namespace

namespace tensorstat::cl_engine {
namespace {

// Adds bytes to the words of precision/fingerprints.h. The bytes begin at byte `first` of the tensor.
void take_bytes(Needs needs, std::span<const std::byte> bytes, std::uint64_t first, std::int64_t* words) {
  u32 crc = 0;
  u64 word = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto byte = std::to_integer<u32>(bytes[i]);
    crc = crc >> 8 ^ crc_of_byte((crc ^ byte) & 0xff);
    word ^= xor_moved(byte, first + i);
  }
  if ((needs & kCrc32) != 0) words[FINGERPRINT_WORD_CRC32] ^= crc_moved(crc, crc_back, first + bytes.size());
  if ((needs & kXor64) != 0) words[FINGERPRINT_WORD_XOR64] ^= static_cast<i64>(word);
}

// Lifts what depends on an element's index. Call it before the elements are counted: the count is the first index.
void place_all(Dtype dtype, Needs needs, std::span<const std::byte> elements, std::uint64_t count,
               std::span<std::int64_t> words) {
  if ((needs & kFingerprints) != 0) {
    const std::uint64_t first = bytes_of(dtype, static_cast<std::uint64_t>(words[PARTIAL_COUNT]));
    take_bytes(needs, elements, first, &words[first_fingerprint(dtype)]);
  }
  if ((needs & kIndices) == 0) return;
  kDefinitions[static_cast<int>(dtype)].lift_indices(words.data(), reinterpret_cast<const u8*>(elements.data()), count);
}

}  // namespace

void lift_all(Dtype dtype, Needs needs, std::span<const std::byte> elements, std::uint64_t count,
              std::span<std::int64_t> words) {
  const auto* bytes = reinterpret_cast<const u8*>(elements.data());
  const int asked = static_cast<int>(needs & NEED_ALL);
  place_all(dtype, needs, elements, count, words);
  const std::uint64_t rest = count % elements_a_byte(dtype), whole = bytes_of(dtype, count - rest);
  const auto row = static_cast<std::size_t>(dtype);
  for (std::size_t i = 0; i < whole; i += size_bytes(dtype)) kDefinitions[row].lift(words.data(), bytes + i, 1, asked);
  if (rest != 0) kDefinitions[row].lift_some(words.data(), bytes[whole], static_cast<u32>(rest), 1, asked);
  words[PARTIAL_COUNT] += static_cast<std::int64_t>(count);
}

void lift_tiles(Dtype dtype, Needs needs, std::span<const std::byte> elements, std::uint64_t count,
                std::span<std::int64_t> words) {
  const auto* bytes = reinterpret_cast<const u8*>(elements.data());
  place_all(dtype, needs, elements, count, words);
  for (std::size_t i = 0; i < count; i += TILE) {
    kDefinitions[static_cast<int>(dtype)].low_tile(words.data(), bytes + i * size_bytes(dtype),
                                                   static_cast<u32>(std::min<std::size_t>(TILE, count - i)),
                                                   static_cast<int>(needs & NEED_ALL));
  }
  words[PARTIAL_COUNT] += static_cast<std::int64_t>(count);
}

void lift_pairs(Dtype a, std::span<const std::byte> of_a, Dtype b, std::span<const std::byte> of_b,
                const PairTolerance& tolerance, std::uint64_t first_index, std::span<std::int64_t> words) {
  const auto* const bytes_a = reinterpret_cast<const u8*>(of_a.data());
  const auto* const bytes_b = reinterpret_cast<const u8*>(of_b.data());
  const auto unpack_a = kDefinitions[static_cast<int>(a)].unpack, unpack_b = kDefinitions[static_cast<int>(b)].unpack;
  const pair_tolerance within{tolerance.rtol, tolerance.atol, tolerance.scale == PairTolerance::Scale::kGreater};
  for (std::size_t i = 0; i < of_a.size() / size_bytes(a); ++i) {
    const number x = unpack_a(bytes_a + i * size_bytes(a)), y = unpack_b(bytes_b + i * size_bytes(b));
    lift_pair(words.data(), x, y, first_index + i, pair_kind_of(a, b), within);
  }
}

}  // namespace tensorstat::cl_engine
