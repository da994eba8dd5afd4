// The fold of the words of precision/exponents.h, for families with FOLDS_ELEMENTS. It reads a block again, after the
// family's fold and while the block is in the nearest cache. One text for C++ and OpenCL C, included once for each
// dtype after fold_elements.h.
//
// Exponents of real data cluster, and an integer has few. If vectors can be looked up in tables of 16 bytes, the
// exponents of a block are packed, and EXPONENT_WINDOW consecutive exponents are counted at once. Each of eight tables
// is for two exponents: it gives 1 for the one and 16 for the other, so that a byte counts both. Blocks that need more
// than EXPONENT_WINDOWS such ranges, or hold NaN or Inf, are counted in memory element by element; without tables, all
// blocks are. Neighbours go to different copies, so that an addition seldom waits for the one before.
#define EXPONENT_COPIES (IS_FLOAT && sizeof(UBITS) == 8 ? 2 : 4)
#define EXPONENT_WINDOW 16
#define EXPONENT_WINDOWS 4
#define PACKS_EXPONENTS (LOOKS_UP && FOLDS_ELEMENTS)

typedef struct {
  u32 bins[EXPONENT_COPIES][EXPONENTS_OF_FAMILY];
  u32 binned;  // the number of elements in `bins`; 0: these are not cleared yet
#if PACKS_EXPONENTS
  v_u8 lanes[EXPONENT_WINDOWS][EXPONENT_WINDOW];  // [w][i] counts the exponent `top` - 16 w - i, unless that is 0
  VECTOR_OF(EXPONENT) lowest;                     // the elements with the exponent 0
  u32 top, used;                                  // `used` has a bit for each window that holds a count
  u32 steps;                                      // the largest count that a byte of them may hold
#endif
} Exponents;

INLINE void open_exponents(Exponents* exponents) {
  exponents->binned = 0;
#if PACKS_EXPONENTS
  for (int w = 0; w < EXPONENT_WINDOWS; ++w) {
    for (int i = 0; i < EXPONENT_WINDOW; ++i) exponents->lanes[w][i] = SPLAT(u8, 0);
  }
  exponents->lowest = SPLAT(EXPONENT, 0);
  exponents->top = exponents->used = exponents->steps = 0;
#endif
}

// Counts the `count` elements at p, which are whole groups, one by one.
NOINLINE void bin_exponents(Exponents* exponents, SPACE const u8* p, const u32 count) {
  if (exponents->binned == 0) {
    for (int copy = 0; copy < EXPONENT_COPIES; ++copy) {
      for (int i = 0; i < (int)EXPONENTS_OF_FAMILY; ++i) exponents->bins[copy][i] = 0;
    }
  }
  for (u32 i = 0; i < count; i += EXPONENT_COPIES) {
    UNROLL
    for (u32 copy = 0; copy < EXPONENT_COPIES; ++copy) {
      const UBITS bits = LOAD_ONE(UBITS, p + (i + copy) * sizeof(UBITS)), size = ELEMENT_SIZE(bits);
      ++exponents->bins[copy][EXPONENT_OF(size)];
    }
  }
  exponents->binned += count;
}

#if PACKS_EXPONENTS
// Adds the counts of the windows to the words, and empties the windows.
NOINLINE void flush_windows(Exponents* exponents, WORDS i64* words) {
  for (u32 w = 0; w < EXPONENT_WINDOWS; ++w) {
    if ((exponents->used >> w & 1) == 0) continue;
    for (u32 i = 0; i < EXPONENT_WINDOW; ++i) {
      const u32 below = EXPONENT_WINDOW * w + i;
      if (below < exponents->top) ADD(words[exponents->top - below], ADD_LANES(u8, exponents->lanes[w][i]));
      exponents->lanes[w][i] = SPLAT(u8, 0);
    }
  }
  ADD(words[0], ADD_LANES(EXPONENT, exponents->lowest));
  exponents->lowest = SPLAT(EXPONENT, 0);
  exponents->top = exponents->used = exponents->steps = 0;
}

#if IS_FLOAT
// The exponents of a vector of elements, at bit `shift` of each lane.
INLINE VECTOR_OF(UBITS) exponents_at(const VECTOR_OF(UBITS) bits, const int shift) {
  const int up = shift - MANTISSA_SHIFT;
  const VECTOR_OF(UBITS) moved = up < 0 ? bits >> (UBITS)(-up & SIGN_SHIFT) : bits << (UBITS)(up & SIGN_SHIFT);
  const UBITS exponent = (UBITS)((UBITS)(MAGNITUDE_MASK >> MANTISSA_SHIFT) << shift);  // a variable, because UBSan would take it for an int
  return moved & exponent;
}
#else
// The numbers of bits of integers, by bisection: if the upper half of the bits is not 0, the highest bit lies there.
INLINE VECTOR_OF(UBITS) bisected_widths(VECTOR_OF(UBITS) left) {
  VECTOR_OF(UBITS) width = SPLAT(UBITS, 0);
  UNROLL
  for (int half_bits = 4 * (int)sizeof(UBITS); half_bits > 0; half_bits /= 2) {
    const VECTOR_OF(UBITS) upper = left >> (UBITS)half_bits, has_upper = AS(UBITS, upper != (UBITS)0);
    width += has_upper & (UBITS)half_bits;
    left = (upper & has_upper) | (left & ~has_upper);
  }
  return width + left;
}

