// The vectors that precision/pair/fold_pair.h needs in addition to vectors.cl: vectors of float32 with as many lanes as those
// of u32.
typedef float16 v_f32;
#define AS_f32(x) as_float16(x)
#define MULTIPLY_ADD(a, b, c) fma(a, b, c)
#define MULTIPLY_SUBTRACT(a, b, c) fma(a, b, -(c))
LANES_16(max_lane_f32, f32, float, max)

// The number of lanes with the sign bit set.
#if defined(LONG_VECTORS) && __has_builtin(__builtin_ia32_cvtd2mask512)
typedef int ints_512 __attribute__((vector_size(64)));
#define COUNT_SIGNS(x) popcount((u32)__builtin_ia32_cvtd2mask512(__builtin_astype(x, ints_512)))
#else
#define COUNT_SIGNS(x) ((u32)ADD_LANES(u32, AS(u32, x) >> 31))
#endif

#define PAIR_BLOCK 1024  // the number of elements that are converted at a time, a multiple of GROUP

// Two tensors of one dtype other than float32 are compared by their bits: unequal elements and steps.
typedef struct {
  v_u32 steps;
  i64 unequal;
  int has_unequal;  // PAIR_FIRST_UNEQUAL is set
} pair_bits;
