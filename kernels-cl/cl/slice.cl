#include "kernels-cl/cl/slice.h"

// Where the device follows the host's pointers, source and workspace may be NULL, and offsets addresses.
#define POINTER(type, base, offset_bytes) ((global type*)((size_t)(base) + (size_t)(offset_bytes)))

#define WORD_COUNT PARTIAL_WORDS(FAMILY, NEEDS | SCALED_CASTS)
// Those before the counts of exponents.
#define PLAIN_WORDS (NEEDS & NEED_EXPONENTS ? (int)PLACE(EXPONENTS) : WORD_COUNT)