// The same for bytes, by a table for each half.
INLINE v_u8 looked_up_widths(const v_u8 bytes) {
  const v_u8 lower = AS(u8, ALTERNATE((u64)0x0303030302020100, (u64)0x0404040404040404));
  const v_u8 upper = AS(u8, ALTERNATE((u64)0x0707070706060500, (u64)0x0808080808080808));
  return MAX(LOOK_UP(lower, bytes & (u8)15), LOOK_UP(upper, bytes >> (u8)4));
}

// The same as exponents_at() above, for integers.
INLINE VECTOR_OF(UBITS) exponents_at(const VECTOR_OF(UBITS) bits, const int shift) {
  const VECTOR_OF(UBITS) sizes = ELEMENT_SIZES(bits);
  if (sizeof(UBITS) == 1) return AS(UBITS, looked_up_widths(AS(u8, sizes)));
#ifdef BIT_WIDTHS
  if (sizeof(UBITS) >= 4) return BIT_WIDTHS(sizes) << (UBITS)shift;
#endif
  return bisected_widths(sizes) << (UBITS)shift;
}
#endif

// The exponents of one vector of EXPONENT, in any order.
INLINE VECTOR_OF(EXPONENT) pack_exponents(SPACE const u8* p) {
  VECTOR_OF(UBITS) packed = SPLAT(UBITS, 0);
  UNROLL
  for (int k = 0; k < (int)(sizeof(UBITS) / sizeof(EXPONENT)); ++k) {
    const VECTOR_OF(UBITS) bits = LOAD(UBITS, p + k * LANES(UBITS) * (int)sizeof(UBITS));
    packed |= exponents_at(bits, k * 8 * (int)sizeof(EXPONENT));
  }
  return AS(EXPONENT, packed);
}

// The exponents of a block, with the smallest and the largest.
INLINE void pack_block(VECTOR_OF(EXPONENT) * packed, SPACE const u8* p, const u32 vectors, u32* low, u32* high) {
  VECTOR_OF(EXPONENT) lows = SPLAT(EXPONENT, (EXPONENT)~(EXPONENT)0), highs = SPLAT(EXPONENT, 0);
  for (u32 i = 0; i < vectors; ++i) {
    packed[i] = pack_exponents(p + i * (u32)LANES(EXPONENT) * sizeof(UBITS));
    lows = MIN(lows, packed[i]);
    highs = MAX(highs, packed[i]);
  }
  *low = MIN_LANE(EXPONENT, lows);
  *high = MAX_LANE(EXPONENT, highs);
}

// The smallest exponent but 0, if the block has one.
NOINLINE u32 lowest_but_0(const VECTOR_OF(EXPONENT) * packed, const u32 vectors) {
  VECTOR_OF(EXPONENT) lows = SPLAT(EXPONENT, (EXPONENT)~(EXPONENT)0);
  for (u32 i = 0; i < vectors; ++i) lows = MIN(lows, (VECTOR_OF(EXPONENT))(packed[i] - (EXPONENT)1));
  return (u32)MIN_LANE(EXPONENT, lows) + 1;
}

// `top` less the exponents of LANES(u8) elements, at most 255.
INLINE v_u8 below(const VECTOR_OF(EXPONENT) * packed, const VECTOR_OF(EXPONENT) top) {
#if EXPONENT_IS_BYTE
  return AS(u8, top - packed[0]);
#else
  const v_u16 most = SPLAT(u16, 255);
  return AS(u8, MIN(AS(u16, top - packed[0]), most) | MIN(AS(u16, top - packed[1]), most) << (u16)8);
#endif
}

// Counts the exponents `top`, `top` - 1, ... in the window's lanes, two for each table. There are `vectors` times
// LANES(u8) elements.
INLINE void count_in_tables(v_u8* lanes, const VECTOR_OF(EXPONENT) * packed, const u32 vectors, const u32 top,
                            const int table_count) {
  v_u8 tables[EXPONENT_WINDOW / 2];
  for (int t = 0; t < table_count; ++t) {
    const u64 both = (u64)0x1001 << 16 * (t & 3);
    tables[t] = AS(u8, ALTERNATE(t < 4 ? both : 0, t < 4 ? 0 : both));
  }
  const VECTOR_OF(EXPONENT) tops = SPLAT(EXPONENT, (EXPONENT)top);
  for (u32 i = 0; i < vectors;) {
    v_u8 counts[EXPONENT_WINDOW / 2];
    for (int t = 0; t < table_count; ++t) counts[t] = SPLAT(u8, 0);
    const u32 end = MIN(i + 15, vectors);  // four bits hold up to 15
    for (; i < end; ++i) {
      // A table gives 0 if the highest bit of the index is set. Here it is set from 16 on.
      const v_u8 index = MIN(below(packed + i * sizeof(EXPONENT), tops), SPLAT(u8, 143)) + (u8)112;
      UNROLL
      for (int t = 0; t < table_count; ++t) counts[t] += LOOK_UP(tables[t], index);
    }
    for (int t = 0; t < table_count; ++t) {
      lanes[2 * t] += counts[t] & (u8)15;
      lanes[2 * t + 1] += counts[t] >> (u8)4;
    }
  }
}

