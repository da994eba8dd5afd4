// n equal elements of a complex dtype into a partial: the definition that the folds must agree with. One text for C++ and
// OpenCL C, included once a dtype that parts are of, behind its lift.
//
// The squares of both parts are that of |x|. An element is NaN where a part is, else infinite where one is, and 0 where both
// are. An infinite one counts as positive.

// The larger size of both parts, which tells all that is counted.
INLINE UBITS larger_size(const UBITS real, const UBITS imaginary) {
  const UBITS a = real & MAGNITUDE_MASK, b = imaginary & MAGNITUDE_MASK;
  return a > b ? a : b;
}

// The square of a finite part, `n` times. What a fold of parts has added is taken back with -1.
INLINE void lift_square(WORDS i64* partial, const UBITS bits, const i64 n) {
  const UBITS size = bits & MAGNITUDE_MASK;
  const u32 exponent = (u32)(size >> MANTISSA_SHIFT);
  const u64 fraction = size & (((u64)1 << MANTISSA_SHIFT) - 1);
  const u64 mantissa = exponent == 0 ? fraction : fraction | (u64)1 << MANTISSA_SHIFT;
  deposit_squares(partial + PLACE(SQUARES), mantissa, n, 2 * (MAX(exponent, (u32)1) - 1 + FIRST_UNIT));
}

INLINE void lift_complex(WORDS i64* partial, SPACE const u8* p, const i64 n, const int needs) {
  const UBITS real = LOAD_ONE(UBITS, p), imaginary = LOAD_ONE(UBITS, p + sizeof(UBITS));
  const UBITS larger = larger_size(real, imaginary);
  if (larger > INF_SIZE) {
    ADD(partial[PARTIAL_NANS], n);
  } else if (larger == INF_SIZE) {
    ADD(partial[PARTIAL_POSITIVE_INFS], n);
  } else {
    if (larger == 0) ADD(partial[PARTIAL_ZEROS], n);
    lift_square(partial, real, n);
    lift_square(partial, imaginary, n);
  }
  (void)needs;
}

// Element number `index` into the words of precision/indices.h, of which it has those of NaN and Inf.
INLINE void lift_complex_index(i64* words, const UBITS larger, const u64 index) {
  raise_keyed_if(larger > INF_SIZE, words + INDEX_PLACE_FIRST_NAN, 0, ~(i64)index);
  raise_keyed_if(larger == INF_SIZE, words + INDEX_PLACE_FIRST_INF, 0, ~(i64)index);
}

// The `count` elements at p, of which the first is number `first`.
INLINE void lift_complex_indices(i64* words, TILE_SPACE const u8* p, const u64 count, const u64 first) {
  for (u64 i = 0; i < count; ++i) {
    TILE_SPACE const u8* element = p + 2 * i * sizeof(UBITS);
    const UBITS real = LOAD_OF(TILE_SPACE, UBITS, element);
    const UBITS imaginary = LOAD_OF(TILE_SPACE, UBITS, element + sizeof(UBITS));
    lift_complex_index(words, larger_size(real, imaginary), first + i);
  }
}
