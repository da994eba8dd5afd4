// How each dtype is stored, as the folds' texts need to know it. One text for C++ and OpenCL C.
//
// A text is written once for its family and included once a dtype, with DTYPE naming the row; the
// columns below expand lazily, so nothing has to be undefined in between.
#ifndef TENSORSTAT_PRECISION_FORMATS_H
#define TENSORSTAT_PRECISION_FORMATS_H

#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)
#define NAME(id) CAT(id##_, DTYPE)
#define CALL(f, ...) f(__VA_ARGS__)
#define COLUMN(n) CALL(CAT(COLUMN_, n), CAT(FORMAT_, DTYPE))
#define COLUMN_0(a, ...) a
#define COLUMN_1(a, ...) COLUMN_0(__VA_ARGS__)
#define COLUMN_2(a, ...) COLUMN_1(__VA_ARGS__)
#define COLUMN_3(a, ...) COLUMN_2(__VA_ARGS__)
#define COLUMN_4(a, ...) COLUMN_3(__VA_ARGS__)
#define COLUMN_5(a, ...) COLUMN_4(__VA_ARGS__)
#define COLUMN_6(a, ...) COLUMN_5(__VA_ARGS__)
#define COLUMN_7(a, ...) COLUMN_6(__VA_ARGS__)
#define COLUMN_8(a, ...) COLUMN_7(__VA_ARGS__)
#define COLUMN_9(a, ...) COLUMN_8(__VA_ARGS__)
#define COLUMN_10(a, ...) COLUMN_9(__VA_ARGS__)
#define COLUMN_11(a, ...) COLUMN_10(__VA_ARGS__)
#define COLUMN_12(a, ...) COLUMN_11(__VA_ARGS__)
#define COLUMN_13(a, ...) COLUMN_12(__VA_ARGS__)
#define COLUMN_14(a, ...) COLUMN_13(__VA_ARGS__)
#define COLUMN_15(a, ...) COLUMN_14(__VA_ARGS__)
#define COLUMN_16(a, ...) COLUMN_15(__VA_ARGS__)
#define COLUMN_17(a, ...) COLUMN_16(__VA_ARGS__)
#define COLUMN_18(a, ...) COLUMN_17(__VA_ARGS__)
#define COLUMN_19(a, ...) COLUMN_18(__VA_ARGS__)
#define COLUMN_20(a, ...) COLUMN_19(__VA_ARGS__)
#define COLUMN_21(a, ...) COLUMN_20(__VA_ARGS__)
#define COLUMN_22(a, ...) COLUMN_21(__VA_ARGS__)
#define COLUMN_23(a, ...) COLUMN_22(__VA_ARGS__)
#define COLUMN_24(a, ...) COLUMN_23(__VA_ARGS__)
#define COLUMN_25(a, ...) COLUMN_24(__VA_ARGS__)
#define COLUMN_26(a, ...) COLUMN_25(__VA_ARGS__)
#define COLUMN_27(a, ...) COLUMN_26(__VA_ARGS__)
#define COLUMN_28(a, ...) COLUMN_27(__VA_ARGS__)
#define COLUMN_29(a, ...) COLUMN_28(__VA_ARGS__)
#define COLUMN_30(a, ...) COLUMN_29(__VA_ARGS__)
#define COLUMN_31(a, ...) COLUMN_30(__VA_ARGS__)

