// The vectors that the folds' texts are written in, for OpenCL C 1.2; host/lanes.h is the same list
// for C++. Two shapes:
//
//   SHAPE_SLICE   a work-item walks a slice with explicit vectors, as a CPU wants it: through pocl a
//                 tree of work-items with barriers read at a tenth of this.
//   SHAPE_GROUP   a work-group walks a slice, a lane a work-item, as a GPU wants it: kernels-cl/group.cl.
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
#define LOAD_ONE(type, p) (*(SPACE const type*)(p))
#define LOAD_OF(space, type, p) (*(space const type*)(p))
#define TILE_SPACE global
#define KEY(type, bits) (AS(type, bits) ^ (VECTOR_OF(type))((AS(type, bits) >> SIGN_SHIFT) & (type)MAGNITUDE_MASK))
#define LANES(type) CAT(LANES_, type)
#ifdef FP64
typedef double f64;
#if defined(FP_FAST_FMA) || defined(__FMA__)  // pocl says the second
#define MUL_ADD(a, b, c) fma(a, b, c)
#else
#define MUL_ADD(a, b, c) ((a) * (b) + (c))
#endif
#endif

#ifdef SHAPE_SLICE
#define GROUP 128
#define SETS 2
#define SPACE global
#define WORDS
#define ADD(word, value) ((word) += (value))
#define RAISE(word, value) ((word) = max((word), (i64)(value)))
#define MAX(a, b) max(a, b)
#define MIN(a, b) min(a, b)
#define COUNT_INTO(type, counter, condition) ((counter) -= AS(type, condition))
#define COUNT_OUT_OF(type, counter, condition) ((counter) += AS(type, condition))
// any() asks lane by lane through pocl.
#define ANY(type, mask) CAT(any_, type)(mask)
#define any_i16(mask) (or_4(as_long4(mask)) != 0)
#define any_i32(mask) (or_8(as_long8(mask)) != 0)
#define any_i64(mask) (or_8(mask) != 0)
#define UNROLL _Pragma("unroll")
#define UNROLL_BY_2
#define MUL_32(a, b) (((a) & 0xffffffffUL) * ((b) & 0xffffffffUL))
// Asks for what lies 8 KiB ahead. Oclgrind, whose target is SPIR, knows neither this nor 128 bits.
#ifndef __SPIR__
#define PREFETCH(p) __builtin_prefetch((p) + 8192)
#else
#define PREFETCH(p)
#endif
#define SQUARE_WIDE(value, low, high) square_wide(value, &(low), &(high))
INLINE void square_wide(i64 value, u64* low, u64* high) {
#if defined(__SIZEOF_INT128__) && !defined(__SPIR__)  // mul_hi is four multiplications through pocl
  const __int128 square = (__int128)value * value;
  *low = (u64)square;
  *high = (u64)(square >> 64);
#else
  *low = (u64)(value * value);
  *high = (u64)mul_hi(value, value);
#endif
}
#define PAIRS(x) as_ulong8(x)
#define SQUARE_LOW(type, pairs) CAT(square_low_, type)(pairs)
#define square_low_u32(pairs) MUL_32(pairs, pairs)
#define square_low_i32(pairs) as_ulong8((as_long8(pairs) << 32 >> 32) * (as_long8(pairs) << 32 >> 32))
#define SUMS(type, x) convert_int16(x)
#define SQUARE_SUMS(type, x) CAT(square_sums_, type)(x)
#define square_sums_u8(x) convert_uint16(convert_ushort16(x) * convert_ushort16(x))
#define square_sums_i8(x) convert_uint16(convert_short16(x) * convert_short16(x))
#define square_sums_i16(x) as_uint16(convert_int16(x) * convert_int16(x))

#define LANES_u8 16
#define LANES_u16 16
#define LANES_u32 16
#define LANES_u64 8
#define LANES_i64 8
#define LANES_f32 8
#define LANES_f64 8
typedef uchar16 v_u8;
typedef ushort16 v_u16;
typedef uint16 v_u32;
typedef ulong8 v_u64;
typedef char16 v_i8;
typedef short16 v_i16;
typedef int16 v_i32;
typedef long8 v_i64;
#define AS_u8(x) as_uchar16(x)
#define AS_u16(x) as_ushort16(x)
#define AS_u32(x) as_uint16(x)
#define AS_u64(x) as_ulong8(x)
#define AS_i8(x) as_char16(x)
#define AS_i16(x) as_short16(x)
#define AS_i32(x) as_int16(x)
#define AS_i64(x) as_long8(x)
#define LOAD(type, p) CAT(LOAD_, type)((SPACE const type*)(p))
#define LOAD_u8(p) vload16(0, p)
#define LOAD_i8(p) vload16(0, p)
#define LOAD_u16(p) vload16(0, p)
#define LOAD_i16(p) vload16(0, p)
#define LOAD_u32(p) vload16(0, p)
#define LOAD_i32(p) vload16(0, p)
#define LOAD_u64(p) vload8(0, p)
#define LOAD_i64(p) vload8(0, p)

// Folds a vector's halves onto each other.
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
INLINE i64 or_4(long4 v) { return (v.x | v.y) | (v.z | v.w); }
INLINE i64 or_8(long8 v) { return or_4(v.lo | v.hi); }
#define EXTREMA(lanes, type, wide)            \
  lanes(max_lane_##type, type, wide, max)     \
  lanes(min_lane_##type, type, wide, min)
EXTREMA(LANES_16, u8, uchar)
EXTREMA(LANES_16, i8, char)
EXTREMA(LANES_16, u16, ushort)
EXTREMA(LANES_16, i16, short)
EXTREMA(LANES_16, u32, uint)
EXTREMA(LANES_16, i32, int)
EXTREMA(LANES_8, u64, ulong)
EXTREMA(LANES_8, i64, long)
LANES_8(add_8, i64, long, SUM_OF)
LANES_16(add_16, i64, long, SUM_OF)
#define MAX_LANE(type, v) CAT(max_lane_, type)(v)
#define MIN_LANE(type, v) CAT(min_lane_, type)(v)
#define ADD_LANES(type, v) CAT(ADD_LANES_, type)(v)
#define ADD_LANES_u8(v) add_16(convert_long16(v))
#define ADD_LANES_u16(v) add_16(convert_long16(v))
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
// The even elements first: any order will do.
#define LOAD_PLACED(p, k) \
  convert_double8(as_float8((as_int8(vload8(0, (SPACE const u32*)(p)) << ((k) == 0 ? 16 : 0)) >> PLACED_SHIFT) & (int8)(PLACED_MASK)))
#define load_f64_float32(p) convert_double8(vload8(0, (SPACE const float*)(p)))
#define load_f64_bfloat16(p) convert_double8(as_float8(convert_uint8(vload8(0, (SPACE const u16*)(p))) << 16))
#define load_f64_float16(p) convert_double8(vload_half8(0, (SPACE const half*)(p)))
#endif
#endif  // SHAPE_SLICE

#ifdef SHAPE_GROUP
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
// Only what the lifts need: kernels-cl/group_*.cl fold lane by lane, without vectors.
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
