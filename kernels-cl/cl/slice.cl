// The work of one work-item or work-group: fold `count` elements, from `first_byte` of the source on, into partial number
// `partial`. `bins` is where the bins of quantiles are (bins.cl), `casts` where the bounds of casts are (casts.cl). A batch has
// one workspace, which holds the slices of each launch, the partials and the bins. The kernel's arguments say where.
// kernels-cl/launch/batch.cpp fills it.
typedef struct {
  u64 first_byte, count, partial, bins, casts;
} Slice;

// If the device uses the host's pointers, source and workspace may be NULL, and the offsets are addresses.
#define POINTER(type, base, offset_bytes) ((global type*)((size_t)(base) + (size_t)(offset_bytes)))

#define WORD_COUNT PARTIAL_WORDS(FAMILY, NEEDS | SCALED_CASTS)
// The words before the counts of exponents.
#define PLAIN_WORDS (NEEDS & NEED_EXPONENTS ? (int)PLACE(EXPONENTS) : WORD_COUNT)