// The family says how many words the sums take (families.h), which texts lift and fold it, and whether it has a `low`.
#define FAMILY COLUMN(0)
#define FAMILY_OF(name) CALL(COLUMN_0, FORMAT_##name)  // of another dtype than DTYPE
#define LIFT_TEXT CAT(LIFT_TEXT_, FAMILY)
#define FOLD_TEXT CAT(FOLD_TEXT_, FAMILY)
#define LIFT_TEXT_Integer "precision/lift/lift_integer.h"
#define FOLD_TEXT_Integer "precision/fold/fold_integer.h"
#define LIFT_TEXT_Integer64 "precision/lift/lift_integer64.h"
#define FOLD_TEXT_Integer64 "precision/fold/fold_integer64.h"
#define LIFT_TEXT_Float "precision/lift/lift_float.h"
#define FOLD_TEXT_Float "precision/fold/fold_windowed.h"
#define LIFT_TEXT_Double "precision/lift/lift_double.h"
#define FOLD_TEXT_Double "precision/fold/fold_double.h"
#define LIFT_TEXT_Coded "precision/lift/lift_coded.h"
#define FOLD_TEXT_Coded "precision/fold/fold_coded.h"
#define LIFT_TEXT_Scale LIFT_TEXT_Coded
#define FOLD_TEXT_Scale "precision/fold/fold_unpacked.h"
#define LIFT_TEXT_PackedFloat LIFT_TEXT_Coded
#define FOLD_TEXT_PackedFloat FOLD_TEXT_Scale
#define LIFT_TEXT_PackedInteger LIFT_TEXT_Coded
#define FOLD_TEXT_PackedInteger FOLD_TEXT_Scale
// Whether a family has NaN and Inf.
#define IS_FLOAT CAT(IS_FLOAT_, FAMILY)
#define IS_FLOAT_Integer 0
#define IS_FLOAT_Integer64 0
#define IS_FLOAT_Float 1
#define IS_FLOAT_Double 1
#define IS_FLOAT_Coded 1
#define IS_FLOAT_Scale 1
#define IS_FLOAT_PackedFloat 1
#define IS_FLOAT_PackedInteger 0
// Whether it has a `low` (precision/low/): sums held in the dtype's own arithmetic. Where it has none, `low` is `high`.
#define HAS_LOW CAT(HAS_LOW_, FAMILY)
#define HAS_LOW_OF(name) CAT(HAS_LOW_OF_PARTS_, IS_COMPLEX_OF(name))(name)
#define HAS_LOW_OF_PARTS_0(name) CAT(HAS_LOW_, FAMILY_OF(name))
#define HAS_LOW_OF_PARTS_1(name) 0
#define HAS_LOW_Integer 0
#define HAS_LOW_Integer64 0
#define HAS_LOW_Float 1
#define HAS_LOW_Double 1
#define HAS_LOW_Coded 0
#define HAS_LOW_Scale 0
#define HAS_LOW_PackedFloat 0
#define HAS_LOW_PackedInteger 0
// Whether the words of elements.h have a fold of their own beside the family's; else the family's lifts all.
#define FOLDS_ELEMENTS CAT(FOLDS_ELEMENTS_, FAMILY)
#define FOLDS_ELEMENTS_Integer 1
#define FOLDS_ELEMENTS_Integer64 1
#define FOLDS_ELEMENTS_Float 1
#define FOLDS_ELEMENTS_Double 1
#define FOLDS_ELEMENTS_Coded 0
#define FOLDS_ELEMENTS_Scale 0
#define FOLDS_ELEMENTS_PackedFloat 0
#define FOLDS_ELEMENTS_PackedInteger 0
// Whether a fold asks for what lies ahead with each vector, or leaves it to whoever walks.
#define ASKS_AHEAD CAT(ASKS_AHEAD_, FAMILY)
#define ASKS_AHEAD_Integer 0
#define ASKS_AHEAD_Integer64 0
#define ASKS_AHEAD_Float 0
#define ASKS_AHEAD_Double 1
#define ASKS_AHEAD_Coded 0
#define ASKS_AHEAD_Scale 0
#define ASKS_AHEAD_PackedFloat 0
#define ASKS_AHEAD_PackedInteger 0
// Whether what is stored is a byte of which elements have to be made first: UNPACKED, below. Such a dtype is counted by its
// bytes, which are one of 256 codes, and its other columns are of the elements that come of them.
#define UNPACKS CAT(UNPACKS_, FAMILY)
#define UNPACKS_OF(name) CAT(UNPACKS_, FAMILY_OF(name))
#define UNPACKS_Integer 0
#define UNPACKS_Integer64 0
#define UNPACKS_Float 0
#define UNPACKS_Double 0
#define UNPACKS_Coded 0
#define UNPACKS_Scale 1
#define UNPACKS_PackedFloat 1
#define UNPACKS_PackedInteger 1
#define UBITS COLUMN(1)
#define SBITS COLUMN(2)

