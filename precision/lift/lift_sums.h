// n equal finite elements into the exact sums of a partial. One text for C++ and OpenCL C, included once a dtype by its
// lift.
//
// |x| is `size` * 2^position units, and `size` has SIZE_BITS bits at most.
#define SIZE_BITS (IS_FLOAT ? MANTISSA_BITS : BITS)

INLINE void lift_sums(WORDS i64* partial, const u64 size, const int is_negative, const i64 n, const u32 position,
                      const int needs) {
  FOR_EACH_LINEAR(if (linear_is_lifted(sum, needs)) {
    if (SIZE_BITS <= 56) {
      deposit(partial + LINEAR_OFFSET(sum), linear_of_size(sum, (i64)size * n, is_negative), position);
    } else {
      deposit_times(partial + LINEAR_OFFSET(sum), size, linear_of_size(sum, n, is_negative), position);
    }
  })
  if (SIZE_BITS <= 28) {
    deposit(partial + OFFSET(SQUARES), (i64)(size * size) * n, 2 * position);
  } else {
    deposit_squares(partial + OFFSET(SQUARES), size, n, 2 * position);
  }
}
