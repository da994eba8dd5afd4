// The fold of the words of precision/exponents.h, for families with FOLDS_ELEMENTS. It reads a block again, after the
// family's fold and while the block is in the nearest cache. One text for C++ and OpenCL C, included once for each
// dtype after fold_elements.h.
//
// Exponents of real data cluster. If vectors can be looked up in tables of 16 bytes, the exponents of a block are
// packed, and EXPONENT_WINDOW consecutive exponents are counted at once. Each of eight tables is for two exponents: it
// gives 1 for the one and 16 for the other, so that a byte counts both. Blocks that need more than EXPONENT_WINDOWS
// such ranges, or hold NaN or Inf, are counted in memory element by element; without tables, all blocks are. Neighbours
// go to different copies, so that an addition seldom waits for the one before. Integers of 16 bits are smeared by
// tables, and wider ones by SMEARED if that is there: then the places of their bits are counted instead.
#define EXPONENT_COPIES (IS_FLOAT && sizeof(UBITS) == 8 ? 2 : 4)
#define EXPONENT_WINDOW 16
#define EXPONENT_WINDOWS 4
#define PACKS_EXPONENTS (LOOKS_UP && FOLDS_ELEMENTS)
#ifdef SMEARED
#define COUNTS_PLACES (PACKS_EXPONENTS && !IS_FLOAT)
#else
#define COUNTS_PLACES (PACKS_EXPONENTS && !IS_FLOAT && BITS <= 16)
#endif

#if PACKS_EXPONENTS && !IS_FLOAT
// |x| of integers. The smaller one of x and -x is one instruction less than by the sign, but for 64 bits.
INLINE VECTOR_OF(UBITS) integer_sizes(const VECTOR_OF(UBITS) bits) {
#ifdef ABSOLUTE
  return IS_SIGNED ? ABSOLUTE(bits) : ELEMENT_SIZES(bits);
#else
  if (!IS_SIGNED || sizeof(UBITS) == 8) return ELEMENT_SIZES(bits);
  const VECTOR_OF(UBITS) negated = SPLAT(UBITS, 0) - bits;
  return MIN(bits, negated);
#endif
}
#endif

#if COUNTS_PLACES
// Bit i of a smeared size says that the size is at least 2^i. The bits in each place of a byte are counted: sixteen
// vectors go through a tree of adders, and only its carries are counted (Harley and Seal; Mula, Kurz and Lemire,
// "Faster Population Counts Using AVX2 Instructions", 2017).
typedef struct {
  v_u8 halves[4];  // low half of a byte of [i]: how often place i was carried out; high half: place i + 4
  v_u8 places[8];  // the same of place i, in bytes
  v_u8 left[4];    // the bits that stayed in the tree, each of [k] for 2^k elements
  u32 elements;
  u32 steps;  // how often the tree carried out
} Exponents;

INLINE void open_exponents(Exponents* exponents) {
  for (int i = 0; i < 4; ++i) exponents->halves[i] = exponents->left[i] = SPLAT(u8, 0);
  for (int i = 0; i < 8; ++i) exponents->places[i] = SPLAT(u8, 0);
  exponents->elements = exponents->steps = 0;
}

#if BITS >= 32
INLINE v_u8 smeared_sizes(SPACE const u8* p) { return AS(u8, SMEARED(integer_sizes(LOAD(UBITS, p)))); }
#else
INLINE v_u8 smeared_sizes(SPACE const u8* p) {
  VECTOR_OF(UBITS) size = integer_sizes(LOAD(UBITS, p));
  if (sizeof(UBITS) == 2) {  // all bits of the lower byte, if the upper one has any
    const UBITS lower = 255;
    size = (size & (UBITS)~lower) | MIN(size, SPLAT(UBITS, lower));
  }
  const v_u8 bytes = AS(u8, size);
  const v_u8 small = AS(u8, ALTERNATE((u64)0x0707070703030100, (u64)0x0f0f0f0f0f0f0f0f));  // 0 from 128 on
  const v_u8 large = AS(u8, ALTERNATE((u64)0x7f7f7f7f3f3f1f00, (u64)0xffffffffffffffff));
  return LOOK_UP(small, bytes) | LOOK_UP(large, bytes >> (u8)4);
}
#endif

// Adds a and b to the bits of `sum`. Returns the carries.
INLINE v_u8 add_bits(v_u8* sum, const v_u8 a, const v_u8 b) {
  const v_u8 once = *sum ^ a;
#ifdef MAJORITY
  const v_u8 carried = MAJORITY(*sum, a, b);
#else
  const v_u8 carried = (*sum & a) | (once & b);
#endif
  *sum = once ^ b;
  return carried;
}

// Adds the four vectors at p to sums of 1 and of 2. Returns the carries.
INLINE v_u8 add_four(v_u8* sums, SPACE const u8* p) {
  const v_u8 two = add_bits(&sums[0], smeared_sizes(p), smeared_sizes(p + LANES(u8)));
  const v_u8 other = add_bits(&sums[0], smeared_sizes(p + 2 * LANES(u8)), smeared_sizes(p + 3 * LANES(u8)));
  return add_bits(&sums[1], two, other);
}

