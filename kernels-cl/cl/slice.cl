// What a launch is given: `count` elements from `first_byte` of the source, to be folded into partial
// number `partial`, and into the `bins` of quantiles (bins.cl); `casts` is where the bounds of casts are (casts.cl). A batch
// has one workspace, which holds the slices of each launch, its partials and bins; a launch is told where.
// kernels-cl/launch/batch.cpp fills it.
typedef struct {
  u64 first_byte, count, partial, bins, casts;
} Slice;

// Where the device follows the host's pointers, source and workspace may be NULL, and offsets addresses.
#define POINTER(type, base, offset_bytes) ((global type*)((size_t)(base) + (size_t)(offset_bytes)))

#define WORD_COUNT PARTIAL_WORDS(FAMILY, NEEDS | SCALED_CASTS)
// Those before the counts of exponents.
#define PLAIN_WORDS (NEEDS & NEED_EXPONENTS ? (int)PLACE(EXPONENTS) : WORD_COUNT)
