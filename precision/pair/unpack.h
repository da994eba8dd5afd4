// An element as a number: how every dtype enters a pair. One text for C++ and OpenCL C, included once a dtype behind
// number.h.
#include UNPACK_TEXT

// A function that returns a struct and is inlined leaves an intrinsic behind that Oclgrind does not know: for C++ alone.
INLINE number unpack(SPACE const u8* p) {
  number x;
  NAME(unpack_into)(&x, p);
  return x;
}