// Halves of bytes hold up to 15.
INLINE void widen_halves(Exponents* exponents) {
  for (int i = 0; i < 4; ++i) {
    exponents->places[i] += exponents->halves[i] & (u8)15;
    exponents->places[i + 4] += exponents->halves[i] >> (u8)4;
    exponents->halves[i] = SPLAT(u8, 0);
  }
}

INLINE void count_carried(Exponents* exponents, const v_u8 carried) {
  UNROLL
  for (int i = 0; i < 4; ++i) exponents->halves[i] += carried >> (u8)i & (u8)0x11;
  if (++exponents->steps % 15 == 0) widen_halves(exponents);
}

// The sum of one byte of each element.
INLINE i64 add_bytes(const v_u8 bytes, const int byte) {
  return ADD_LANES(UBITS, AS(UBITS, bytes) >> (UBITS)(8 * byte) & (UBITS)255);
}

// Adds the counts to the words, and empties them.
NOINLINE void flush_places(Exponents* exponents, WORDS i64* words) {
  widen_halves(exponents);
  i64 larger = 0;
  for (int i = 8 * (int)sizeof(UBITS) - 1; i >= 0; --i) {
    i64 n = 16 * add_bytes(exponents->places[i % 8], i / 8);
    for (int k = 0; k < 4; ++k) n += add_bytes(exponents->left[k] >> (u8)(i % 8) & (u8)1, i / 8) << k;
    ADD(words[i + 1], n - larger);
    larger = n;
  }
  for (int i = 0; i < 8; ++i) exponents->places[i] = SPLAT(u8, 0);
  for (int k = 0; k < 4; ++k) exponents->left[k] = SPLAT(u8, 0);
  ADD(words[0], (i64)exponents->elements - larger);
  exponents->elements = exponents->steps = 0;
}

// Counts the `count` elements at p: whole groups, at most a block.
NOINLINE void fold_exponents(Exponents* exponents, WORDS i64* partial, SPACE const u8* p, const u32 count) {
  const u32 bytes = count * (u32)sizeof(UBITS);
  v_u8 sums[4];
  for (int k = 0; k < 4; ++k) sums[k] = exponents->left[k];
  u32 i = 0;
  for (; i + 16 * LANES(u8) <= bytes; i += 16 * LANES(u8)) {
    v_u8 eight[2];
    UNROLL
    for (int k = 0; k < 2; ++k) {
      SPACE const u8* const source = p + i + (u32)(8 * k * LANES(u8));
      const v_u8 four = add_four(sums, source), other = add_four(sums, source + 4 * LANES(u8));
      eight[k] = add_bits(&sums[2], four, other);
    }
    count_carried(exponents, add_bits(&sums[3], eight[0], eight[1]));
  }
  for (; i < bytes; i += LANES(u8)) {
    v_u8 left = smeared_sizes(p + i);
    for (int k = 0; k < 4; ++k) left = add_bits(&sums[k], left, SPLAT(u8, 0));
    count_carried(exponents, left);
  }
  for (int k = 0; k < 4; ++k) exponents->left[k] = sums[k];
  exponents->elements += count;
  // The next call carries out once for 16 vectors of a block, and for each of up to 15 vectors. A byte holds 255.
  if (exponents->steps > 255u - ELEMENT_BLOCK / 16u / (u32)LANES(UBITS) - 15u)
    flush_places(exponents, partial + OFFSET(EXPONENTS));
}

// Adds all counts to the partial.
INLINE void close_exponents(Exponents* exponents, WORDS i64* partial) {
  flush_places(exponents, partial + OFFSET(EXPONENTS));
}
#else
typedef struct {
  u32 bins[EXPONENT_COPIES][EXPONENTS_OF_FAMILY];
  u32 binned;                                     // the number of elements in `bins`; 0: these are not cleared yet
#if PACKS_EXPONENTS
  v_u8 lanes[EXPONENT_WINDOWS][EXPONENT_WINDOW];  // [w][i] counts the exponent `top` - 16 w - i, unless that is 0
  u32 top, used;                                  // `used` has a bit for each window that holds a count
  u32 steps;                                      // the vectors of bytes that were counted
#endif
} Exponents;

