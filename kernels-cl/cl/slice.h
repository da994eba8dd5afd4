// What a launch is given for each slice, for C++ and OpenCL C. A batch has one workspace, which holds the slices of
// each launch, its partials and its bins; a launch is told where. kernels-cl/launch/batch_layout.cpp fills it.
// Includers define u64.

// `count` elements from `first_byte` of the source are folded into partial number `partial`, and into the `bins` of
// quantiles (bins.cl). The bounds of casts are at `casts` (casts.cl).
typedef struct {
  u64 first_byte, count, partial, bins, casts;
} Slice;

// `count` elements from `first_a` of one source and from `first_b` of the other are folded into partial number
// `partial`. The first of them has the index `first_element`.
typedef struct {
  u64 first_a, first_b, count, first_element, partial;
} PairSlice;
