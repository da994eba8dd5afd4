// What follows from the columns of a dtype (dtypes.txt) and of its family (families.txt). One text for C++ and OpenCL
// C. The header of each dtype includes it after the columns, so it has no guard. Macros that depend on a column by #if
// are defined again each time.
#include "precision/names.h"

#define UBITS CAT(u, BITS)
#define SBITS CAT(i, BITS)
#define SIGN_SHIFT (8 * (int)sizeof(UBITS) - 1)
#define MAGNITUDE_MASK ((UBITS)(((UBITS)1 << SIGN_SHIFT) - 1))

// For integers: the type that orders them, and the least number of a type.
#undef ORDERED
#if IS_SIGNED
#define ORDERED SBITS
#else
#define ORDERED UBITS
#endif
#define LOWEST_OF(type) ((type)(IS_SIGNED ? (u64)1 << SIGN_SHIFT : 0))

// For floats: the bits of +Inf, or of the largest finite value if there is no Inf. TWICE_INF_BITS is twice the bits of
// Inf; if there is no Inf, it is the odd number below twice the bits of the least NaN.
#define INF_BITS ((SBITS)LARGEST)
#define TWICE_INF_BITS (2 * LARGEST + !HAS_INF)
#define MANTISSA_BITS (MANTISSA_SHIFT + 1)
#define MAX_EXPONENT ((i32)(INF_BITS >> MANTISSA_SHIFT))  // of Inf and NaN
// The bits of a binary64 that is above all finite values of a narrower type.
#define WIDENED_INFINITY ((i64)(1024 + MAX_EXPONENT / 2) << 52)

// For all dtypes. ELEMENT_SIZE: |x| as the bits of an unsigned number; NaN is larger than INF_SIZE. EXPONENT_OF: the
// exponent of exponents.h. INDEX_ORDER: a number that orders elements as max and min do, with -0 below +0; INDEX_BITS:
// the bits of such a number's element.
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

// The sizes that a cast makes 0 or brings out of range (elements.h): LOST_COUNT sizes from 1 on, and BEYOND_COUNT sizes
// from BEYOND_FIRST on. FINITE_LAST is the largest finite size.
#undef LOST_COUNT
#undef BEYOND_FIRST
#undef FINITE_LAST
#if IS_FLOAT
// The largest size that is at most 2^e. The smallest size is 2^LEAST_POWER.
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

// The type of the exponents that fold_exponents.h packs, whether it is a byte, and the exponent of NaN and Inf.
#undef EXPONENT
#undef EXPONENT_IS_BYTE
#undef EXPONENT_OF_SPECIALS
#if IS_FLOAT
#define EXPONENT_OF_SPECIALS ((u32)(MAGNITUDE_MASK >> MANTISSA_SHIFT))
#else
#define EXPONENT_OF_SPECIALS 255u  // integers have none
#endif
#if IS_FLOAT && BITS == 64
#define EXPONENT u16
#define EXPONENT_IS_BYTE 0
#else
#define EXPONENT u8
#define EXPONENT_IS_BYTE 1
#endif

// The code of an element (codes.h), given its bits; the number of codes; and the type of a code.
#undef CODE_OF
#undef CODE_TYPE
#if IS_SCALE
#define CODE_OF(bits) ((u32)(bits)-1)  // the bits are unpacked
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

// Element k of a byte, unpacked. The low half of a byte is first; of single bits the highest is first.
#define ELEMENT_BITS (8 / ELEMENTS_A_CODE)
#define ELEMENT_SHIFT(k) (ELEMENT_BITS == 1 ? 7 - (k) : (k) * ELEMENT_BITS)
#define ELEMENT_FIELD(code, k) (((u32)(code) >> ELEMENT_SHIFT(k)) & ((1u << ELEMENT_BITS) - 1))
#undef UNPACKED
#if !UNPACKS
#define UNPACKED(code, k) ((UBITS)(code))
#elif !IS_FLOAT  // the sign is extended
#define UNPACKED(code, k)           \
  ((UBITS)(ELEMENT_FIELD(code, k) | \
           (IS_SIGNED && ELEMENT_FIELD(code, k) >> (ELEMENT_BITS - 1) ? 0u - (1u << ELEMENT_BITS) : 0u)))
#elif IS_SCALE
#define UNPACKED(code, k) ((UBITS)((code) + 1))
#else
#define UNPACKED(code, k) ((UBITS)((ELEMENT_FIELD(code, k) & 7) | (ELEMENT_FIELD(code, k) & 8) << 4))
#endif