INLINE void open_exponents(Exponents* exponents) {
  exponents->binned = 0;
#if PACKS_EXPONENTS
  for (int w = 0; w < EXPONENT_WINDOWS; ++w) {
    for (int i = 0; i < EXPONENT_WINDOW; ++i) exponents->lanes[w][i] = SPLAT(u8, 0);
  }
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
// Adds the counts of the windows to the words, and empties the windows. The other elements have the exponent 0.
NOINLINE void flush_windows(Exponents* exponents, WORDS i64* words) {
  i64 others = (i64)exponents->steps * LANES(u8);
  for (u32 w = 0; w < EXPONENT_WINDOWS; ++w) {
    if ((exponents->used >> w & 1) == 0) continue;
    for (u32 i = 0; i < EXPONENT_WINDOW; ++i) {
      const u32 below = EXPONENT_WINDOW * w + i;
      if (below < exponents->top) {
        const i64 n = ADD_LANES(u8, exponents->lanes[w][i]);
        ADD(words[exponents->top - below], n);
        others -= n;
      }
      exponents->lanes[w][i] = SPLAT(u8, 0);
    }
  }
  ADD(words[0], others);
  exponents->top = exponents->used = exponents->steps = 0;
}

#if IS_FLOAT
// The exponents of a vector of elements, at bit `shift` of each lane.
INLINE VECTOR_OF(UBITS) exponents_at(const VECTOR_OF(UBITS) bits, const int shift) {
  const int up = shift - MANTISSA_SHIFT;
  const VECTOR_OF(UBITS) moved = up < 0 ? bits >> (UBITS)(-up & SIGN_SHIFT) : bits << (UBITS)(up & SIGN_SHIFT);
  // A variable, because UBSan would take it for an int.
  const UBITS exponent = (UBITS)((UBITS)(MAGNITUDE_MASK >> MANTISSA_SHIFT) << shift);
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

// The same as exponents_at() above, for integers.
INLINE VECTOR_OF(UBITS) exponents_at(const VECTOR_OF(UBITS) bits, const int shift) {
  const VECTOR_OF(UBITS) sizes = integer_sizes(bits);
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
    packed |= exponents_at(LOAD(UBITS, p + k * LANES(UBITS) * (int)sizeof(UBITS)), k * 8 * (int)sizeof(EXPONENT));
  }
  return AS(EXPONENT, packed);
}

// The exponents of a block, with the smallest but 0, less 1, and the largest.
INLINE void pack_block(VECTOR_OF(EXPONENT) * packed, SPACE const u8* p, const u32 vectors, u32* below_low, u32* high) {
  VECTOR_OF(EXPONENT) lows = SPLAT(EXPONENT, (EXPONENT) ~(EXPONENT)0), highs = SPLAT(EXPONENT, 0);
  for (u32 i = 0; i < vectors; ++i) {
    packed[i] = pack_exponents(p + i * (u32)LANES(EXPONENT) * sizeof(UBITS));
    lows = MIN(lows, (VECTOR_OF(EXPONENT))(packed[i] - (EXPONENT)1));
    highs = MAX(highs, packed[i]);
  }
  *below_low = MIN_LANE(EXPONENT, lows);
  *high = MAX_LANE(EXPONENT, highs);
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
      const v_u8 distance = below(packed + i * sizeof(EXPONENT), tops);
#ifdef ADD_SATURATED
      const v_u8 index = ADD_SATURATED(distance, SPLAT(u8, 112));
#else
      const v_u8 index = MIN(distance, SPLAT(u8, 143)) + (u8)112;
#endif
      UNROLL
      for (int t = 0; t < table_count; ++t) counts[t] += LOOK_UP(tables[t], index);
    }
    for (int t = 0; t < table_count; ++t) {
      lanes[2 * t] += counts[t] & (u8)15;
      lanes[2 * t + 1] += counts[t] >> (u8)4;
    }
  }
}

// The same with as few tables as hold `used` exponents.
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

// Counts the `count` elements at p. Returns false if they must go into the bins.
INLINE int count_packed(Exponents* exponents, WORDS i64* words, SPACE const u8* p, const u32 count) {
  VECTOR_OF(EXPONENT) packed[ELEMENT_BLOCK / LANES(EXPONENT)];
  const u32 vectors = count / (u32)LANES(EXPONENT), bytes = count / (u32)LANES(u8);
  u32 below_low, high;
  pack_block(packed, p, vectors, &below_low, &high);
  const u32 near = below_low + 1, span = EXPONENT_WINDOWS * EXPONENT_WINDOW;
  if (high == EXPONENT_OF_SPECIALS || (high != 0 && high - near >= span)) return 0;
  if (high != 0) {
    if (exponents->used == 0 || high > exponents->top || near + span <= exponents->top) {
      flush_windows(exponents, words);
      exponents->top = high;
    }
    const u32 top = exponents->top;
    for (u32 w = (top - high) / EXPONENT_WINDOW; w <= (top - near) / EXPONENT_WINDOW; ++w) {
      const u32 first = top - w * EXPONENT_WINDOW;
      count_window(exponents->lanes[w], packed, bytes, first, first - near + 1);
      exponents->used |= 1u << w;
    }
  }
  exponents->steps += bytes;
  if (exponents->steps > 255u - ELEMENT_BLOCK / (u32)LANES(u8)) flush_windows(exponents, words);
  return 1;
}
#endif

// Counts the `count` elements at p: whole groups, at most a block.
NOINLINE void fold_exponents(Exponents* exponents, WORDS i64* partial, SPACE const u8* p, const u32 count) {
#if PACKS_EXPONENTS
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
#endif
