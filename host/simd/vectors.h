// The vectors of the folds for GCC and clang. Each translation unit has one width, by its target flags.
// kernels-cl/cl/vectors.cl has the same list for OpenCL C; precision/fold/vector_interface.h documents each name.
//
// Everything has internal linkage: the linker must never choose a function of another instruction set.
#pragma once

#include <type_traits>
#include <utility>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "precision/names.h"
#include "precision/scalars.hpp"

#define UNROLL  // compilers unroll by themselves
#ifdef __clang__
#define UNROLL_BY_2 _Pragma("unroll 2")
#define ROLLED _Pragma("clang loop unroll(disable)")
#else
#define UNROLL_BY_2 _Pragma("GCC unroll 2")
#define ROLLED _Pragma("GCC unroll 1")
#endif
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define SUBNORMALS_CONVERT 1  // the engine clears flush-to-zero before it calls

namespace {

#if defined(__AVX512F__)
#define LANE_BYTES 64
#elif defined(__AVX2__)
#define LANE_BYTES 32
#else
#define LANE_BYTES 16
#endif

// The number of accumulators used in turns to hide the latency of additions.
#define SETS 4
#define PREFETCH_BYTES 8192

template <typename T, int kLanes>
struct VectorOf {
  typedef T vector __attribute__((vector_size(sizeof(T) * kLanes)));
};
#define LANES(type) ((int)(LANE_BYTES / sizeof(type)))
#define VECTOR_OF(type) CAT(v_, type)
#define VECTOR(type) typedef VectorOf<type, LANES(type)>::vector v_##type;
VECTOR(u8) VECTOR(u16) VECTOR(u32) VECTOR(u64)
VECTOR(i8) VECTOR(i16) VECTOR(i32) VECTOR(i64)
VECTOR(f32) VECTOR(f64)
#undef VECTOR

#define SPLAT(type, x) ((type)(x) - VECTOR_OF(type){})
#define AS(type, x) as<VECTOR_OF(type)>(x)
#define LOAD(type, p) load<VECTOR_OF(type)>(p)
#define ZERO(type) (type{})
// Two numbers side by side.
typedef i64 v_i64x2 __attribute__((vector_size(16)));
#define FIRST_I64(v) (v)[0]
#define SECOND_I64(v) (v)[1]
#define KEY(type, bits) (AS(type, bits) ^ ((AS(type, bits) >> SIGN_SHIFT) & (type)MAGNITUDE_MASK))

// Counts the lanes in which a comparison is true. AVX-512 compares into a mask register and adds under it.
#if LANE_BYTES == 64
#define COUNT_INTO(type, counter, condition) ((counter) = (condition) ? (counter) + (type)1 : (counter))
#define COUNT_OUT_OF(type, counter, condition) ((counter) = (condition) ? (counter) - (type)1 : (counter))
#else
#define COUNT_INTO(type, counter, condition) ((counter) -= AS(type, condition))
#define COUNT_OUT_OF(type, counter, condition) ((counter) += AS(type, condition))
#endif

// Comparisons for ANY only. On AVX-512 the result is a mask register; the compiler would otherwise convert it to a
// vector.
#if LANE_BYTES == 64
INLINE u64 above(v_i16 a, v_i16 b) { return _mm512_cmpgt_epi16_mask((__m512i)a, (__m512i)b); }
INLINE u64 above(v_u16 a, v_u16 b) { return _mm512_cmpgt_epu16_mask((__m512i)a, (__m512i)b); }
INLINE u64 above(v_i32 a, v_i32 b) { return _mm512_cmpgt_epi32_mask((__m512i)a, (__m512i)b); }
INLINE u64 above(v_u32 a, v_u32 b) { return _mm512_cmpgt_epu32_mask((__m512i)a, (__m512i)b); }
INLINE u64 above(v_i64 a, v_i64 b) { return _mm512_cmpgt_epi64_mask((__m512i)a, (__m512i)b); }
INLINE u64 above(v_u64 a, v_u64 b) { return _mm512_cmpgt_epu64_mask((__m512i)a, (__m512i)b); }
INLINE bool any_lane(u64 mask) { return mask != 0; }
#define ABOVE(type, a, b) above(a, b)
#else
#define ABOVE(type, a, b) ((a) > (b))
#endif
#define BELOW(type, a, b) ABOVE(type, b, a)

template <typename V>
INLINE bool any_lane(V mask) {
#if LANE_BYTES == 64
  const __m512i m = as<__m512i>(mask);
  return _mm512_test_epi32_mask(m, m) != 0;
#elif LANE_BYTES == 32
  const __m256i m = as<__m256i>(mask);
  return !_mm256_testz_si256(m, m);
#elif defined(__aarch64__)
  return vmaxvq_u32((uint32x4_t)mask) != 0;
#else
  const v_u64 part = as<v_u64>(mask);
  return (part[0] | part[1]) != 0;
#endif
}
#define ANY(type, mask) any_lane(mask)

// Folds a vector's halves onto each other until one lane is left.
template <typename T, int kLanes, typename Op>
INLINE T across(typename VectorOf<T, kLanes>::vector v, Op op) {
  if constexpr (kLanes == 2) {
    return op(v[0], v[1]);
  } else {
    typename VectorOf<T, kLanes / 2>::vector halves[2];
    memcpy(halves, &v, sizeof v);
    return across<T, kLanes / 2>(op(halves[0], halves[1]), op);
  }
}
#define ACROSS(type, v, op) (across<type, LANES(type)>(v, [](auto a, auto b) { return op; }))
INLINE i64 add_lanes(v_i64 v) { return ACROSS(i64, v, a + b); }
INLINE i64 add_lanes(v_u64 v) { return (i64)ACROSS(u64, v, a + b); }
INLINE i64 add_lanes(v_u32 v) { return add_lanes((as<v_u64>(v) & 0xffffffff) + (as<v_u64>(v) >> 32)); }
INLINE i64 add_lanes(v_i32 v) { return add_lanes(as<v_u32>(v) ^ (1u << 31)) - ((i64)LANES(u32) << 31); }
INLINE i64 add_lanes(v_u16 v) { return add_lanes((as<v_u32>(v) & 0xffff) + (as<v_u32>(v) >> 16)); }
INLINE i64 add_lanes(v_u8 v) { return add_lanes((as<v_u16>(v) & 0xff) + (as<v_u16>(v) >> 8)); }
#define LARGER(a, b) larger(a, b)
#define SMALLER(a, b) smaller(a, b)
#if LANE_BYTES == 64
// The same as the templates, from which GCC 12 makes a comparison into a mask register and a blend. Not of f64: float64
// columns were then 0.7 times as fast.
INLINE v_f32 larger(v_f32 a, v_f32 b) { return (v_f32)_mm512_max_ps((__m512)a, (__m512)b); }
INLINE v_f32 smaller(v_f32 a, v_f32 b) { return (v_f32)_mm512_min_ps((__m512)a, (__m512)b); }
#endif
#define ADD_LANES(type, v) add_lanes(v)
#define MAX_LANE(type, v) ACROSS(type, v, larger(a, b))
#define MIN_LANE(type, v) ACROSS(type, v, smaller(a, b))

// a * b + c, rounded once or twice. Used only if the final sum is exact either way.
INLINE v_f64 multiply_add(v_f64 a, v_f64 b, v_f64 c) {
#if LANE_BYTES == 64
  return (v_f64)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif LANE_BYTES == 32
  return (v_f64)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#elif defined(__aarch64__)
  return (v_f64)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
#else
  return a * b + c;
#endif
}
#define MUL_ADD(a, b, c) multiply_add(a, b, c)

// a + b. `one` is a vector of ones, hidden from the compiler, so that this stays a fused multiply-add. AMD's Zen has
// two pipes for additions, which conversions and shifts also use, and two others for multiply-adds.
INLINE v_f64 add_f64(v_f64 a, [[maybe_unused]] v_f64 one, v_f64 b) {
#if LANE_BYTES >= 32
  return multiply_add(a, one, b);
#else
  return a + b;
#endif
}
INLINE v_f64 ones() {
  v_f64 v = SPLAT(f64, 1);
#if LANE_BYTES >= 32
  asm("" : "+x"(v));
#endif
  return v;
}
#define ONE ones()
#define ADD_F64(a, one, b) add_f64(a, one, b)

// NaN and Inf become 0.
#define ONLY_FINITE(d) AS(f64, AS(i64, d) & ((AS(i64, d) & INT64_MAX) < WIDENED_INFINITY))

// min(a, |b|); neither may be NaN.
INLINE v_f64 smaller_size(v_f64 a, v_f64 b) {
#if LANE_BYTES == 64
  return (v_f64)_mm512_range_pd((__m512d)a, (__m512d)b, 10);  // the smaller magnitude, with the sign cleared
#elif defined(__aarch64__)
  return (v_f64)vminnmq_f64((float64x2_t)a, vabsq_f64((float64x2_t)b));
#else
  return smaller(a, as<v_f64>(as<v_u64>(b) & ~((u64)1 << 63)));
#endif
}
#define SMALLER_SIZE(a, b) smaller_size(a, b)

// Products of the low 32 bits of each lane.
INLINE v_u64 multiply_32(v_u64 a, v_u64 b) {
#if LANE_BYTES == 64
  return (v_u64)_mm512_mul_epu32((__m512i)a, (__m512i)b);
#elif LANE_BYTES == 32
  return (v_u64)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
  return (v_u64)_mm_mul_epu32((__m128i)a, (__m128i)b);
#elif defined(__aarch64__)
  return (v_u64)vmull_u32(vmovn_u64((uint64x2_t)a), vmovn_u64((uint64x2_t)b));
#else
  return (a & 0xffffffff) * (b & 0xffffffff);
#endif
}
#define MUL_32(a, b) multiply_32(a, b)

#if LANE_BYTES >= 32 || defined(__aarch64__)
#define LOOKS_UP 1
INLINE v_u8 look_up(v_u8 table, v_u8 index) {
#if LANE_BYTES == 64
  return (v_u8)_mm512_shuffle_epi8((__m512i)table, (__m512i)index);
#elif LANE_BYTES == 32
  return (v_u8)_mm256_shuffle_epi8((__m256i)table, (__m256i)index);
#else
  return (v_u8)vqtbl1q_u8((uint8x16_t)table, (uint8x16_t)(index & 0x8f));  // 0 for every index above 15
#endif
}
INLINE v_u64 alternate(u64 a, u64 b) {
  v_u64 v;
  for (int i = 0; i < LANES(u64); ++i) v[i] = i % 2 == 0 ? a : b;
  return v;
}
#define LOOK_UP(table, index) look_up(table, index)
#define ALTERNATE(a, b) alternate(a, b)
#else
#define LOOKS_UP 0
#endif

#if LANE_BYTES == 64
INLINE v_u32 smeared(v_u32 v) {
  return (v_u32)_mm512_srlv_epi32(_mm512_set1_epi32(-1), _mm512_lzcnt_epi32((__m512i)v));
}
INLINE v_u64 smeared(v_u64 v) {
  return (v_u64)_mm512_srlv_epi64(_mm512_set1_epi64(-1), _mm512_lzcnt_epi64((__m512i)v));
}
#define SMEARED(v) smeared(v)
INLINE v_u8 absolute(v_u8 v) { return (v_u8)_mm512_abs_epi8((__m512i)v); }
INLINE v_u16 absolute(v_u16 v) { return (v_u16)_mm512_abs_epi16((__m512i)v); }
INLINE v_u32 absolute(v_u32 v) { return (v_u32)_mm512_abs_epi32((__m512i)v); }
INLINE v_u64 absolute(v_u64 v) { return (v_u64)_mm512_abs_epi64((__m512i)v); }
#define MAJORITY(a, b, c) ((v_u8)_mm512_ternarylogic_epi32((__m512i)(a), (__m512i)(b), (__m512i)(c), 0xe8))
#define ADD_SATURATED(a, b) ((v_u8)_mm512_adds_epu8((__m512i)(a), (__m512i)(b)))
#elif LANE_BYTES == 32
INLINE v_u8 absolute(v_u8 v) { return (v_u8)_mm256_abs_epi8((__m256i)v); }
INLINE v_u16 absolute(v_u16 v) { return (v_u16)_mm256_abs_epi16((__m256i)v); }
INLINE v_u32 absolute(v_u32 v) { return (v_u32)_mm256_abs_epi32((__m256i)v); }
INLINE v_u64 absolute(v_u64 v) {
  const v_u64 sign = as<v_u64>(as<v_i64>(v) < 0);
  return (v ^ sign) - sign;
}
#define ADD_SATURATED(a, b) ((v_u8)_mm256_adds_epu8((__m256i)(a), (__m256i)(b)))
// From the exponent of a float32. The bit below the highest one is cleared, so that no conversion rounds up to a
// power of two. From 2^31 on the conversion takes the integer for a negative one. Then the sign makes the exponent the larger.
template <typename V>
INLINE V bit_widths(V v) {
  const v_u32 words = as<v_u32>(v);
  const __m256 converted = _mm256_cvtepi32_ps((__m256i)(words & ~(words >> 1)));
  const __m256i exponents = _mm256_srli_epi32(_mm256_castps_si256(converted), 23);
  const V widths = (V)_mm256_min_epu16(_mm256_subs_epu16(exponents, _mm256_set1_epi32(126)), _mm256_set1_epi32(32));
  if constexpr (sizeof(v[0]) == 8) {
    const V upper = widths >> 32;
    return upper != 0 ? upper + 32 : widths;
  }
  return widths;
}
#define BIT_WIDTHS(v) bit_widths(v)
#endif
#if LANE_BYTES >= 32
#define ABSOLUTE(bits) absolute(bits)
#endif

#define STORE(type, to, x) memcpy(to, &static_cast<const VECTOR_OF(type)&>(x), sizeof(VECTOR_OF(type)))

// Interleaves two vectors of T within each 16 bytes: elements of a and b alternate, from the lower or the upper half.
#if LANE_BYTES == 64
#define UNPACK(bits, a, b) \
  (v_u8)(kUpper ? _mm512_unpackhi_epi##bits((__m512i)a, (__m512i)b) : _mm512_unpacklo_epi##bits((__m512i)a, (__m512i)b))
#elif LANE_BYTES == 32
#define UNPACK(bits, a, b) \
  (v_u8)(kUpper ? _mm256_unpackhi_epi##bits((__m256i)a, (__m256i)b) : _mm256_unpacklo_epi##bits((__m256i)a, (__m256i)b))
#endif
template <bool kUpper, typename T, size_t... kByte>
INLINE v_u8 unpack(v_u8 a, v_u8 b, T, std::index_sequence<kByte...>) {
  constexpr size_t kSize = sizeof(T);
#ifdef UNPACK
  if constexpr (kSize == 1) return UNPACK(8, a, b);
  if constexpr (kSize == 2) return UNPACK(16, a, b);
  if constexpr (kSize == 4) return UNPACK(32, a, b);
  return UNPACK(64, a, b);
#else
  return __builtin_shufflevector(
      a, b, (kByte / kSize / 2 * kSize + kByte % kSize + (kUpper ? 8 : 0) + kByte / kSize % 2 * 16)...);
#endif
}
#undef UNPACK
template <typename T>
INLINE v_u8 unpack_low(v_u8 a, v_u8 b, T type) { return unpack<false>(a, b, type, std::make_index_sequence<16>()); }
template <typename T>
INLINE v_u8 unpack_high(v_u8 a, v_u8 b, T type) { return unpack<true>(a, b, type, std::make_index_sequence<16>()); }

// The lower halves of all 16-byte groups come first. Zipping whole vectors would cost twice as much.
#define STORE_ZIPPED(type, to, a, b) store_zipped<type>(to, as<v_u8>(a), as<v_u8>(b))
template <typename T>
INLINE void store_zipped(void* to, v_u8 a, v_u8 b) {
  const v_u8 low = unpack_low(a, b, T()), high = unpack_high(a, b, T());
  memcpy(to, &low, sizeof low);
  memcpy(static_cast<u8*>(to) + sizeof low, &high, sizeof high);
}
#define ZIPPED_LANE(type, k) zipped_lane(8 / (int)sizeof(type), k)
constexpr int zipped_lane(int pairs, int k) {  // `pairs` is the number of pairs in 16 bytes
  constexpr int kParts = LANE_BYTES / 16;
  return k / pairs % kParts * (2 * pairs) + k / (pairs * kParts) * pairs + k % pairs;
}

// value * value in two words, for |value| < 2^63.
INLINE void square_wide(i64 value, u64& low, u64& high) {
#ifdef __SIZEOF_INT128__
  __extension__ typedef __int128 i128;
  const i128 square = (i128)value * value;
  low = (u64)square;
  high = (u64)(square >> 64);
#else
  const u64 size = (u64)(value < 0 ? -value : value), a = (u32)size, b = size >> 32;
  const u64 middle = a * b + (a * a >> 33);
  low = (middle << 33) | ((a * a) & (((u64)1 << 33) - 1));
  high = b * b + (middle >> 31);
#endif
}
#define SQUARE_WIDE(value, low, high) square_wide(value, low, high)

// The squares of the lower 32-bit number of each lane.
INLINE v_u64 square_low_u32(v_u64 pairs) { return multiply_32(pairs, pairs); }
INLINE v_u64 square_low_i32(v_u64 pairs) {
#if LANE_BYTES == 64
  return (v_u64)_mm512_mul_epi32((__m512i)pairs, (__m512i)pairs);
#elif LANE_BYTES == 32
  return (v_u64)_mm256_mul_epi32((__m256i)pairs, (__m256i)pairs);
#elif defined(__aarch64__)
  const int32x2_t low = vmovn_s64((int64x2_t)pairs);
  return (v_u64)vmull_s32(low, low);
#else
  const v_i32 sign = as<v_i32>(pairs) >> 31;
  return square_low_u32(as<v_u64>(as<v_u32>(as<v_i32>(pairs) ^ sign) - as<v_u32>(sign)));  // wraps at INT_MIN
#endif
}
#define SQUARE_LOW(type, pairs) CAT(square_low_, type)(pairs)

// a * b + c * d for neighbouring elements.
INLINE v_i32 multiply_pairs(v_i16 a, v_i16 b) {
#if LANE_BYTES == 64
  return (v_i32)_mm512_madd_epi16((__m512i)a, (__m512i)b);
#elif LANE_BYTES == 32
  return (v_i32)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
  return (v_i32)_mm_madd_epi16((__m128i)a, (__m128i)b);
#elif defined(__aarch64__)
  const int16x8_t x = (int16x8_t)a, y = (int16x8_t)b;
  return (v_i32)vpaddq_s32(vmull_s16(vget_low_s16(x), vget_low_s16(y)), vmull_high_s16(x, y));
#else
  const v_i32 x = as<v_i32>(a), y = as<v_i32>(b);
  return as<v_i32>(as<v_u32>((x << 16 >> 16) * (y << 16 >> 16)) + as<v_u32>((x >> 16) * (y >> 16)));
#endif
}

// Sums of neighbouring elements, and of their squares, in 32-bit lanes.
INLINE v_u32 square_sums_i16(v_i16 x) { return as<v_u32>(multiply_pairs(x, x)); }
#if defined(__aarch64__)
INLINE v_i32 sums_i16(v_i16 x) { return (v_i32)vpaddlq_s16((int16x8_t)x); }
INLINE v_i32 sums_i8(v_i8 x) { return (v_i32)vpaddlq_s16(vpaddlq_s8((int8x16_t)x)); }
INLINE v_i32 sums_u8(v_u8 x) { return (v_i32)vpaddlq_u16(vpaddlq_u8((uint8x16_t)x)); }
// Neighbours, in the order of the elements: lanes may be columns (lanes_integer.inc).
INLINE v_u32 sums_of_both(uint16x8_t a, uint16x8_t b) { return (v_u32)vpaddq_u32(vpaddlq_u16(a), vpaddlq_u16(b)); }
INLINE v_u32 square_sums_i8(v_i8 v) {
  const int8x16_t x = (int8x16_t)v;
  return sums_of_both((uint16x8_t)vmull_s8(vget_low_s8(x), vget_low_s8(x)), (uint16x8_t)vmull_high_s8(x, x));
}
INLINE v_u32 square_sums_u8(v_u8 v) {
  const uint8x16_t x = (uint8x16_t)v;
  return sums_of_both(vmull_u8(vget_low_u8(x), vget_low_u8(x)), vmull_high_u8(x, x));
}
#else
INLINE v_i32 sums_i16(v_i16 x) { return multiply_pairs(x, SPLAT(i16, 1)); }
INLINE v_i16 even_i8(v_i8 x) { return as<v_i16>(x) << 8 >> 8; }
INLINE v_i16 odd_i8(v_i8 x) { return as<v_i16>(x) >> 8; }
INLINE v_i16 even_u8(v_u8 x) { return as<v_i16>(x) & 0xff; }
INLINE v_i16 odd_u8(v_u8 x) { return as<v_i16>(as<v_u16>(x) >> 8); }
INLINE v_i32 sums_i8(v_i8 x) { return sums_i16(even_i8(x) + odd_i8(x)); }
INLINE v_i32 sums_u8(v_u8 x) { return sums_i16(even_u8(x) + odd_u8(x)); }
INLINE v_u32 square_sums_i8(v_i8 x) { return square_sums_i16(even_i8(x)) + square_sums_i16(odd_i8(x)); }
INLINE v_u32 square_sums_u8(v_u8 x) { return square_sums_i16(even_u8(x)) + square_sums_i16(odd_u8(x)); }
#endif
#define SUMS(type, x) CAT(sums_, type)(x)
#define SQUARE_SUMS(type, x) CAT(square_sums_, type)(x)

#include "host/simd/float_loads.h"

// Prefetches PREFETCH_BYTES ahead: the hardware prefetcher does not reach beyond a group's arithmetic. 256 MiB of
// float64 on two threads went from 0.6 to 0.8 of the speed of only reading. Prefetching one cache line with each
// vector, instead of a group's lines at once, brought one thread from 0.72 to 0.84. An address past the end is
// harmless.
#define PREFETCH(p) __builtin_prefetch((p) + PREFETCH_BYTES)
INLINE void prefetch(const u8* p, int bytes) {
  for (int i = 0; i < bytes; i += 64) PREFETCH(p + i);
}
// From where to prefetch while the elements at `offset` of the `all` bytes at p are folded. During the last
// PREFETCH_BYTES (or all, if there are fewer) it is `next`, the address that is folded afterwards, if known. Tensors of 4
// KiB in a random order went from 1.0 to 0.55 us each.
INLINE const u8* prefetched_from(const u8* p, u64 offset, u64 all, const u8* next) {
  const u64 inside = all > PREFETCH_BYTES ? all - PREFETCH_BYTES : 0;
  return next == nullptr || offset < inside ? p + offset : next + (offset - inside) - PREFETCH_BYTES;
}

#include "precision/fold/vector_interface.h"

}  // namespace
