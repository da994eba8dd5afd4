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

// Of an element's size as elements.h has it: the place of its word among these.
#define EXPONENT_OF(size) CAT(EXPONENT_OF_, FAMILY)(size)
#define EXPONENT_OF_Integer(size) BIT_WIDTH(size)
#define EXPONENT_OF_Integer64(size) BIT_WIDTH(size)
#define EXPONENT_OF_Float(size) ((u32)((size) >> MANTISSA_SHIFT))
#define EXPONENT_OF_Double(size) EXPONENT_OF_Float(size)
#define EXPONENT_OF_Coded(size) EXPONENT_OF_Float(size)
#define EXPONENT_OF_Scale(size) EXPONENT_OF_Float(size)
#define EXPONENT_OF_PackedFloat(size) EXPONENT_OF_Float(size)
#define EXPONENT_OF_PackedInteger(size) EXPONENT_OF_Integer(size)

#define EXPONENTS_OF_FAMILY CAT(EXPONENTS_, FAMILY)  // how many words there are

#endif
