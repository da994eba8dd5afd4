// What a vector of elements adds to a linear sum (precision/sums.h). One text for C++ and OpenCL C, included once a
// dtype by its fold.

#if IS_FLOAT
// Of a part of each element d, such as its upper bits, what the sum takes. A part may have either sign.
INLINE v_f64 linear_part(const v_f64 part, const v_f64 d, const int sum) {
  v_u64 bits = AS(u64, part);
  if (linear_below(sum) < 0) bits ^= AS(u64, d) & ((u64)1 << 63);
  if (linear_below(sum) == 0) bits &= ~AS(u64, AS(i64, d) >> 63);
  if (linear_above(sum) == 0) bits &= AS(u64, AS(i64, d) >> 63);
  return AS(f64, bits);
}

INLINE v_f64 linear_term(const v_f64 d, const int sum) { return linear_part(d, d, sum); }
#else
// Of the sizes |x|, those that the sum takes; 0 instead of the others. `signs` is all ones where x is below 0.
INLINE VECTOR_OF(UBITS) linear_sizes(VECTOR_OF(UBITS) sizes, const VECTOR_OF(UBITS) signs, const int sum) {
  if (linear_below(sum) == 0) sizes &= ~signs;
  if (linear_above(sum) == 0) sizes &= signs;
  return sizes;
}

// The factor of what linear_sizes leaves, in the sum.
INLINE i64 factor_of_sizes(const int sum) { return linear_of_size(sum, 1, linear_above(sum) == 0); }
#endif
