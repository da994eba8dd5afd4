// The vectors that the folds' texts are written in, for GCC and clang: one width a translation unit,
// by its target flags. kernels-cl/lanes.cl is the same list for OpenCL C.
//
// Everything has internal linkage: the linker must never pick a function of another instruction set.
#pragma once

#include <stdint.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "precision/formats.h"

#define INLINE [[gnu::always_inline, maybe_unused]] static inline
#define NOINLINE [[gnu::noinline, maybe_unused]] static
#define SPACE
#define TILE_SPACE
#define WORDS
#define FP64
#define ADD(word, value) ((word) += (value))
#define RAISE(word, value) ((word) = (word) > (value) ? (word) : (value))
#define UNROLL  // the compilers do so unasked
#ifdef __clang__
#define UNROLL_BY_2 _Pragma("unroll 2")
#else
#define UNROLL_BY_2 _Pragma("GCC unroll 2")
#endif
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define SUBNORMALS_CONVERT 1  // the engine clears flush-to-zero before it calls

namespace {

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using i8 = int8_t;
using i16 = int16_t;
using i32 = int32_t;
using i64 = int64_t;
using f32 = float;
using f64 = double;

#if defined(__AVX512F__)
#define LANE_BYTES 64
#elif defined(__AVX2__)
#define LANE_BYTES 32
#else
#define LANE_BYTES 16
#endif

// Elements a fold takes at a time, and how many accumulators take turns to hide an addition's latency.
#define GROUP 128
#define SETS 2
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

template <typename To, typename From>
INLINE To as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}
template <typename To>
INLINE To load(const u8* p) {
  To to;
  memcpy(&to, p, sizeof to);
  return to;
}
#define SPLAT(type, x) ((type)(x) - VECTOR_OF(type){})
#define AS(type, x) as<VECTOR_OF(type)>(x)
#define AS_F64(x) as<f64>((u64)(x))
#define AS_I64(x) as<i64>((f64)(x))
#define AS_F32(x) as<f32>((u32)(x))
#define AS_U32(x) as<u32>((f32)(x))
#define LOAD(type, p) load<VECTOR_OF(type)>(p)
#define LOAD_ONE(type, p) load<type>(p)
#define LOAD_OF(space, type, p) load<type>(p)
#define KEY(type, bits) (AS(type, bits) ^ ((AS(type, bits) >> SIGN_SHIFT) & (type)MAGNITUDE_MASK))

template <typename T>
INLINE T larger(T a, T b) { return a > b ? a : b; }
template <typename T>
INLINE T smaller(T a, T b) { return a < b ? a : b; }
#define MAX(a, b) larger(a, b)
#define MIN(a, b) smaller(a, b)

// Counts the lanes where a comparison holds. AVX-512 compares into a mask register and adds under it.
#if LANE_BYTES == 64
#define COUNT_INTO(type, counter, condition) ((counter) = (condition) ? (counter) + (type)1 : (counter))
#define COUNT_OUT_OF(type, counter, condition) ((counter) = (condition) ? (counter) - (type)1 : (counter))
#else
#define COUNT_INTO(type, counter, condition) ((counter) -= AS(type, condition))
#define COUNT_OUT_OF(type, counter, condition) ((counter) += AS(type, condition))
#endif

