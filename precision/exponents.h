// How large elements are: a word for each exponent counts the elements with this exponent, NaN and Inf included. There
// are many such words (families.h). They are the last words of a partial, and exist only if they are requested. One
// text for C++ and OpenCL C.
//
// A float's exponent is its exponent field, which is 0 for zeros and subnormals; the count of zeros separates these. An
// integer's exponent is the number of bits of |x|.
#ifndef TENSORSTAT_PRECISION_EXPONENTS_H
#define TENSORSTAT_PRECISION_EXPONENTS_H

// Their need. ROW(id, its name in stats/core/engine/needs.hpp)
#define EXPONENT_NEED_ROWS(ROW) ROW(EXPONENTS, kExponents)

// EXPONENT_OF (formats.h) is the index of an element's word among these.
#define EXPONENTS_OF_FAMILY CAT(EXPONENTS_, FAMILY)  // the number of words

#endif
