// The vectors of the folds in OpenCL C 1.2. host/simd/vectors.h has the same names for C++, and
// precision/fold/vector_interface.h says what each name means. There are two shapes:
//
//   SHAPE_SLICE   for a CPU: a work-item walks a slice with explicit vectors. On pocl, work-items with barriers have a tenth of
//                 the speed.
//   SHAPE_GROUP   for a GPU: a work-group walks a slice, and each work-item is a lane (kernels-cl/cl/gpu.cl).
#pragma OPENCL EXTENSION cl_khr_byte_addressable_store : enable
#ifdef FP64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#pragma OPENCL FP_CONTRACT OFF

typedef uchar u8;
typedef ushort u16;
typedef uint u32;
typedef ulong u64;
typedef char i8;
typedef short i16;
typedef int i32;
typedef long i64;
typedef float f32;

#define INLINE static inline __attribute__((always_inline))
#define NOINLINE static __attribute__((noinline))
#define UNLIKELY(condition) (condition)
#define VECTOR_OF(type) CAT(v_, type)
#define SPLAT(type, x) ((VECTOR_OF(type))((type)(x)))
#define AS(type, x) CAT(AS_, type)(x)
#define AS_F64(x) as_double((u64)(x))
#define AS_I64(x) as_long((f64)(x))
#define AS_F32(x) as_float((u32)(x))
#define AS_U32(x) as_uint((f32)(x))
#define BIT_WIDTH(x) ((u32)(64 - clz((u64)(x))))
#ifdef SHAPE_SLICE
// The floats of 16 or 8 halves. They are loaded as integers, because pocl 6 and 7 read all of them as one aligned vector in
// vload_half16, though its address needs the alignment of one half alone. Without optimisation that ends the process.
// A private copy is aligned.
INLINE float16 floats_of_16(const ushort16 halves) { return vload_half16(0, (private const half*)&halves); }
INLINE float8 floats_of_8(const ushort8 halves) { return vload_half8(0, (private const half*)&halves); }
#endif
#define LOAD_ONE(type, p) (*(SPACE const type*)(p))
#define LOAD_OF(space, type, p) (*(space const type*)(p))
#define TILE_SPACE global
#define KEY(type, bits) (AS(type, bits) ^ (VECTOR_OF(type))((AS(type, bits) >> SIGN_SHIFT) & (type)MAGNITUDE_MASK))
#define LANES(type) CAT(LANES_, type)
#ifdef FP64
typedef double f64;
#if defined(FP_FAST_FMA) || defined(__FMA__)  // pocl defines the second
#define MUL_ADD(a, b, c) fma(a, b, c)
#else
#define MUL_ADD(a, b, c) ((a) * (b) + (c))
#endif
#define ONE 1.0
#define ADD_F64(a, one, b) ((a) + (b))
#define ONLY_FINITE(d) AS(f64, AS(i64, d) & ((AS(i64, d) & (i64)0x7fffffffffffffff) < WIDENED_INFINITY))
#endif

