// Macros that join names. NAME(id) is id_<dtype>; for a complex dtype <dtype> is the dtype of its parts. One text for
// C++ and OpenCL C.
#ifndef TENSORSTAT_PRECISION_NAMES_H
#define TENSORSTAT_PRECISION_NAMES_H

#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)
#define NAME(id) CAT(id##_, PART_DTYPE)

#endif
