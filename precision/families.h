// How the dtypes' sums are laid out, by family. One text for C++ and OpenCL C.
//
//   Integer, Integer64  units of 1
//   Float               units of 2^-149 and 2^-298: every float32, and every float16 and bfloat16 among them
//   Double              units of 2^-1074 and 2^-2148
//
// Enough words for 2^64 elements of the largest magnitude, and for a deposit's three words.
#ifndef TENSORSTAT_PRECISION_FAMILIES_H
#define TENSORSTAT_PRECISION_FAMILIES_H

enum {
  SUM_WORDS_Integer = 5, SQUARE_WORDS_Integer = 7, SUM_EXPONENT_Integer = 0,
  SUM_WORDS_Integer64 = 5, SQUARE_WORDS_Integer64 = 7, SUM_EXPONENT_Integer64 = 0,
  SUM_WORDS_Float = 11, SQUARE_WORDS_Float = 21, SUM_EXPONENT_Float = -149,
  SUM_WORDS_Double = 69, SQUARE_WORDS_Double = 137, SUM_EXPONENT_Double = -1074,
};

#endif
