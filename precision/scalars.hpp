// Numbers, words and loads for the texts of precision/ in C++, without vectors. vector_interface.h says what each name
// means. For .cpp files: everything has internal linkage, so that the linker never picks a function of another
// instruction set.
#pragma once

#include <stdint.h>
#include <string.h>

#define INLINE [[gnu::always_inline, maybe_unused]] static inline
#define NOINLINE [[gnu::noinline, maybe_unused]] static
#define SPACE
#define TILE_SPACE
#define WORDS
#define FP64
#define ADD(word, value) ((word) += (value))
#define RAISE(word, value) ((word) = (word) > (value) ? (word) : (value))

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
INLINE u32 bit_width(u64 x) { return x == 0 ? 0 : 64 - (u32)__builtin_clzll(x); }
#define BIT_WIDTH(x) bit_width(x)
#define LOAD_ONE(type, p) load<type>(p)
#define LOAD_OF(space, type, p) load<type>(p)
#define AS_F64(x) as<f64>((u64)(x))
#define AS_I64(x) as<i64>((f64)(x))
#define AS_F32(x) as<f32>((u32)(x))
#define AS_U32(x) as<u32>((f32)(x))

// Of numbers and of vectors of them.
template <typename T>
INLINE T larger(T a, T b) {
  return a > b ? a : b;
}
template <typename T>
INLINE T smaller(T a, T b) {
  return a < b ? a : b;
}
#define MAX(a, b) larger(a, b)
#define MIN(a, b) smaller(a, b)

}  // namespace
