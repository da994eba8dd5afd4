// The fold of the words of precision/exponents.h, for the families with FOLDS_ELEMENTS: beside the family's own fold, a block
// at a time, while it is in the nearest cache. One text for C++ and OpenCL C, included once a dtype, behind
// fold_elements.h.
//
// Exponents of real data cluster, and an integer has few. Where a table of 16 bytes can be looked up in a vector, the exponents of a block are packed,
// and a window of 16 of them is counted at once: eight tables say of two exponents each whether an element has the one, 1,
// or the other, 16, so that a byte counts both. A block that needs more than WINDOWS of these, or holds NaN or Inf, and all
// where there are no such tables, adds to bins in memory, one element at a time. Neighbours go to different copies, so that an
// addition seldom waits for the one before.
#define EXPONENT_COPIES (IS_FLOAT && sizeof(UBITS) == 8 ? 2 : 4)
#define EXPONENT_WINDOW 16
#define EXPONENT_WINDOWS 4
#define PACKS_EXPONENTS (LOOKS_UP && FOLDS_ELEMENTS)

typedef struct {
  u32 bins[EXPONENT_COPIES][EXPONENTS_OF_FAMILY];
  u32 binned;  // elements in there; 0: nothing is set
#if PACKS_EXPONENTS
  v_u8 lanes[EXPONENT_WINDOWS][EXPONENT_WINDOW];  // [w][i] counts the exponent `top` - 16 w - i; one of 0 does not count
  VECTOR_OF(EXPONENT) lowest;                     // how many have the exponent 0
  u32 top, used;                                  // a bit of `used` for each window with anything in it
  u32 steps;                                      // the most that a byte of them may hold
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

// The `count` elements at p, whole groups, one by one.
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
// Hands over what the windows have counted, and empties them.
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
// The exponents of a vector of elements, each in its lane at bit `place`.
INLINE VECTOR_OF(UBITS) exponents_at(const VECTOR_OF(UBITS) bits, const int place) {
  const int up = place - MANTISSA_SHIFT;
  const VECTOR_OF(UBITS) moved = up < 0 ? bits >> (UBITS)(-up & SIGN_SHIFT) : bits << (UBITS)(up & SIGN_SHIFT);
  const UBITS exponent = (UBITS)((UBITS)(MAGNITUDE_MASK >> MANTISSA_SHIFT) << place);  // named: else UBSan makes it an int
  return moved & exponent;
}
#else
// The same: half of the bits at a time, it is the upper ones that count, where there are any.
INLINE VECTOR_OF(UBITS) exponents_at(const VECTOR_OF(UBITS) bits, const int place) {
  VECTOR_OF(UBITS) left = ELEMENT_SIZES(bits), width = SPLAT(UBITS, 0);
  UNROLL
  for (int half_bits = 4 * (int)sizeof(UBITS); half_bits > 0; half_bits /= 2) {
    const VECTOR_OF(UBITS) upper = left >> (UBITS)half_bits, has_upper = AS(UBITS, upper != (UBITS)0);
    width += has_upper & (UBITS)half_bits;
    left = (upper & has_upper) | (left & ~has_upper);
  }
  return (width + left) << (UBITS)place;
}
#endif

// The exponents of as many elements as a vector has room for, in an order of its own.
INLINE VECTOR_OF(EXPONENT) pack_exponents(SPACE const u8* p) {
  VECTOR_OF(UBITS) packed = SPLAT(UBITS, 0);
  UNROLL
  for (int k = 0; k < (int)(sizeof(UBITS) / sizeof(EXPONENT)); ++k) {
    const VECTOR_OF(UBITS) bits = LOAD(UBITS, p + k * LANES(UBITS) * (int)sizeof(UBITS));
    packed |= exponents_at(bits, k * 8 * (int)sizeof(EXPONENT));
  }
  return AS(EXPONENT, packed);
}

// Those of a block, and the smallest and the largest.
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

// The smallest but 0, of a block that has that.
NOINLINE u32 lowest_but_0(const VECTOR_OF(EXPONENT) * packed, const u32 vectors) {
  VECTOR_OF(EXPONENT) lows = SPLAT(EXPONENT, (EXPONENT)~(EXPONENT)0);
  for (u32 i = 0; i < vectors; ++i) lows = MIN(lows, (VECTOR_OF(EXPONENT))(packed[i] - (EXPONENT)1));
  return (u32)MIN_LANE(EXPONENT, lows) + 1;
}

// How far below `top` the exponents of LANES(u8) elements lie: 255 where that is farther.
INLINE v_u8 below(const VECTOR_OF(EXPONENT) * packed, const VECTOR_OF(EXPONENT) top) {
#if EXPONENT_IS_BYTE
  return AS(u8, top - packed[0]);
#else
  const v_u16 most = SPLAT(u16, 255);
  return AS(u8, MIN(AS(u16, top - packed[0]), most) | MIN(AS(u16, top - packed[1]), most) << (u16)8);
#endif
}

// Counts the exponents `top`, `top` - 1, ... of so many times LANES(u8) elements into the window's lanes.
NOINLINE void count_window(v_u8* lanes, const VECTOR_OF(EXPONENT) * packed, const u32 vectors, const u32 top) {
  v_u8 tables[EXPONENT_WINDOW / 2];
  for (int t = 0; t < EXPONENT_WINDOW / 2; ++t) {
    const u64 both = (u64)0x1001 << 16 * (t & 3);
    tables[t] = AS(u8, ALTERNATE(t < 4 ? both : 0, t < 4 ? 0 : both));
  }
  const VECTOR_OF(EXPONENT) tops = SPLAT(EXPONENT, (EXPONENT)top);
  for (u32 i = 0; i < vectors;) {
    v_u8 counts[EXPONENT_WINDOW / 2];
    for (int t = 0; t < EXPONENT_WINDOW / 2; ++t) counts[t] = SPLAT(u8, 0);
    const u32 end = MIN(i + 15, vectors);  // four bits hold as many
    for (; i < end; ++i) {
      // A table gives 0 where the highest bit is set, as it is from 16 on.
      const v_u8 index = MIN(below(packed + i * sizeof(EXPONENT), tops), SPLAT(u8, 143)) + (u8)112;
      UNROLL
      for (int t = 0; t < EXPONENT_WINDOW / 2; ++t) counts[t] += LOOK_UP(tables[t], index);
    }
    for (int t = 0; t < EXPONENT_WINDOW / 2; ++t) {
      lanes[2 * t] += counts[t] & (u8)15;
      lanes[2 * t + 1] += counts[t] >> (u8)4;
    }
  }
}

// The `count` elements at p; false where they are for the bins.
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
      count_window(exponents->lanes[w], packed, bytes, top - w * EXPONENT_WINDOW);
      exponents->used |= 1u << w;
    }
  }
  exponents->steps += count / (u32)LANES(u8);
  if (exponents->steps > 255u - ELEMENT_BLOCK / (u32)LANES(u8)) flush_windows(exponents, words);
  return 1;
}
#endif

// The `count` elements at p: whole groups, at most a block.
NOINLINE void fold_exponents(Exponents* exponents, WORDS i64* partial, SPACE const u8* p, const u32 count) {
#if PACKS_EXPONENTS
  if (count_packed(exponents, partial + PLACE(EXPONENTS), p, count)) return;
#endif
  (void)partial;
  bin_exponents(exponents, p, count);
}

// Hands everything over.
INLINE void close_exponents(Exponents* exponents, WORDS i64* partial) {
  WORDS i64* const words = partial + PLACE(EXPONENTS);
#if PACKS_EXPONENTS
  flush_windows(exponents, words);
#endif
  for (int i = 0; exponents->binned != 0 && i < (int)EXPONENTS_OF_FAMILY; ++i) {
    i64 n = 0;
    for (int copy = 0; copy < EXPONENT_COPIES; ++copy) n += exponents->bins[copy][i];
    ADD(words[i], n);
  }
}
