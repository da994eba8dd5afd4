// What follows from a dtype's columns (dtypes.txt) and its family's (families.txt). One text for C++ and OpenCL C. The
// header of each dtype includes it behind its columns, so it has no guard: what depends on a column by #if is defined
// anew.
#include "precision/names.h"

#define UBITS CAT(u, BITS)
#define SBITS CAT(i, BITS)
#define SIGN_SHIFT (8 * (int)sizeof(UBITS) - 1)
#define MAGNITUDE_MASK ((UBITS)(((UBITS)1 << SIGN_SHIFT) - 1))

// Of integers: the type that orders them, and the least number of a type.
#undef ORDERED
#if IS_SIGNED
#define ORDERED SBITS
#else
#define ORDERED UBITS
#endif
#define LOWEST_OF(type) ((type)(IS_SIGNED ? (u64)1 << SIGN_SHIFT : 0))

// Of floats: the bits of +Inf, or of the largest finite value where there is no Inf. Twice those of Inf; where there is
// none, the odd number below twice the least NaN's.
#define INF_BITS ((SBITS)LARGEST)
#define TWICE_INF_BITS (2 * LARGEST + !HAS_INF)
#define MANTISSA_BITS (MANTISSA_SHIFT + 1)
#define MAX_EXPONENT ((i32)(INF_BITS >> MANTISSA_SHIFT))  // of Inf and NaN
// Bits of the binary64 above all that a narrower type's finite values become.
#define WIDENED_INFINITY ((i64)(1024 + MAX_EXPONENT / 2) << 52)

// Of any element: |x| as the bits of an unsigned number, which of a NaN is larger than INF_SIZE; the exponent that
// counts it (exponents.h); a number that orders it as max and min do, -0 below +0, NaN too; and that number's bits.
#undef ELEMENT_SIZE
#undef ELEMENT_SIZES
#undef INF_SIZE
#undef EXPONENT_OF
#undef INDEX_ORDER
#undef INDEX_BITS
#if IS_FLOAT
#define INF_SIZE ((UBITS)INF_BITS)
#define EXPONENT_OF(size) ((u32)((size) >> MANTISSA_SHIFT))
#define INDEX_ORDER(bits) ((SBITS)(bits) < 0 ? ~(i64)((bits)&MAGNITUDE_MASK) : (i64)(SBITS)(bits))
#define INDEX_BITS(order) ((UBITS)((order) < 0 ? (order) ^ (i64)MAGNITUDE_MASK : (order)))
#else
#define INF_SIZE ((UBITS) ~(UBITS)0)
#define EXPONENT_OF(size) BIT_WIDTH(size)
#endif
#if IS_FLOAT && NAN_IS_MINUS_ZERO
#define ELEMENT_SIZE(bits) ((UBITS)((bits) == 0x80 ? 0x80 : (bits)&MAGNITUDE_MASK))
#define ELEMENT_SIZES(bits) ((bits) == (u8)0x80 ? (bits) : ((bits)&MAGNITUDE_MASK))
#elif IS_FLOAT
#define ELEMENT_SIZE(bits) ((UBITS)((bits)&MAGNITUDE_MASK))
#define ELEMENT_SIZES(bits) ((bits)&MAGNITUDE_MASK)
#elif IS_BOOL
#define ELEMENT_SIZE(bits) ((UBITS)((bits) != 0))
#define ELEMENT_SIZES(bits) ((VECTOR_OF(UBITS))(AS(UBITS, (bits) != (UBITS)0) & (UBITS)1))
#define INDEX_ORDER(bits) ((i64)((bits) != 0))
#define INDEX_BITS(order) ((UBITS)(order))
#else
#define ELEMENT_SIZE(bits) ((UBITS)(IS_SIGNED && (SBITS)(bits) < 0 ? 0 - (bits) : (bits)))
#define ELEMENT_SIZES(bits) (IS_SIGNED ? (((bits) ^ ELEMENT_SIGNS(bits)) - ELEMENT_SIGNS(bits)) : (bits))
#define ELEMENT_SIGNS(bits) AS(UBITS, AS(SBITS, bits) < (SBITS)0)
#if BITS == 64
#define KEY_FLIP (IS_SIGNED ? (i64)0 : PARTIAL_NO_KEY)  // orders uint64 as a signed key
#define INDEX_ORDER(bits) ((i64)(bits) ^ KEY_FLIP)
#define INDEX_BITS(order) ((UBITS)((order) ^ KEY_FLIP))
#else
#define INDEX_ORDER(bits) ((i64)(ORDERED)(bits))
#define INDEX_BITS(order) ((UBITS)(order))
#endif
#endif

