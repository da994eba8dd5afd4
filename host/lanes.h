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

#define INLINE [[gnu::always_inline, maybe_unused]] static inline
#define NOINLINE [[gnu::noinline, maybe_unused]] static
#define SPACE
#define TILE_SPACE
#define WORDS
#define FP64
#define ADD(word, value) ((word) += (value))
#define RAISE(word, value) ((word) = (word) > (value) ? (word) : (value))
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

template <typename T, int kLanes>
struct VectorOf {
  typedef T vector __attribute__((vector_size(sizeof(T) * kLanes)));
};
#define LANES(type) ((int)(LANE_BYTES / sizeof(type)))
#define VECTOR_OF(type) CAT(v_, type)
#define VECTOR(type) typedef VectorOf<type, LANES(type)>::vector v_##type;
VECTOR(u8) VECTOR(u16) VECTOR(u32) VECTOR(u64)
VECTOR(i8) VECTOR(i16) VECTOR(i32) VECTOR(i64)
VECTOR(f64)
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
// As many elements as a vector of 64-bit lanes has, of a narrower type.
template <typename T>
INLINE auto load_narrow(const u8* p) {
  return load<typename VectorOf<T, LANES(u64)>::vector>(p);
}

#define SPLAT(type, x) (VECTOR_OF(type){} + (type)(x))
#define AS(type, x) as<VECTOR_OF(type)>(x)
#define AS_F64(x) as<f64>((u64)(x))
#define AS_I64(x) as<i64>((f64)(x))
#define AS_F32(x) as<f32>((u32)(x))
#define AS_U32(x) as<u32>((f32)(x))
#define LOAD(type, p) load<VECTOR_OF(type)>(p)
#define LOAD_ONE(type, p) load<type>(p)
#define LOAD_OF(space, type, p) load<type>(p)
#define WIDEN(type, p) __builtin_convertvector(load_narrow<type>(p), v_i64)
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
#else
#define COUNT_INTO(type, counter, condition) ((counter) -= AS(type, condition))
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

template <typename V>
INLINE i64 add_lanes(V v) {
  i64 total = 0;
  for (unsigned i = 0; i < sizeof v / sizeof v[0]; ++i) total += (i64)v[i];
  return total;
}
template <typename V>
INLINE auto max_lane(V v) {
  auto result = v[0];
  for (unsigned i = 1; i < sizeof v / sizeof v[0]; ++i) result = result > v[i] ? result : v[i];
  return result;
}
template <typename V>
INLINE auto min_lane(V v) {
  auto result = v[0];
  for (unsigned i = 1; i < sizeof v / sizeof v[0]; ++i) result = result < v[i] ? result : v[i];
  return result;
}
#define ADD_LANES(type, v) add_lanes(v)
#define MAX_LANE(type, v) max_lane(v)
#define MIN_LANE(type, v) min_lane(v)

// a * b + c wherever a * b is exact, so that both forms give the same bits.
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

// Products of the low 32 bits of each lane.
INLINE v_u64 multiply_32(v_u64 a, v_u64 b) {
#if LANE_BYTES == 64
  return (v_u64)_mm512_mul_epu32((__m512i)a, (__m512i)b);
#elif LANE_BYTES == 32
  return (v_u64)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
  return (v_u64)_mm_mul_epu32((__m128i)a, (__m128i)b);
#else
  return a * b;
#endif
}
INLINE v_i64 multiply_32_signed(v_i64 a, v_i64 b) {
#if LANE_BYTES == 64
  return (v_i64)_mm512_mul_epi32((__m512i)a, (__m512i)b);
#elif LANE_BYTES == 32
  return (v_i64)_mm256_mul_epi32((__m256i)a, (__m256i)b);
#else
  return a * b;
#endif
}
#define MUL_32(a, b) multiply_32(a, b)
#define MUL_32_SIGNED(a, b) multiply_32_signed(a, b)

INLINE v_f64 load_f64_float32(const u8* p) {
  return __builtin_convertvector(load_narrow<f32>(p), v_f64);
}
INLINE v_f64 load_f64_bfloat16(const u8* p) {
  using Wide = VectorOf<u32, LANES(u64)>::vector;
  using Float = VectorOf<f32, LANES(u64)>::vector;
  return __builtin_convertvector(as<Float>(__builtin_convertvector(load_narrow<u16>(p), Wide) << 16), v_f64);
}
INLINE v_f64 load_f64_float16(const u8* p) {
#if LANE_BYTES == 64
  return (v_f64)_mm512_cvtps_pd(_mm256_cvtph_ps(load<__m128i>(p)));
#elif LANE_BYTES == 32
  return (v_f64)_mm256_cvtps_pd(_mm_cvtph_ps(_mm_loadl_epi64((const __m128i*)p)));
#else
  // A float16's bits, moved to a float32's place and rebiased; a subnormal is what its exponent of
  // 2^-14 leaves above that.
  using Wide = VectorOf<u32, LANES(u64)>::vector;
  using Float = VectorOf<f32, LANES(u64)>::vector;
  const Wide bits = __builtin_convertvector(load_narrow<u16>(p), Wide);
  const Wide magnitude = (bits & 0x7fff) << 13;
  const Wide normal = magnitude + (112u << 23);
  const Wide subnormal = as<Wide>(as<Float>(magnitude + (113u << 23)) - 0x1p-14f);
  const Wide value = (magnitude < (1u << 23) ? subnormal : normal) | (bits & 0x8000) << 16;
  return __builtin_convertvector(as<Float>(value), v_f64);
#endif
}

}  // namespace