template <typename V>
INLINE bool any_lane(V mask) {
#if LANE_BYTES == 64
  const __m512i m = as<__m512i>(mask);
  return _mm512_test_epi32_mask(m, m) != 0;
#elif LANE_BYTES == 32
  const __m256i m = as<__m256i>(mask);
  return !_mm256_testz_si256(m, m);
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
#define ADD_LANES(type, v) add_lanes(v)
#define MAX_LANE(type, v) ACROSS(type, v, larger(a, b))
#define MIN_LANE(type, v) ACROSS(type, v, smaller(a, b))

// a * b + c, with one rounding or two: used where either gives an exact sum in the end.
INLINE v_f64 multiply_add(v_f64 a, v_f64 b, v_f64 c) {
#if LANE_BYTES == 64
  return (v_f64)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif LANE_BYTES == 32
  return (v_f64)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#else
  return a * b + c;
#endif
}
#define MUL_ADD(a, b, c) multiply_add(a, b, c)

// The smaller of a and the size of b, neither a NaN.
INLINE v_f64 smaller_size(v_f64 a, v_f64 b) {
#if LANE_BYTES == 64
  return (v_f64)_mm512_range_pd((__m512d)a, (__m512d)b, 10);  // the one of smaller size, its sign cleared
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
#else
  return (a & 0xffffffff) * (b & 0xffffffff);
#endif
}
#define MUL_32(a, b) multiply_32(a, b)

// value * value in two words, for values below 2^63 in size.
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

// Vectors of narrow integers seen as pairs of 32-bit numbers; and squares of the lower of each.
#define PAIRS(x) as<v_u64>(x)
INLINE v_u64 square_low_u32(v_u64 pairs) { return multiply_32(pairs, pairs); }
INLINE v_u64 square_low_i32(v_u64 pairs) {
#if LANE_BYTES == 64
  return (v_u64)_mm512_mul_epi32((__m512i)pairs, (__m512i)pairs);
#elif LANE_BYTES == 32
  return (v_u64)_mm256_mul_epi32((__m256i)pairs, (__m256i)pairs);
#else
  const v_i32 sign = as<v_i32>(pairs) >> 31;
  return square_low_u32(as<v_u64>((as<v_i32>(pairs) ^ sign) - sign));
#endif
}
#define SQUARE_LOW(type, pairs) CAT(square_low_, type)(pairs)

// a * b + c * d of neighbours.
INLINE v_i32 multiply_pairs(v_i16 a, v_i16 b) {
#if LANE_BYTES == 64
  return (v_i32)_mm512_madd_epi16((__m512i)a, (__m512i)b);
#elif LANE_BYTES == 32
  return (v_i32)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
  return (v_i32)_mm_madd_epi16((__m128i)a, (__m128i)b);
#else
  const v_i32 x = as<v_i32>(a), y = as<v_i32>(b);
  return as<v_i32>(as<v_u32>((x << 16 >> 16) * (y << 16 >> 16)) + as<v_u32>((x >> 16) * (y >> 16)));
#endif
}

// Sums of a few neighbours, and of their squares, in 32-bit lanes.
INLINE v_i32 sums_i16(v_i16 x) { return multiply_pairs(x, SPLAT(i16, 1)); }
INLINE v_u32 square_sums_i16(v_i16 x) { return as<v_u32>(multiply_pairs(x, x)); }
INLINE v_i16 even_i8(v_i8 x) { return as<v_i16>(x) << 8 >> 8; }
INLINE v_i16 odd_i8(v_i8 x) { return as<v_i16>(x) >> 8; }
INLINE v_i16 even_u8(v_u8 x) { return as<v_i16>(x) & 0xff; }
INLINE v_i16 odd_u8(v_u8 x) { return as<v_i16>(as<v_u16>(x) >> 8); }
INLINE v_i32 sums_i8(v_i8 x) { return sums_i16(even_i8(x) + odd_i8(x)); }
INLINE v_i32 sums_u8(v_u8 x) { return sums_i16(even_u8(x) + odd_u8(x)); }
INLINE v_u32 square_sums_i8(v_i8 x) { return square_sums_i16(even_i8(x)) + square_sums_i16(odd_i8(x)); }
INLINE v_u32 square_sums_u8(v_u8 x) { return square_sums_i16(even_u8(x)) + square_sums_i16(odd_u8(x)); }
#define SUMS(type, x) CAT(sums_, type)(x)
#define SQUARE_SUMS(type, x) CAT(square_sums_, type)(x)

// As many floats as there are lanes of f64, as those. GCC 12 takes __builtin_convertvector of a narrow
// vector apart, so that the instructions are named where there are any.
using Words = VectorOf<u32, LANES(u64)>::vector;
using Floats = VectorOf<f32, LANES(u64)>::vector;
INLINE v_f64 widen(Floats x) {
#if LANE_BYTES == 64
  return (v_f64)_mm512_cvtps_pd((__m256)x);
#elif LANE_BYTES == 32
  return (v_f64)_mm256_cvtps_pd((__m128)x);
#else
  return __builtin_convertvector(x, v_f64);
#endif
}
INLINE Words load_words(const u8* p) {
#if LANE_BYTES == 64
  return (Words)_mm256_cvtepu16_epi32(load<__m128i>(p));
#elif LANE_BYTES == 32
  return (Words)_mm_cvtepu16_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
#else
  return __builtin_convertvector(load<VectorOf<u16, LANES(u64)>::vector>(p), Words);
#endif
}
INLINE v_f64 load_f64_float32(const u8* p) { return widen(load<Floats>(p)); }
INLINE v_f64 load_f64_bfloat16(const u8* p) { return widen(as<Floats>(load_words(p) << 16)); }
INLINE v_f64 load_f64_float16(const u8* p) {
#if LANE_BYTES == 64
  return widen((Floats)_mm256_cvtph_ps(load<__m128i>(p)));
#elif LANE_BYTES == 32
  return widen((Floats)_mm_cvtph_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
#else
  // A float16's bits, moved to a float32's place and rebiased; a subnormal is what its exponent of
  // 2^-14 leaves above that.
  const Words bits = load_words(p);
  const Words magnitude = (bits & 0x7fff) << 13;
  const Words normal = magnitude + (112u << 23);
  const Words subnormal = as<Words>(as<Floats>(magnitude + (113u << 23)) - 0x1p-14f);
  const Words value = (magnitude < (1u << 23) ? subnormal : normal) | (bits & 0x8000) << 16;
  return widen(as<Floats>(value));
#endif
}

// Vector k of the 2 * LANES(f32) elements of a half type at p, the even ones first: any order will do.
INLINE v_f64 load_placed(const u8* p, int k, int shift, u32 mask) {
  const v_u32 words = load<v_u32>(p);
  const v_u32 placed = as<v_u32>(as<v_i32>(k < 2 ? words << 16 : words) >> shift) & mask;
  Floats halves[2];
  memcpy(halves, &placed, sizeof halves);
  return widen(halves[k % 2]);
}
#define LOAD_PLACED(p, k) load_placed(p, k, PLACED_SHIFT, PLACED_MASK)

// Asks for what lies PREFETCH_BYTES ahead: the processor's own prefetching does not look past a group's
// arithmetic. 256 MiB of float64 on two threads went from 0.6 to 0.8 of a read-only stream; a line with each
// vector, not a group's at once, took one thread from 0.72 to 0.84. An address past the end is harmless.
#define PREFETCH(p) __builtin_prefetch((p) + PREFETCH_BYTES)
INLINE void prefetch(const u8* p, int bytes) {
  for (int i = 0; i < bytes; i += 64) PREFETCH(p + i);
}

}  // namespace
