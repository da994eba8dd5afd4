#include "stats/core/engine/cast_bounds.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <tensorstat/dtypes.inc>

#include "precision/generated/families.h"
#include "precision/names.h"
#include "precision/partial.h"
#include "precision/scalars.hpp"
#include "stats/core/engine/accumulator_layout.hpp"
#include "stats/core/engine/code_counts.hpp"

namespace {

#include "precision/checksum.h"
#include "precision/exact.h"
#include "precision/keyed.h"
#include "precision/lift/lift.h"

#define PER_DTYPE "precision/lift/lift_elements.h"
#include "precision/generated/each_dtype.h"
#define PER_DTYPE "precision/lift/count_casts.h"
#include "precision/generated/each_dtype.h"
#define PER_DTYPE "precision/unpack_element.h"
#include "precision/generated/each_dtype.h"

}  // namespace

namespace tensorstat {
namespace {

__extension__ using u128 = unsigned __int128;

// number * 2^power
struct Scaled {
  u128 number;
  int power;
};

int width(u128 x) {
  const auto high = static_cast<std::uint64_t>(x >> 64);
  return high != 0 ? 64 + std::bit_width(high) : std::bit_width(static_cast<std::uint64_t>(x));
}

// Compares two numbers other than 0: negative, 0 or positive, as memcmp.
int compare(Scaled a, Scaled b) {
  const int tops = width(a.number) + a.power - width(b.number) - b.power;
  if (tops != 0) return tops;
  if (a.power > b.power) a.number <<= a.power - b.power;
  if (b.power > a.power) b.number <<= b.power - a.power;
  return a.number == b.number ? 0 : a.number < b.number ? -1 : 1;
}

Scaled parts(double scale) {
  int power = 0;
  const double fraction = std::frexp(scale, &power);
  return {static_cast<u128>(std::ldexp(fraction, 53)), power - 53};
}

template <typename Format>
Scaled product(std::uint64_t size, const Scaled& scale) {
  std::uint64_t number = size;
  int power = Format::least_power;
  if constexpr (Format::is_float) {
    const std::uint64_t field = size >> Format::mantissa_shift, one = std::uint64_t{1} << Format::mantissa_shift;
    number = (size & (one - 1)) | (field == 0 ? 0 : one);
    power += field == 0 ? 0 : static_cast<int>(field) - 1;
  }
  return {number * scale.number, power + scale.power};
}

// Binary search: the least size in [1, last] for which `meets` is true, or last + 1. If it is true for a size, it is
// true for all larger ones.
template <typename Meets>
std::uint64_t first_size(std::uint64_t last, const Meets& meets) {
  std::uint64_t low = 1, high = last;
  if (!meets(last)) return last + 1;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    meets(middle) ? high = middle : low = middle + 1;
  }
  return low;
}

template <typename Format>
CastBounds bounds_of(double scale_number) {
  const Scaled scale = parts(scale_number);
  constexpr std::uint64_t kLast = Format::finite_last;
  CastBounds bounds;
  std::size_t index = 0;
#define ROW(id, name, zero, exponent, ones, bits, stays)                                                               \
  {                                                                                                                    \
    constexpr Scaled kZero{1, zero}, kTie{(u128{1} << (bits)) + (ones), (exponent) - (bits)};                          \
    bounds[index] =                                                                                                    \
        first_size(kLast, [&](std::uint64_t size) { return compare(product<Format>(size, scale), kZero) > 0; }) - 1;   \
    bounds[index + 1] =                                                                                                \
        first_size(kLast, [&](std::uint64_t size) { return compare(product<Format>(size, scale), kTie) >= (stays); }); \
    bounds[index + 2] = kLast - bounds[index + 1] + 1;                                                                 \
    index += 3;                                                                                                        \
  }
  CASTS(ROW)
#undef ROW
  return bounds;
}

}  // namespace

bool is_cast_scale(double scale) { return std::isfinite(scale) && scale > 0; }

// Cached: all tensors of a request have the same dtype and scale.
CastBounds cast_bounds(Dtype dtype, double scale) {
  struct Known {
    Dtype dtype = Dtype::kBool;
    double scale = 0;
    CastBounds bounds{};
  };
  thread_local Known known;
  if (known.dtype == dtype && known.scale == scale) return known.bounds;
  known.dtype = dtype;
  known.scale = scale;
  switch (dtype) {
#define ROW(id, name, ...)                                     \
  case Dtype::id:                                              \
    known.bounds = bounds_of<dtype_##name::CastFormat>(scale); \
    break;
    TENSORSTAT_DTYPES(ROW)
#undef ROW
  }
  return known.bounds;
}

void count_casts(Dtype dtype, std::span<const std::byte> elements, std::uint64_t count, const CastBounds& bounds,
                 Needs needs, std::span<std::int64_t> words) {
  const auto* const bytes = reinterpret_cast<const u8*>(elements.data());
  const int asked = static_cast<int>(needs & kCasts);
  switch (dtype) {
#define ROW(id, name, ...)                                                                                         \
  case Dtype::id:                                                                                                  \
    if (!unpacks(dtype)) return dtype_##name::count_casts(words.data(), bytes, 0, count, 1, bounds.data(), asked); \
    return for_each_in_codes(elements, count, elements_a_byte(dtype), [&](u32 byte, u32 k, u64 times) {            \
      const auto bits = dtype_##name::unpacked(byte, k);                                                           \
      dtype_##name::lift_casts(words.data(), bits, static_cast<i64>(times), bounds.data(), asked);                 \
    });
    TENSORSTAT_DTYPES(ROW)
#undef ROW
  }
}

}  // namespace tensorstat