// The same with as few tables as hold `used` exponents: int8 has 8 besides 0.
NOINLINE void count_window(v_u8* lanes, const VECTOR_OF(EXPONENT) * packed, const u32 vectors, const u32 top,
                           const u32 used) {
  if (used <= 2) {
    count_in_tables(lanes, packed, vectors, top, 1);
  } else if (used <= EXPONENT_WINDOW / 2) {
    count_in_tables(lanes, packed, vectors, top, EXPONENT_WINDOW / 4);
  } else {
    count_in_tables(lanes, packed, vectors, top, EXPONENT_WINDOW / 2);
  }
}

// Says that `count` elements are in the windows' lanes, which hold bytes.
INLINE void note_steps(Exponents* exponents, WORDS i64* words, const u32 count) {
  exponents->steps += count / (u32)LANES(u8);
  if (exponents->steps > 255u - ELEMENT_BLOCK / (u32)LANES(u8)) flush_windows(exponents, words);
}

// Counts the `count` elements at p, which are bools: each is its exponent.
INLINE void count_bools(Exponents* exponents, WORDS i64* words, SPACE const u8* p, const u32 count) {
  v_u8 ones = exponents->lanes[0][0], zeros = AS(u8, exponents->lowest);
  for (u32 i = 0; i < count; i += (u32)LANES(u8)) {
    const v_u8 one = MIN(LOAD(u8, p + i), SPLAT(u8, 1));
    ones += one;
    zeros += one ^ (u8)1;
  }
  exponents->lanes[0][0] = ones;
  exponents->lowest = AS(EXPONENT, zeros);
  exponents->top = exponents->used = 1;
  note_steps(exponents, words, count);
}

// Counts the `count` elements at p. Returns false if they must go into the bins.
INLINE int count_packed(Exponents* exponents, WORDS i64* words, SPACE const u8* p, const u32 count) {
  VECTOR_OF(EXPONENT) packed[ELEMENT_BLOCK / LANES(EXPONENT)];
  const u32 vectors = count / (u32)LANES(EXPONENT);
  u32 low, high;
  pack_block(packed, p, vectors, &low, &high);
  const u32 near = low != 0 || high == 0 ? low : lowest_but_0(packed, vectors);
  const u32 span = EXPONENT_WINDOWS * EXPONENT_WINDOW;
  if (high == EXPONENT_OF_SPECIALS || high - near >= span) return 0;
  for (u32 i = 0; low == 0 && i < vectors; ++i) COUNT_INTO(EXPONENT, exponents->lowest, packed[i] == (EXPONENT)0);
  if (high != 0) {
    if (exponents->used == 0 || high > exponents->top || near + span <= exponents->top) {
      flush_windows(exponents, words);
      exponents->top = high;
    }
    const u32 top = exponents->top, bytes = count / (u32)LANES(u8);
    for (u32 w = (top - high) / EXPONENT_WINDOW; w <= (top - near) / EXPONENT_WINDOW; ++w) {
      const u32 first = top - w * EXPONENT_WINDOW;
      count_window(exponents->lanes[w], packed, bytes, first, first - near + 1);
      exponents->used |= 1u << w;
    }
  }
  note_steps(exponents, words, count);
  return 1;
}
#endif

// Counts the `count` elements at p: whole groups, at most a block.
NOINLINE void fold_exponents(Exponents* exponents, WORDS i64* partial, SPACE const u8* p, const u32 count) {
#if PACKS_EXPONENTS
  if (IS_BOOL) {
    count_bools(exponents, partial + OFFSET(EXPONENTS), p, count);
    return;
  }
  if (count_packed(exponents, partial + OFFSET(EXPONENTS), p, count)) return;
#endif
  (void)partial;
  bin_exponents(exponents, p, count);
}

// Adds all counts to the partial.
INLINE void close_exponents(Exponents* exponents, WORDS i64* partial) {
  WORDS i64* const words = partial + OFFSET(EXPONENTS);
#if PACKS_EXPONENTS
  flush_windows(exponents, words);
#endif
  for (int i = 0; exponents->binned != 0 && i < (int)EXPONENTS_OF_FAMILY; ++i) {
    i64 n = 0;
    for (int copy = 0; copy < EXPONENT_COPIES; ++copy) n += exponents->bins[copy][i];
    ADD(words[i], n);
  }
}