// Integers: family, unsigned and signed type of its size, the type that orders it, whether that one is
// signed, whether any non-zero byte is 1, the type that it is multiplied in.
#define FORMAT_bool Integer, u8, i8, u8, 0, 1, u8
#define FORMAT_int8 Integer, u8, i8, i8, 1, 0, i8
#define FORMAT_int16 Integer, u16, i16, i16, 1, 0, i16
#define FORMAT_int32 Integer, u32, i32, i32, 1, 0, i32
#define FORMAT_int64 Integer64, u64, i64, i64, 1, 0
#define FORMAT_uint8 Integer, u8, i8, u8, 0, 0, u8
#define FORMAT_uint16 Integer, u16, i16, u16, 0, 0, i16
#define FORMAT_uint32 Integer, u32, i32, u32, 0, 0, u32
#define FORMAT_uint64 Integer64, u64, i64, u64, 0, 0
// Packed integers: the same, and how many share a byte. Unpacked, an element has a byte of its own.
#define FORMAT_int4 PackedInteger, u8, i8, i8, 1, 0, i8, 2
#define FORMAT_uint4 PackedInteger, u8, i8, u8, 0, 0, u8, 2
#define FORMAT_uint1 PackedInteger, u8, i8, u8, 0, 0, u8, 8
#define ORDERED COLUMN(3)
#define IS_SIGNED COLUMN(4)
#define IS_BOOL COLUMN(5)
#define FACTOR COLUMN(6)
#define LOWEST_OF(type) ((type)(IS_SIGNED ? (u64)1 << SIGN_SHIFT : 0))

// Floats: family, unsigned and signed type of its size, bits of +Inf, stored bits of the mantissa, and
// the place of its smallest positive value: 2^FIRST_UNIT of the family's units.
#define FORMAT_float16 Float, u16, i16, 0x7c00, 10, 125
#define FORMAT_bfloat16 Float, u16, i16, 0x7f80, 7, 16
#define FORMAT_float32 Float, u32, i32, 0x7f800000, 23, 0
#define FORMAT_float64 Double, u64, i64, 0x7ff0000000000000, 52, 0
#define INF_BITS ((SBITS)COLUMN(3))

// 8-bit floats: the same, but twice the bits of +Inf, or where there is none the odd number below twice the least
// NaN's; and whether the code 0x80 is the only NaN. OCP's float8 (e4m3fn has no Inf), and Graphcore's and AMD's
// "fnuz", which have neither Inf nor -0.
#define FORMAT_float8_e4m3fn Coded, u8, i8, 0xfd, 3, 8, 0, 1
#define FORMAT_float8_e5m2 Coded, u8, i8, 0xf8, 2, 1, 0, 1
#define FORMAT_float8_e4m3fnuz Coded, u8, i8, 0xff, 3, 7, 1, 1
#define FORMAT_float8_e5m2fnuz Coded, u8, i8, 0xff, 2, 0, 1, 1
// OCP's e8m0 is 2^(code - 127), and NaN of the code 255: no sign, no 0, no Inf, no subnormals. Unpacked it has 16 bits, code
// + 1, which is an exponent without a mantissa and leaves 0 free. Its e2m1 has neither NaN nor Inf; unpacked, its sign is
// the highest bit.
#define FORMAT_float8_e8m0fnu Scale, u16, i16, 0x1ff, 0, 22, 0, 1
#define FORMAT_float4_e2m1fn PackedFloat, u8, i8, 0xf, 1, 16, 0, 2
#define TWICE_INF_BITS COLUMN(3)
#define NEGATIVE_ZERO_IS_NAN COLUMN(6)

// Of a byte, one of 256 codes: how many elements it holds, and number k of them. The low half is first, and of single
// bits the highest.
#define ELEMENTS_A_CODE COLUMN(7)
#define ELEMENT_BITS (8 / ELEMENTS_A_CODE)
#define ELEMENT_SHIFT(k) (ELEMENT_BITS == 1 ? 7 - (k) : (k) * ELEMENT_BITS)
#define ELEMENT_FIELD(code, k) (((u32)(code) >> ELEMENT_SHIFT(k)) & ((1u << ELEMENT_BITS) - 1))
#define UNPACKED(code, k) CAT(UNPACKED_, FAMILY)(code, k)
#define UNPACKED_Coded(code, k) ((UBITS)(code))
#define UNPACKED_Scale(code, k) ((UBITS)((code) + 1))
#define UNPACKED_PackedFloat(code, k) ((UBITS)((ELEMENT_FIELD(code, k) & 7) | (ELEMENT_FIELD(code, k) & 8) << 4))
// A sign goes into all bits above it.
#define UNPACKED_PackedInteger(code, k) \
  ((UBITS)(ELEMENT_FIELD(code, k) | (IS_SIGNED && ELEMENT_FIELD(code, k) >> (ELEMENT_BITS - 1) ? 0u - (1u << ELEMENT_BITS) : 0u)))

