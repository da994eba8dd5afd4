// The vectors that precision/pair/fold_pair.h needs in addition to vectors.cl: vectors of float32 with as many lanes as those
// of u32.
typedef float16 v_f32;
#define AS_f32(x) as_float16(x)
#define MULTIPLY_ADD(a, b, c) fma(a, b, c)
#define MULTIPLY_SUBTRACT(a, b, c) fma(a, b, -(c))
LANES_16(max_lane_f32, f32, float, max)

// Counts of lanes with the sign bit set.
typedef v_u32 sign_count;
#define COUNT_SIGNS_INTO(count, x) ((count) += AS(u32, x) >> 31)
#define COUNTS_DIFFER(a, b) ANY(i32, AS(i32, (a) ^ (b)))
#define COUNTED_SIGNS(count) ADD_LANES(u32, count)

#define PAIR_BLOCK 1024  // the number of elements that are converted at a time, a multiple of GROUP

// Two tensors of one dtype other than float32 are compared by their bits: unequal elements and steps.
typedef struct {
  v_u32 steps;
  i64 unequal;
  int has_unequal;  // PAIR_FIRST_UNEQUAL is set
} pair_bits;