#ifdef SHAPE_SLICE
#define SETS 2
#define SPACE global
#define WORDS
#define ADD(word, value) ((word) += (value))
#define RAISE(word, value) ((word) = max((word), (i64)(value)))
// OpenCL's vectors have at most 16 elements. AVX-512 holds two to four times as many narrow ones. clang has longer vectors,
// with operations of its own names.
#if defined(ON_CPU) && defined(__AVX512BW__) && defined(__has_builtin)
#if __has_builtin(__builtin_elementwise_max) && __has_builtin(__builtin_reduce_or)
#define LONG_VECTORS
#endif
#endif
#ifdef LONG_VECTORS
#define MAX(a, b) __builtin_elementwise_max(a, b)
#define MIN(a, b) __builtin_elementwise_min(a, b)
#else
#define MAX(a, b) max(a, b)
#define MIN(a, b) min(a, b)
#endif
// max() and min() of floats are undefined for NaN and infinities.
#define LARGER(a, b) ((a) > (b) ? (a) : (b))
#define SMALLER(a, b) ((a) < (b) ? (a) : (b))
#define COUNT_INTO(type, counter, condition) ((counter) -= AS(type, condition))
#define COUNT_OUT_OF(type, counter, condition) ((counter) += AS(type, condition))
// On pocl any() tests lane by lane.
#ifdef LONG_VECTORS
#define ANY(type, mask) (__builtin_reduce_or(mask) != 0)
#else
#define ANY(type, mask) CAT(any_, type)(mask)
#define any_i8(mask) (or_2(as_long2(mask)) != 0)
#define any_i16(mask) (or_4(as_long4(mask)) != 0)
#define any_i32(mask) (or_8(as_long8(mask)) != 0)
#define any_i64(mask) (or_8(mask) != 0)
#endif
#define ABOVE(type, a, b) ((a) > (b))
#define BELOW(type, a, b) ((a) < (b))
#define UNROLL _Pragma("unroll")
#define UNROLL_BY_2
#define ROLLED _Pragma("nounroll")
#define MUL_32(a, b) (((a) & 0xffffffffUL) * ((b) & 0xffffffffUL))
// Prefetches 8 KiB ahead. The CPU's own prefetching does not reach past the arithmetic of a group, and OpenCL's prefetch() does
// nothing on pocl. An address past the end is harmless. Without a CPU's macros the code is for a simulator, which does not have
// the instruction.
#if (defined(__SSE2__) || defined(__ARM_NEON)) && defined(__has_builtin)
#if __has_builtin(__builtin_prefetch)
#define PREFETCH(p) __builtin_prefetch((const void*)((size_t)(p) + 8192))
#endif
#endif
#ifndef PREFETCH
#define PREFETCH(p)
#endif
// value * value as two words. |value| is below 2^63.
#define SQUARE_WIDE(value, low, high) square_wide(value, &(low), &(high))
INLINE void square_wide(i64 value, u64* low, u64* high) {
#if defined(__SIZEOF_INT128__) && !defined(__SPIR__)  // on pocl mul_hi is four multiplications
  const __int128 square = (__int128)value * value;
  *low = (u64)square;
  *high = (u64)(square >> 64);
#else
  *low = (u64)(value * value);
  *high = (u64)mul_hi(value, value);
#endif
}
#define SQUARE_LOW(type, pairs) CAT(square_low_, type)(pairs)
#define square_low_u32(pairs) MUL_32(pairs, pairs)
#define square_low_i32(pairs) as_ulong8((as_long8(pairs) << 32 >> 32) * (as_long8(pairs) << 32 >> 32))
#define SUMS(type, x) CAT(sums_, type)(x)
#define SQUARE_SUMS(type, x) CAT(square_sums_, type)(x)

#define LANES_u32 16
#define LANES_u64 8
#define LANES_i64 8
#define LANES_f64 8
typedef uint16 v_u32;
typedef ulong8 v_u64;
typedef int16 v_i32;
typedef long8 v_i64;
#define AS_u32(x) as_uint16(x)
#define AS_u64(x) as_ulong8(x)
#define AS_i32(x) as_int16(x)
#define AS_i64(x) as_long8(x)
#define LOAD(type, p) CAT(LOAD_, type)((SPACE const type*)(p))
#define LOAD_u32(p) vload16(0, p)
#define LOAD_i32(p) vload16(0, p)
#define LOAD_u64(p) vload8(0, p)
#define LOAD_i64(p) vload8(0, p)

#ifdef LONG_VECTORS
#define LANES_u8 64
#define LANES_u16 32
#define LANES_f32 16
typedef uchar v_u8 __attribute__((ext_vector_type(64)));
typedef char v_i8 __attribute__((ext_vector_type(64)));
typedef ushort v_u16 __attribute__((ext_vector_type(32)));
typedef short v_i16 __attribute__((ext_vector_type(32)));
#define AS_u8(x) __builtin_astype(x, v_u8)
#define AS_i8(x) __builtin_astype(x, v_i8)
#define AS_u16(x) __builtin_astype(x, v_u16)
#define AS_i16(x) __builtin_astype(x, v_i16)
#define LOAD_u8(p) AS_u8(vload16(0, (SPACE const u32*)(p)))
#define LOAD_i8(p) AS_i8(vload16(0, (SPACE const u32*)(p)))
#define LOAD_u16(p) AS_u16(vload16(0, (SPACE const u32*)(p)))
#define LOAD_i16(p) AS_i16(vload16(0, (SPACE const u32*)(p)))
// Pairs of neighbours, as lanes of the next wider type.
#define even_i8(x) (AS_i16(x) << (short)8 >> (short)8)
#define odd_i8(x) (AS_i16(x) >> (short)8)
#define even_u8(x) (AS_u16(x) & (u16)0xff)
#define odd_u8(x) (AS_u16(x) >> (u16)8)
INLINE v_i32 sums_i16(v_i16 x) { return (AS_i32(x) << 16 >> 16) + (AS_i32(x) >> 16); }
INLINE v_u32 sums_u16(v_u16 x) { return (AS_u32(x) & 0xffffU) + (AS_u32(x) >> 16); }
INLINE v_i32 sums_i8(v_i8 x) { return sums_i16(even_i8(x) + odd_i8(x)); }
INLINE v_i32 sums_u8(v_u8 x) { return AS_i32(sums_u16(even_u8(x) + odd_u8(x))); }
INLINE v_u32 square_sums_i16(v_i16 x) {
  const v_i32 even = AS_i32(x) << 16 >> 16, odd = AS_i32(x) >> 16;
  return AS_u32(even * even) + AS_u32(odd * odd);
}
INLINE v_u32 square_sums_i8(v_i8 x) {  // two squares of 2^14 fit 16 bits
  const v_i16 even = even_i8(x), odd = odd_i8(x);
  return sums_u16(AS_u16(even * even) + AS_u16(odd * odd));
}
INLINE v_u32 square_sums_u8(v_u8 x) {
  const v_u16 even = even_u8(x), odd = odd_u8(x);
  return sums_u16(even * even) + sums_u16(odd * odd);
}
#else
#define LANES_u8 16
#define LANES_u16 16
#define LANES_f32 8
typedef uchar16 v_u8;
typedef char16 v_i8;
typedef ushort16 v_u16;
typedef short16 v_i16;
#define AS_u8(x) as_uchar16(x)
#define AS_i8(x) as_char16(x)
#define AS_u16(x) as_ushort16(x)
#define AS_i16(x) as_short16(x)
#define LOAD_u8(p) vload16(0, p)
#define LOAD_i8(p) vload16(0, p)
#define LOAD_u16(p) vload16(0, p)
#define LOAD_i16(p) vload16(0, p)
#define sums_u8(x) convert_int16(x)
#define sums_i8(x) convert_int16(x)
#define sums_i16(x) convert_int16(x)
#define square_sums_u8(x) convert_uint16(convert_ushort16(x) * convert_ushort16(x))
#define square_sums_i8(x) convert_uint16(convert_short16(x) * convert_short16(x))
#define square_sums_i16(x) as_uint16(convert_int16(x) * convert_int16(x))
#endif