// Complex dtypes: two parts of a real dtype, whose columns these are, and a row for IS_COMPLEX_OF and PART_OF. No text is
// included for them, but one more for the dtypes of parts (IS_PART): precision/lift/lift_complex.h.
#define FORMAT_complex64 FORMAT_float32
#define FORMAT_complex128 FORMAT_float64
#define COMPLEX_complex64 ~, 1, float32
#define COMPLEX_complex128 ~, 1, float64
#define IS_COMPLEX_OF(name) CALL(COLUMN_1, COMPLEX_##name, 0, name, ~)
#define IS_COMPLEX IS_COMPLEX_AS(DTYPE)
#define IS_COMPLEX_AS(name) IS_COMPLEX_OF(name)
#define PART_OF(name) CALL(COLUMN_2, COMPLEX_##name, 0, name, ~)  // of a real dtype, itself
#define IS_PART CAT(IS_PART_, DTYPE)  // for #if, where a name that is not defined is 0
#define IS_PART_float32 1
#define IS_PART_float64 1

// |x| of +Inf as the bits of an unsigned number, or of the largest finite value where there is no Inf: what is larger is
// a NaN. And whether the code of -0 is the only NaN.
#define INF_SIZE CAT(INF_SIZE_, FAMILY)()
#define INF_SIZE_Integer() ((UBITS)~(UBITS)0)
#define INF_SIZE_Integer64() INF_SIZE_Integer()
#define INF_SIZE_Float() ((UBITS)INF_BITS)
#define INF_SIZE_Double() INF_SIZE_Float()
#define INF_SIZE_Coded() ((UBITS)(TWICE_INF_BITS / 2))
#define INF_SIZE_Scale() INF_SIZE_Coded()
#define INF_SIZE_PackedFloat() INF_SIZE_Coded()
#define INF_SIZE_PackedInteger() INF_SIZE_Integer()
#define HAS_INF CAT(HAS_INF_, FAMILY)()
#define HAS_INF_Integer() 0
#define HAS_INF_Integer64() 0
#define HAS_INF_Float() 1
#define HAS_INF_Double() 1
#define HAS_INF_Coded() (TWICE_INF_BITS % 2 == 0)
#define HAS_INF_Scale() 0
#define HAS_INF_PackedFloat() 0
#define HAS_INF_PackedInteger() 0
#define NAN_IS_MINUS_ZERO CAT(NAN_IS_MINUS_ZERO_, FAMILY)()
#define NAN_IS_MINUS_ZERO_Integer() 0
#define NAN_IS_MINUS_ZERO_Integer64() 0
#define NAN_IS_MINUS_ZERO_Float() 0
#define NAN_IS_MINUS_ZERO_Double() 0
#define NAN_IS_MINUS_ZERO_Coded() NEGATIVE_ZERO_IS_NAN
#define NAN_IS_MINUS_ZERO_Scale() 0
#define NAN_IS_MINUS_ZERO_PackedFloat() 0
#define NAN_IS_MINUS_ZERO_PackedInteger() 0

#define MANTISSA_SHIFT COLUMN(4)
#define FIRST_UNIT COLUMN(5)
#define MANTISSA_BITS (MANTISSA_SHIFT + 1)
#define SIGN_SHIFT (8 * (int)sizeof(UBITS) - 1)
#define MAGNITUDE_MASK ((UBITS)(((UBITS)1 << SIGN_SHIFT) - 1))
#define MAX_EXPONENT ((i32)(INF_BITS >> MANTISSA_SHIFT))  // of Inf and NaN
// Bits of the binary64 above all that a narrower type's finite values become.
#define WIDENED_INFINITY ((i64)(1024 + MAX_EXPONENT / 2) << 52)

#endif