// What a cast loses and brings out of range (elements.h), as ranges of sizes: LOST_COUNT of them from 1 on,
// BEYOND_COUNT from BEYOND_FIRST on; and the largest finite size.
#undef LOST_COUNT
#undef BEYOND_FIRST
#undef FINITE_LAST
#if IS_FLOAT
// The size below or at 2^e, given that the least one is 2^LEAST_POWER.
#define LEAST_POWER (FIRST_UNIT + (int)CAT(SUM_EXPONENT_, FAMILY))
#define SIZE_OF_POWER(e)                                                     \
  ((e) < LEAST_POWER                    ? (u64)0                             \
   : (e) < LEAST_POWER + MANTISSA_SHIFT ? (u64)1 << (((e)-LEAST_POWER) & 63) \
                                        : (u64)((e)-LEAST_POWER - MANTISSA_SHIFT + 1) << MANTISSA_SHIFT)
#define LOST_COUNT(id) SIZE_OF_POWER(CAST_ZERO_##id)
#define BEYOND_FIRST(id)                                                                                  \
  (SIZE_OF_POWER(CAST_EXPONENT_##id) +                                                                    \
   (MANTISSA_SHIFT < CAST_BITS_##id                                                                       \
        ? ((u64)CAST_ONES_##id >> ((CAST_BITS_##id - MANTISSA_SHIFT) & 63)) + 1 /* the tie is no value */ \
        : ((u64)CAST_ONES_##id << ((MANTISSA_SHIFT - CAST_BITS_##id) & 63)) + (u64)CAST_STAYS_##id))
#define FINITE_LAST ((u64)INF_SIZE - (HAS_INF ? 1 : 0))
#else
#define LOST_COUNT(id) ((u64)0)
#define BEYOND_FIRST(id) /* 0: no integer is so large */                                                   \
  (CAST_EXPONENT_##id > 63                                                                                 \
       ? (u64)0                                                                                            \
       : ((((u64)1 << CAST_BITS_##id) + CAST_ONES_##id) << ((CAST_EXPONENT_##id - CAST_BITS_##id) & 63)) + \
             (u64)CAST_STAYS_##id)
#define FINITE_LAST (IS_BOOL ? (u64)1 : (IS_SIGNED ? (u64)1 << SIGN_SHIFT : (u64)(UBITS) ~(UBITS)0))
#endif
#define BEYOND_COUNT(id) (BEYOND_FIRST(id) - 1 < FINITE_LAST ? FINITE_LAST - (BEYOND_FIRST(id) - 1) : (u64)0)

// The exponents of a block as fold_exponents.h packs them: their type, whether it is a byte, and the exponent of NaN
// and Inf.
#undef EXPONENT
#undef EXPONENT_IS_BYTE
#undef EXPONENT_OF_SPECIALS
#if IS_FLOAT
#define EXPONENT_OF_SPECIALS ((u32)(MAGNITUDE_MASK >> MANTISSA_SHIFT))
#else
#define EXPONENT_OF_SPECIALS 255u  // of integers none
#endif
#if IS_FLOAT && BITS == 64
#define EXPONENT u16
#define EXPONENT_IS_BYTE 0
#else
#define EXPONENT u8
#define EXPONENT_IS_BYTE 1
#endif

// The code of an element (codes.h), given its bits; how many codes there are, and the type that holds one.
#undef CODE_OF
#undef CODE_TYPE
#if IS_SCALE
#define CODE_OF(bits) ((u32)(bits)-1)  // an element's bits are unpacked
#elif IS_FLOAT && !IS_CODED
#define CODE_OF(bits) ((u32)((bits) >> CODE_SHIFT_OF_FLOAT(sizeof(UBITS))))
#elif BITS == 64
#define CODE_OF(bits) code_of_whole64(bits, SIGNS_OF((u32)((u64)(bits) >> 32)))
#elif BITS == 32
#define CODE_OF(bits) code_of_whole32((u32)(bits), SIGNS_OF((u32)(bits)))
#else
#define CODE_OF(bits) ((u32)(bits))
#endif
#define CODE_COUNT ((u32)1 << CODE_BITS)
#if CODE_BITS > 16
#define CODE_TYPE u32
#else
#define CODE_TYPE u16
#endif

// Of a byte, one of 256 codes: number k of the elements that it holds, unpacked. The low half is first, and of single
// bits the highest.
#define ELEMENT_BITS (8 / ELEMENTS_A_CODE)
#define ELEMENT_SHIFT(k) (ELEMENT_BITS == 1 ? 7 - (k) : (k) * ELEMENT_BITS)
#define ELEMENT_FIELD(code, k) (((u32)(code) >> ELEMENT_SHIFT(k)) & ((1u << ELEMENT_BITS) - 1))
#undef UNPACKED
#if !UNPACKS
#define UNPACKED(code, k) ((UBITS)(code))
#elif !IS_FLOAT  // a sign goes into all bits above it
#define UNPACKED(code, k)           \
  ((UBITS)(ELEMENT_FIELD(code, k) | \
           (IS_SIGNED && ELEMENT_FIELD(code, k) >> (ELEMENT_BITS - 1) ? 0u - (1u << ELEMENT_BITS) : 0u)))
#elif IS_SCALE
#define UNPACKED(code, k) ((UBITS)((code) + 1))
#else
#define UNPACKED(code, k) ((UBITS)((ELEMENT_FIELD(code, k) & 7) | (ELEMENT_FIELD(code, k) & 8) << 4))
#endif
