#include "kernels-cl/launch/definition.hpp"

#include <math.h>

#include <algorithm>

#include <tensorstat/catalog.inc>

#include "precision/families.h"
#include "precision/formats.h"
#include "precision/partial.h"
#include "precision/scalars.hpp"
#include "precision/sizes.h"
#include "stats/engine/accumulator_layout.hpp"
#include "stats/engine/pair_layout.hpp"

namespace {

#include "precision/checksum.h"
#include "precision/exact.h"
#include "precision/keyed.h"
#include "precision/lift/lift.h"
#include "precision/low/low.h"
#include "precision/pair/number.h"
#include "precision/pair/lift_pair.h"

#define PER_DTYPE "precision/lift/lift_elements.h"
#include "precision/each_dtype.h"
#define PER_DTYPE LIFT_TEXT
#include "precision/each_dtype.h"
#define PER_DTYPE "precision/lift/lift_indices.h"
#include "precision/each_dtype.h"
#define PER_DTYPE "precision/lift/lift_complex.h"
#define PER_DTYPE_IF IS_PART
#include "precision/each_dtype.h"
#define PER_DTYPE "precision/pair/unpack.h"
#include "precision/each_dtype.h"
#define PER_DTYPE "precision/low/low_tile.h"
#define PER_DTYPE_IF HAS_LOW
#include "precision/each_dtype.h"

#define LIFT_0(what, name) CAT(lift##what##_, name)
#define LIFT_1(what, name) CAT(lift_complex##what##_, PART_OF(name))

using Lift = void (*)(i64*, const u8*, i64, int);
#define ROW(id, name, ...) CAT(LIFT_, IS_COMPLEX_OF(name))(, name),
constexpr Lift kLifts[] = {TENSORSTAT_DTYPES(ROW)};
#undef ROW

// The first elements of a byte, of what has to be unpacked.
using LiftSome = void (*)(i64*, u32, u32, i64, int);
#define LIFT_SOME_0(name) nullptr
#define LIFT_SOME_1(name) lift_some_##name
#define ROW(id, name, ...) CAT(LIFT_SOME_, UNPACKS_OF(name))(name),
constexpr LiftSome kLiftSome[] = {TENSORSTAT_DTYPES(ROW)};
#undef ROW

// Into the words of a whole partial.
#define ROW(id, name, ...)                                                                                      \
  [](i64* partial, const u8* p, u64 count) {                                                                    \
    const auto words = partial + CAT(PLACE_INDICES_, FAMILY_OF(name));                                          \
    CAT(LIFT_, IS_COMPLEX_OF(name))(_indices, name)(words, p, count, static_cast<u64>(partial[PARTIAL_COUNT])); \
  },
using LiftIndices = void (*)(i64*, const u8*, u64);
constexpr LiftIndices kLiftIndices[] = {TENSORSTAT_DTYPES(ROW)};
#undef ROW

using Unpack = number (*)(const u8*);
#define ROW(id, name, ...) CAT(unpack_, PART_OF(name)),
constexpr Unpack kUnpack[] = {TENSORSTAT_DTYPES(ROW)};
#undef ROW

using Tile = void (*)(i64*, const u8*, u32, int);
#define LOW_TILE_0(name) nullptr
#define LOW_TILE_1(name) low_tile_##name
#define ROW(id, name, ...) CAT(LOW_TILE_, HAS_LOW_OF(name))(name),
constexpr Tile kTiles[] = {TENSORSTAT_DTYPES(ROW)};
#undef ROW

}  // namespace

namespace tensorstat::cl_engine {
namespace {

// The words of precision/fingerprints.h of bytes that begin with this one of a tensor's.
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

// What depends on where an element stands, before the elements are counted.
void place_all(Dtype dtype, Needs needs, std::span<const std::byte> elements, std::uint64_t count,
               std::span<std::int64_t> words) {
  if ((needs & kFingerprints) != 0) {
    const std::uint64_t first = bytes_of(dtype, static_cast<std::uint64_t>(words[PARTIAL_COUNT]));
    take_bytes(needs, elements, first, &words[first_fingerprint(dtype)]);
  }
  if ((needs & kIndices) == 0) return;
  kLiftIndices[static_cast<int>(dtype)](words.data(), reinterpret_cast<const u8*>(elements.data()),
                                        count);
}

}  // namespace

void lift_all(Dtype dtype, Needs needs, std::span<const std::byte> elements, std::uint64_t count,
              std::span<std::int64_t> words) {
  const auto* bytes = reinterpret_cast<const u8*>(elements.data());
  const int asked = static_cast<int>(needs & NEED_ALL);
  place_all(dtype, needs, elements, count, words);
  const std::uint64_t rest = count % elements_a_byte(dtype), whole = bytes_of(dtype, count - rest);
  const auto row = static_cast<std::size_t>(dtype);
  for (std::size_t i = 0; i < whole; i += size_bytes(dtype)) kLifts[row](words.data(), bytes + i, 1, asked);
  if (rest != 0) kLiftSome[row](words.data(), bytes[whole], static_cast<u32>(rest), 1, asked);
  words[PARTIAL_COUNT] += static_cast<std::int64_t>(count);
}

void lift_tiles(Dtype dtype, Needs needs, std::span<const std::byte> elements, std::uint64_t count,
                std::span<std::int64_t> words) {
  const auto* bytes = reinterpret_cast<const u8*>(elements.data());
  place_all(dtype, needs, elements, count, words);
  for (std::size_t i = 0; i < count; i += TILE) {
    kTiles[static_cast<int>(dtype)](
        words.data(), bytes + i * size_bytes(dtype), static_cast<u32>(std::min<std::size_t>(TILE, count - i)),
        static_cast<int>(needs & NEED_ALL));
  }
  words[PARTIAL_COUNT] += static_cast<std::int64_t>(count);
}

void lift_pairs(Dtype a, std::span<const std::byte> of_a, Dtype b, std::span<const std::byte> of_b,
                const PairTolerance& tolerance, std::uint64_t first_index, std::span<std::int64_t> words) {
  const auto* const bytes_a = reinterpret_cast<const u8*>(of_a.data());
  const auto* const bytes_b = reinterpret_cast<const u8*>(of_b.data());
  const Unpack unpack_a = kUnpack[static_cast<int>(a)], unpack_b = kUnpack[static_cast<int>(b)];
  const pair_tolerance within{tolerance.rtol, tolerance.atol, tolerance.scale == PairTolerance::Scale::kGreater};
  for (std::size_t i = 0; i < of_a.size() / size_bytes(a); ++i) {
    const number x = unpack_a(bytes_a + i * size_bytes(a)), y = unpack_b(bytes_b + i * size_bytes(b));
    lift_pair(words.data(), x, y, first_index + i, pair_kind_of(a, b), within);
  }
}

}  // namespace tensorstat::cl_engine