// Looks up each byte of a vector in a table of 16 bytes, if the compiler has the CPU's instruction.
#if defined(LONG_VECTORS) && __has_builtin(__builtin_ia32_pshufb512)
#define LOOKS_UP 1
typedef char bytes_512 __attribute__((vector_size(64)));
INLINE v_u8 look_up(v_u8 table, v_u8 index) {
  return __builtin_astype(__builtin_ia32_pshufb512(__builtin_astype(table, bytes_512), __builtin_astype(index, bytes_512)), v_u8);
}
#define LOOK_UP(table, index) look_up(table, index)
#define ALTERNATE(a, b) ((v_u64)(a, b, a, b, a, b, a, b))
#else
#define LOOKS_UP 0
#endif

#define STORE(type, to, x) CAT(STORE_, type)(to, x)
#define STORE_u32(to, x) vstore16(x, 0, to)
#define STORE_i64(to, x) vstore8(x, 0, to)
#define STORE_f64(to, x) vstore8(x, 0, to)
// Interleaves two vectors.
#define STORE_ZIPPED(type, to, a, b) CAT(store_zipped_, type)((type*)(to), a, b)
#define ZIPPED_LANE(type, k) (k)
INLINE void store_zipped_i32(i32* to, v_i32 a, v_i32 b) {
  vstore16((int16)(a.s0, b.s0, a.s1, b.s1, a.s2, b.s2, a.s3, b.s3, a.s4, b.s4, a.s5, b.s5, a.s6, b.s6, a.s7, b.s7), 0, to);
  vstore16((int16)(a.s8, b.s8, a.s9, b.s9, a.sa, b.sa, a.sb, b.sb, a.sc, b.sc, a.sd, b.sd, a.se, b.se, a.sf, b.sf), 1, to);
}
INLINE void store_zipped_i64(i64* to, v_i64 a, v_i64 b) {
  vstore8((long8)(a.s0, b.s0, a.s1, b.s1, a.s2, b.s2, a.s3, b.s3), 0, to);
  vstore8((long8)(a.s4, b.s4, a.s5, b.s5, a.s6, b.s6, a.s7, b.s7), 1, to);
}
#define ZERO(type) ((type)(0))
typedef long2 v_i64x2;
#define FIRST_I64(v) (v).x
#define SECOND_I64(v) (v).y

// Combines a vector's halves until one lane is left.
#define LANES_16(name, type, wide, op)                                   \
  INLINE type name(wide##16 v) {                                         \
    const wide##8 a = op(v.lo, v.hi);                                    \
    const wide##4 b = op(a.lo, a.hi);                                    \
    const wide##2 c = op(b.lo, b.hi);                                    \
    return op(c.x, c.y);                                                 \
  }
#define LANES_8(name, type, wide, op)                                    \
  INLINE type name(wide##8 v) {                                          \
    const wide##4 b = op(v.lo, v.hi);                                    \
    const wide##2 c = op(b.lo, b.hi);                                    \
    return op(c.x, c.y);                                                 \
  }
