// Lifts n equal elements into the accumulators of precision/elements.h and exponents.h. One text for C++ and OpenCL C,
// included once for each dtype.

#define LIFT_MAXIMUM(word, term) \
  if ((SBITS)(term) != (SBITS)ELEMENT_SIGN) RAISE(word, (i64)(SBITS)(term));
#define LIFT_ADDITION(word, term) \
  if (term) ADD(word, n);
#define LIFT_ELEMENT(id, merge, need, dtypes, fold, with)                    \
  if ((needs & NEED_##need) && (dtypes)) {                                   \
    LIFT_##fold(merge, partial[OFFSET(id)], ELEMENT_##id(UBITS, bits, size)) \
  }
#define LIFT_BESIDE(merge, word, term) LIFT_##merge(word, term)
#define LIFT_WITHIN(merge, word, term) RAISE(word, term);

INLINE void lift_elements(WORDS i64* partial, const UBITS bits, const i64 n, const int needs) {
  const UBITS size = ELEMENT_SIZE(bits);
  (void)size;
  (void)n;
  ELEMENT_ROWS(LIFT_ELEMENT, )
  if (needs & NEED_EXPONENTS) ADD(partial[OFFSET(EXPONENTS) + (int)EXPONENT_OF(size)], n);
}

// Raises the extrema by finite floats: `highest` and `lowest` are the keys of their extrema. highest < lowest means that
// there are none.
INLINE void raise_finite(WORDS i64* partial, const i64 highest, const i64 lowest, const int needs) {
  if (highest < lowest) return;
  if (needs & NEED_EXTREMA) raise_extrema(partial, highest, lowest);
  if (needs & NEED_FINITE) {
    RAISE(partial[OFFSET(FINITE_HIGHEST)], highest);
    RAISE(partial[OFFSET(FINITE_LOWEST)], ~lowest);
  }
}
