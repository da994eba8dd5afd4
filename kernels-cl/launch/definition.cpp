#include "kernels-cl/launch/definition.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include <tensorstat/catalog.inc>

#include "precision/families.h"
#include "precision/formats.h"
#include "precision/partial.h"

#define INLINE [[maybe_unused]] static inline
#define SPACE
#define WORDS
#define ADD(word, value) ((word) += (value))
#define RAISE(word, value) ((word) = (word) > (value) ? (word) : (value))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define LOAD_ONE(type, p) load_one<type>(p)
#define LOAD_OF(space, type, p) load_one<type>(p)
#define TILE_SPACE
#define FP64
#define AS_F32(x) std::bit_cast<f32>(static_cast<u32>(x))
#define AS_U32(x) std::bit_cast<u32>(static_cast<f32>(x))
#define AS_F64(x) std::bit_cast<f64>(static_cast<u64>(x))
#define AS_I64(x) std::bit_cast<i64>(static_cast<f64>(x))

namespace {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i8 = std::int8_t;
using i16 = std::int16_t;
using i32 = std::int32_t;
using i64 = std::int64_t;
using f32 = float;
using f64 = double;

template <typename T>
T load_one(const u8* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

#include "precision/exact.h"
#include "precision/lift/lift.h"
#include "precision/low/low.h"

#define PER_DTYPE LIFT_TEXT
#include "precision/each_dtype.h"
#undef PER_DTYPE
#define PER_DTYPE "precision/low/low_tile.h"
#include "precision/each_float.h"

using Lift = void (*)(i64*, const u8*);
#define ROW(id, name, ...) lift_##name,
constexpr Lift kLifts[] = {TENSORSTAT_DTYPES(ROW)};
#undef ROW

using Tile = void (*)(i64*, const u8*, u32);
constexpr Tile kTiles[] = {low_tile_float16, low_tile_bfloat16, low_tile_float32, low_tile_float64};  // in Dtype's order

}  // namespace

namespace tensorstat::cl_engine {

void lift_all(Dtype dtype, std::span<const std::byte> elements, std::span<std::int64_t> words) {
  const auto* bytes = reinterpret_cast<const u8*>(elements.data());
  for (std::size_t i = 0; i < elements.size(); i += size_bytes(dtype)) {
    kLifts[static_cast<int>(dtype)](words.data(), bytes + i);
    ++words[PARTIAL_COUNT];
  }
}

void lift_tiles(Dtype dtype, std::span<const std::byte> elements, std::span<std::int64_t> words) {
  const auto* bytes = reinterpret_cast<const u8*>(elements.data());
  const std::size_t count = elements.size() / size_bytes(dtype);
  for (std::size_t i = 0; i < count; i += TILE) {
    kTiles[static_cast<int>(dtype) - static_cast<int>(Dtype::kFloat16)](
        words.data(), bytes + i * size_bytes(dtype), static_cast<u32>(std::min<std::size_t>(TILE, count - i)));
  }
  words[PARTIAL_COUNT] += static_cast<std::int64_t>(count);
}

}  // namespace tensorstat::cl_engine