#define SUM_OF(a, b) ((a) + (b))
INLINE i64 or_2(long2 v) { return v.x | v.y; }
INLINE i64 or_4(long4 v) { return or_2(v.lo | v.hi); }
INLINE i64 or_8(long8 v) { return or_4(v.lo | v.hi); }
#define EXTREMA(lanes, type, wide)            \
  lanes(max_lane_##type, type, wide, max)     \
  lanes(min_lane_##type, type, wide, min)
#ifdef LONG_VECTORS
#define max_lane_u8(v) __builtin_reduce_max(v)
#define min_lane_u8(v) __builtin_reduce_min(v)
#define max_lane_i8(v) __builtin_reduce_max(v)
#define min_lane_i8(v) __builtin_reduce_min(v)
#define max_lane_u16(v) __builtin_reduce_max(v)
#define min_lane_u16(v) __builtin_reduce_min(v)
#define max_lane_i16(v) __builtin_reduce_max(v)
#define min_lane_i16(v) __builtin_reduce_min(v)
#define ADD_LANES_u8(v) ADD_LANES_u16(even_u8(v) + odd_u8(v))
#define ADD_LANES_u16(v) ADD_LANES_u32(sums_u16(v))
#else
EXTREMA(LANES_16, u8, uchar)
EXTREMA(LANES_16, i8, char)
EXTREMA(LANES_16, u16, ushort)
EXTREMA(LANES_16, i16, short)
#define ADD_LANES_u8(v) add_16(convert_long16(v))
#define ADD_LANES_u16(v) add_16(convert_long16(v))
#endif
EXTREMA(LANES_16, u32, uint)
EXTREMA(LANES_16, i32, int)
EXTREMA(LANES_8, u64, ulong)
EXTREMA(LANES_8, i64, long)
LANES_8(add_8, i64, long, SUM_OF)
LANES_16(add_16, i64, long, SUM_OF)
#define MAX_LANE(type, v) CAT(max_lane_, type)(v)
#define MIN_LANE(type, v) CAT(min_lane_, type)(v)
#define ADD_LANES(type, v) CAT(ADD_LANES_, type)(v)
#define ADD_LANES_u32(v) add_16(convert_long16(v))
#define ADD_LANES_i32(v) add_16(convert_long16(v))
#define ADD_LANES_u64(v) add_8(as_long8(v))
#define ADD_LANES_i64(v) add_8(v)

#ifdef FP64
typedef double8 v_f64;
#define AS_f64(x) as_double8(x)
#define SMALLER_SIZE(a, b) smaller_size(a, b)
INLINE v_f64 smaller_size(v_f64 a, v_f64 b) {
  b = fabs(b);
  return a < b ? a : b;
}
// For bfloat16 the even elements come first.
#define WIDEN(to, p) CAT(WIDEN_, PART_DTYPE)(to, p)
// By 16: by 8 the kernel took 1.5 times as long on pocl.
#define WIDEN_float16(to, p)                                                               \
  {                                                                                        \
    UNROLL                                                                                 \
    for (int n = 0; n < LANES_u16; n += 16) {                                              \
      vstore16(floats_of_16(vload16(0, (SPACE const u16*)(p) + n)), 0, (to) + n);          \
    }                                                                                      \
  }
#ifdef LONG_VECTORS
#define WIDEN_bfloat16(to, p)                                          \
  {                                                                    \
    const uint16 words = vload16(0, (SPACE const u32*)(p));            \
    vstore16(as_float16(words << 16), 0, to);                          \
    vstore16(as_float16(words & 0xffff0000U), 1, to);                  \
  }
#else
#define WIDEN_bfloat16(to, p)                                        \
  {                                                                  \
    const uint8 words = vload8(0, (SPACE const u32*)(p));            \
    vstore8(as_float8(words << 16), 0, to);                          \
    vstore8(as_float8(words & 0xffff0000U), 1, to);                  \
  }
#endif
#define WIDEN_float32(to, p) {}  // not used
#define LOAD_WIDENED(p) convert_double8(vload8(0, p))
#define load_f64_float32(p) convert_double8(vload8(0, (SPACE const float*)(p)))
#define load_f64_bfloat16(p) convert_double8(as_float8(convert_uint8(vload8(0, (SPACE const u16*)(p))) << 16))
#define load_f64_float16(p) convert_double8(floats_of_8(vload8(0, (SPACE const u16*)(p))))
#endif
#endif  // SHAPE_SLICE

#ifdef SHAPE_GROUP
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
// Only the names that the lifts need. kernels-cl/cl/gpu_*.cl fold without vectors.
#define SPACE private
#define WORDS local
#define ADD(word, value) add_shared(&(word), (i64)(value))
#define RAISE(word, value) ((void)atom_max(&(word), (i64)(value)))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define MIN(a, b) ((a) < (b) ? (a) : (b))

INLINE void add_shared(local i64* word, i64 value) {
  if (value != 0) atom_add(word, value);
}
#endif  // SHAPE_GROUP
