// Lifts n equal elements of a complex dtype. The folds must agree with it. One text for C++ and OpenCL C, included once
// for each dtype of parts, after its lift.
//
// |x|^2 is the sum of the squares of both parts. An element is NaN if a part is NaN, else infinite if a part is
// infinite. It is 0 if both parts are 0. An infinite element counts as positive.

// The larger size of both parts. It decides what the element counts as.
INLINE UBITS larger_size(const UBITS real, const UBITS imaginary) {
  const UBITS a = real & MAGNITUDE_MASK, b = imaginary & MAGNITUDE_MASK;
  return a > b ? a : b;
}

// Adds the square of a finite part `n` times. -1 subtracts what a fold of parts has added.
INLINE void lift_square(WORDS i64* partial, const UBITS bits, const i64 n) {
  const UBITS size = bits & MAGNITUDE_MASK;
  const u32 exponent = (u32)(size >> MANTISSA_SHIFT);
  const u64 fraction = size & (((u64)1 << MANTISSA_SHIFT) - 1);
  const u64 mantissa = exponent == 0 ? fraction : fraction | (u64)1 << MANTISSA_SHIFT;
  deposit_squares(partial + OFFSET(SQUARES), mantissa, n, 2 * (MAX(exponent, (u32)1) - 1 + FIRST_UNIT));
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

// Lifts element `index` into the words of precision/indices.h. Complex dtypes have only the indices of NaN and Inf.
INLINE void lift_complex_index(i64* words, const UBITS larger, const u64 index) {
  raise_keyed_if(larger > INF_SIZE, words + INDEX_WORD_FIRST_NAN, 0, ~(i64)index);
  raise_keyed_if(larger == INF_SIZE, words + INDEX_WORD_FIRST_INF, 0, ~(i64)index);
}

// Lifts the `count` elements at p. The first one is element `first`.
INLINE void lift_complex_indices(i64* words, TILE_SPACE const u8* p, const u64 count, const u64 first) {
  for (u64 i = 0; i < count; ++i) {
    TILE_SPACE const u8* element = p + 2 * i * sizeof(UBITS);
    const UBITS real = LOAD_OF(TILE_SPACE, UBITS, element);
    const UBITS imaginary = LOAD_OF(TILE_SPACE, UBITS, element + sizeof(UBITS));
    lift_complex_index(words, larger_size(real, imaginary), first + i);
  }
}
