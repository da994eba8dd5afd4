// Names that are put together from others. NAME(id) is id_<dtype>; of a complex dtype that of its parts. One text for
// C++ and OpenCL C.
#ifndef TENSORSTAT_PRECISION_NAMES_H
#define TENSORSTAT_PRECISION_NAMES_H

#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)
#define NAME(id) CAT(id##_, PART_DTYPE)

#endif
