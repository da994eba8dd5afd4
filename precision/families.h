// The families of dtypes, and how their sums are laid out. One text for C++ and OpenCL C.
//
// ROW(family, words of a sum, words of a sum of squares, exponent of a sum's unit, exponents that elements have)
//   Integer, Integer64  units of 1
//   Float               units of 2^-149 and 2^-298: every float32, and every float16 and bfloat16 among them
//   Double              units of 2^-1074 and 2^-2148
//   Coded               units of 2^-17 and 2^-34: every 8-bit float but e8m0, which is one of 256 codes
//   Scale               units of 2^-149 and 2^-298: e8m0, from 2^-127 to 2^127
//   PackedFloat         units of 2^-17 and 2^-34: e2m1
//   PackedInteger       units of 1: integers of 4 bits and of 1
//
// Enough words for 2^64 elements of the largest magnitude, and for a deposit's three words.
#ifndef TENSORSTAT_PRECISION_FAMILIES_H
#define TENSORSTAT_PRECISION_FAMILIES_H

#define FAMILIES(ROW)               \
  ROW(Integer, 5, 7, 0, 33)         \
  ROW(Integer64, 5, 7, 0, 65)       \
  ROW(Float, 11, 21, -149, 256)     \
  ROW(Double, 69, 137, -1074, 2048) \
  ROW(Coded, 5, 7, -17, 33)         \
  ROW(Scale, 11, 21, -149, 257)     \
  ROW(PackedFloat, 5, 7, -17, 33)   \
  ROW(PackedInteger, 5, 7, 0, 33)

// SUM_WORDS_Float and the like; a text finds its own family's by CAT(SUM_WORDS_, FAMILY).
#define FAMILY_ENUM(family, sum_words, square_words, sum_exponent, exponents)                                  \
  SUM_WORDS_##family = sum_words, SQUARE_WORDS_##family = square_words, SUM_EXPONENT_##family = sum_exponent, \
  EXPONENTS_##family = exponents,
enum { FAMILIES(FAMILY_ENUM) };
#undef FAMILY_ENUM

#endif
