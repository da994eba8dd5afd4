#include "kernels-cl/cl/slice.h"

// If the device uses the host's pointers, source and workspace may be NULL, and the offsets are addresses.
#define POINTER(type, base, offset_bytes) ((global type*)((size_t)(base) + (size_t)(offset_bytes)))

#define WORD_COUNT PARTIAL_WORDS(FAMILY, NEEDS | SCALED_CASTS)
// The words before the counts of exponents.
#define PLAIN_WORDS (NEEDS & NEED_EXPONENTS ? (int)OFFSET(EXPONENTS) : WORD_COUNT)
