// Functions on two 16-bit or four 8-bit elements in one word, which need fewer instructions for each element. They are plain
// OpenCL C. On NVIDIA's chips each is one instruction: PTX is then 10 * major + minor of the compute capability, else 0.
#ifndef PTX
#define PTX 0
#endif
#define IN_EACH_16(x) (((x) & 0xffff) * 0x00010001u)
#define SIGNS_16 0x80008000u
#define SIGNS_8 0x80808080u

#if PTX >= 90
#define PACKED(name, instruction, function, vector)                   \
  INLINE u32 name(u32 a, u32 b) {                                     \
    u32 result;                                                       \
    __asm__(instruction " %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b)); \
    return result;                                                    \
  }
#else
#define PACKED(name, instruction, function, vector) \
  INLINE u32 name(u32 a, u32 b) { return as_uint(function(as_##vector(a), as_##vector(b))); }
#endif
PACKED(max_i16x2, "max.s16x2", max, short2)
PACKED(min_i16x2, "min.s16x2", min, short2)
PACKED(max_u16x2, "max.u16x2", max, ushort2)
PACKED(min_u16x2, "min.u16x2", min, ushort2)

// The sum, plus the products of a's elements with b's.
#define AT_8(type, word, k) ((i32)(type)((word) >> 8 * (k)))
#if PTX >= 61
#define DOT_4(name, type, instruction)                                                          \
  INLINE u32 name(u32 a, u32 b, u32 sum) {                                                      \
    u32 result;                                                                                 \
    __asm__(instruction " %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(sum)); \
    return result;                                                                              \
  }
#else
#define DOT_4(name, type, instruction)                                                         \
  INLINE u32 name(u32 a, u32 b, u32 sum) {                                                     \
    return sum + (u32)(AT_8(type, a, 0) * AT_8(type, b, 0) + AT_8(type, a, 1) * AT_8(type, b, 1) + \
                       AT_8(type, a, 2) * AT_8(type, b, 2) + AT_8(type, a, 3) * AT_8(type, b, 3)); \
  }
#endif
DOT_4(dot_i8x4, i8, "dp4a.s32.s32")
DOT_4(dot_u8x4, u8, "dp4a.u32.u32")

// The sign bit of a magnitude is 0. These set it if the magnitude is not 0.
INLINE u32 nonzero_16(u32 magnitudes) { return magnitudes + 0x7fff7fff; }
INLINE u32 nonzero_8(u32 magnitudes) { return magnitudes + 0x7f7f7f7f; }

// The count, plus the number of signs that are set in the four 16-bit elements of two words, or in the four bytes of a word.
// prmt makes -1 of each sign that is set, and dp4a subtracts it.
#if PTX >= 61
#define COUNT_SIGNS(a, b, selector, count)                                                   \
  u32 counted;                                                                               \
  __asm__("{ .reg .b32 all; prmt.b32 all, %1, %2, " selector "; dp4a.s32.s32 %0, all, %3, %4; }" \
          : "=r"(counted) : "r"(a), "r"(b), "r"(0xffffffffu), "r"(count));                   \
  return counted;
INLINE u32 count_signs_16(u32 count, u32 a, u32 b) { COUNT_SIGNS(a, b, "0xfdb9", count) }
INLINE u32 count_signs_8(u32 count, u32 a) { COUNT_SIGNS(a, a, "0xba98", count) }
#else
INLINE u32 count_signs_16(u32 count, u32 a, u32 b) { return count + popcount((a & SIGNS_16) | (b & SIGNS_16) >> 1); }
INLINE u32 count_signs_8(u32 count, u32 a) { return count + popcount(a & SIGNS_8); }
#endif
