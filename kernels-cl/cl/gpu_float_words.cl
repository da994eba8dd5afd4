// Takes TAKEN_WORDS words together. gpu_float.cl includes this text twice: for a vector, and for a step. Compilers keep an
// array in registers only if they know its length when they unroll the loops.
INLINE void OF_WORDS(add_words)(Lane* lane, const Window* window, const u32* words, const bool is_short) {
  f64 squares = as_double(SHORT_START(window));
#pragma unroll
  for (int k = 0; k < TAKEN_WORDS; ++k) {
    f64 low, high;
    NAME(values)(words[k], &low, &high);
    add_value(lane, &squares, low, is_short);
    if (HALVES) add_value(lane, &squares, high, is_short);
    if (is_short && k % 2 == 1) {
      lane->squares += as_ulong(squares) - SHORT_START(window);
      squares = as_double(SHORT_START(window));
    }
  }
}

INLINE void OF_WORDS(count_signs)(Lane* lane, const u32* words) {
#pragma unroll
  for (int k = 0; k < TAKEN_WORDS; ++k) {
    if (!HALVES) {
      lane->negatives += words[k] >> 31;
    } else if (k % 2 == 1) {
      lane->negatives = count_signs_16(lane->negatives, words[k - 1], words[k]);
    }
  }
}
// The same where some elements are zeros.
INLINE void OF_WORDS(count_signs_and_zeros)(Lane* lane, const u32* words) {
#pragma unroll
  for (int k = 0; k < TAKEN_WORDS; ++k) {
    if (!HALVES) {
      const u32 is_zero = less_one(words[k]) >> 31;
      lane->zeros += is_zero;
      lane->negatives += (words[k] >> 31) & ~is_zero;
    } else if (k % 2 == 1) {
      const u32 a = less_one(words[k - 1]), b = less_one(words[k]);  // a zero has its sign set
      lane->zeros = count_signs_16(lane->zeros, a, b);
      lane->negatives = count_signs_16(lane->negatives, words[k - 1] & ~a, words[k] & ~b);
    }
  }
}

// Takes the words; nothing, and false, if an element lies below `smallest` or above `largest`. Zeros may be among them.
INLINE bool OF_WORDS(take_words)(Lane* lane, const Window* window, const u32* words, const u32 smallest,
                                 const u32 largest, const bool is_short) {
  Bounds bounds, more;
  set_bounds(&bounds, words[0]);
#pragma unroll
  for (int k = 1; k < TAKEN_WORDS; ++k) {
    set_bounds(&more, words[k]);
    widen(&bounds, &more);
  }
  bool are_inside = none_above(&bounds, largest);
  if (!none_below(bounds.nearest, smallest)) {
    u32 least = 0xffffffff;
#pragma unroll
    for (int k = 0; k < TAKEN_WORDS; ++k) least = nearer(least, less_one(words[k]));
    are_inside &= none_below(least, smallest - 1);
  }
  if (!are_inside) return false;
  widen(&lane->bounds, &bounds);
  lane->count += (u32)TAKEN_WORDS * 4 / (u32)sizeof(UBITS);
  if (NEEDS & NEED_SIGNS) {
    if (none_below(bounds.nearest, 1)) {
      OF_WORDS(count_signs)(lane, words);
    } else {
      OF_WORDS(count_signs_and_zeros)(lane, words);
    }
  }
  if (HAS_SUMS) OF_WORDS(add_words)(lane, window, words, is_short);
  return true;
}
