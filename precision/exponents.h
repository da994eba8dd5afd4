// How large elements are: a word for each exponent, which counts the elements that have it, NaN and Inf among them. The words
// stand behind all others of a partial, and only where they are asked: there are many of them (families.h). One text for C++
// and OpenCL C.
//
// A float's exponent is the field that it is stored with: 0 of zeros and subnormals, which the count of zeros tells apart.
// An integer's is the number of bits of |x|.
#ifndef TENSORSTAT_PRECISION_EXPONENTS_H
#define TENSORSTAT_PRECISION_EXPONENTS_H

// What asks for them. ROW(id, name of the same bit in <tensorstat/partial.hpp>)
#define EXPONENT_NEED_ROWS(ROW) ROW(EXPONENTS, kExponents)

// EXPONENT_OF (formats.h) is the place of an element's word among these.
#define EXPONENTS_OF_FAMILY CAT(EXPONENTS_, FAMILY)  // how many words there are

#endif
