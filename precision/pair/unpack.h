// Reads an element as a number, for the comparison of two tensors. One text for C++ and OpenCL C, included once for
// each dtype after number.h.
#include UNPACK_TEXT

// Only for C++: in OpenCL C an inlined function that returns a struct leaves an intrinsic, which Oclgrind does not
// know.
INLINE number unpack(SPACE const u8* p) {
  number x;
  NAME(unpack_into)(&x, p);
  return x;
}
