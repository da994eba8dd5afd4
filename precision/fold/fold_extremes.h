// Extrema, zeros and signs of a float dtype's groups. One text for C++ and OpenCL C, included once for each dtype.
//
// Both extrema follow from three numbers: the largest bits as signed numbers, the largest as unsigned numbers, and the
// smallest magnitude. This takes fewer operations than keys that order the elements. Zeros are counted only in groups
// with zeros, NaN and Inf only in groups with either.

// The counters are emptied when so many elements were counted. A lane counts one of eight elements or fewer.
#define COUNTED_ELEMENTS (sizeof(UBITS) == 2 ? 65536u : 1u << 27)

typedef struct {
  VECTOR_OF(SBITS) top;  // of finite elements
  VECTOR_OF(UBITS) far, near;
  VECTOR_OF(UBITS) zeros, negatives;
  VECTOR_OF(UBITS) nans, positive_infs, negative_infs;
  u32 elements;  // since the counters were emptied
} Seen;

INLINE void see_nothing(Seen* seen) {
  seen->top = SPLAT(SBITS, (SBITS)~MAGNITUDE_MASK);
  seen->far = SPLAT(UBITS, 0);
  seen->near = SPLAT(UBITS, MAGNITUDE_MASK);
  seen->zeros = seen->negatives = seen->nans = seen->positive_infs = seen->negative_infs = SPLAT(UBITS, 0);
  seen->elements = 0;
}

// Sees only the `count` elements at p, and prefetches as many from `from` on. Counts -0 as negative, and no zeros. Widens
// the elements of a half type, unless `widened` is 0.
INLINE void see(Seen* seen, SPACE const u8* p, const u32 count, SPACE const u8* from, f32* widened, const int needs) {
  see_nothing(seen);
  ROLLED
  for (u32 i = 0; i < count; i += 4 * LANES(UBITS)) {
    UNROLL
    for (int k = 0; k < 4; ++k) {
      const u32 first = i + (u32)(k * LANES(UBITS)), offset = first * (u32)sizeof(UBITS);
      if (offset % 64 == 0) {
        PREFETCH(from + offset);
      }
      const VECTOR_OF(UBITS) bits = LOAD(UBITS, p + offset);
      if (widened != 0) WIDEN(widened + first, p + offset);
      seen->top = MAX(seen->top, AS(SBITS, bits));
      seen->far = MAX(seen->far, bits);
      seen->near = MIN(seen->near, bits & MAGNITUDE_MASK);
      if (needs & NEED_SIGNS) seen->negatives += bits >> (UBITS)SIGN_SHIFT;
    }
  }
}

// Corrects the counts of elements with zeros among them. Returns the smallest magnitude but 0, less 1.
INLINE VECTOR_OF(UBITS) see_zeros(Seen* seen, SPACE const u8* p, const u32 count, const int needs) {
  VECTOR_OF(UBITS) least = SPLAT(UBITS, (UBITS)-1);
  for (u32 i = 0; i < count; i += LANES(UBITS)) {
    const VECTOR_OF(UBITS) bits = LOAD(UBITS, p + i * sizeof(UBITS));
    const VECTOR_OF(UBITS) magnitude = bits & MAGNITUDE_MASK;
    least = MIN(least, (VECTOR_OF(UBITS))(magnitude - (UBITS)1));
    if (needs & NEED_SIGNS) {
      COUNT_INTO(UBITS, seen->zeros, magnitude == (UBITS)0);
      COUNT_OUT_OF(UBITS, seen->negatives, bits == (UBITS)~MAGNITUDE_MASK);  // -0 is not below zero
    }
  }
  return least;
}

// The largest magnitude; 0 before the first elements. NaN is above Inf.
INLINE VECTOR_OF(SBITS) largest_seen(const Seen* seen) { return MAX(seen->top, AS(SBITS, seen->far & MAGNITUDE_MASK)); }

INLINE void flush_counts(Seen* seen, WORDS i64* partial, const int needs) {
  const i64 positive_infs = ADD_LANES(UBITS, seen->positive_infs), negative_infs = ADD_LANES(UBITS, seen->negative_infs);
  if (needs & NEED_SIGNS) {
    ADD(partial[PARTIAL_ZEROS], ADD_LANES(UBITS, seen->zeros));
    ADD(partial[PARTIAL_NEGATIVES], ADD_LANES(UBITS, seen->negatives) + negative_infs);
  }
  if (needs & NEED_EXTREMA) raise_infinities(partial, INF_BITS, positive_infs, negative_infs);
  ADD(partial[PARTIAL_NANS], ADD_LANES(UBITS, seen->nans));
  ADD(partial[PARTIAL_POSITIVE_INFS], positive_infs);
  ADD(partial[PARTIAL_NEGATIVE_INFS], negative_infs);
  seen->zeros = seen->negatives = seen->nans = seen->positive_infs = seen->negative_infs = SPLAT(UBITS, 0);
  seen->elements = 0;
}

// Adds what see() found in `count` elements.
INLINE void add_seen(Seen* to, const Seen* group, WORDS i64* partial, const u32 count, const int needs) {
  to->top = MAX(to->top, group->top);
  to->far = MAX(to->far, group->far);
  to->near = MIN(to->near, group->near);
  to->zeros += group->zeros;
  to->negatives += group->negatives;
  if ((to->elements += count) >= COUNTED_ELEMENTS) flush_counts(to, partial, needs);
}

// The keys of the finite elements' extrema. If there is no element, the highest lies below the lowest.
INLINE void keys_of(const SBITS top, const UBITS far, const UBITS near, i64* highest, i64* lowest) {
  // If all are negative, the smallest magnitude is the highest. If none is, it is the lowest. Without elements, all
  // three are a NaN's.
  *highest = top < 0 ? ~(i64)near : (i64)top;
  *lowest = far > MAGNITUDE_MASK ? ~(i64)(far & MAGNITUDE_MASK) : (i64)near;
}

INLINE void finite_extrema(const Seen* seen, i64* highest, i64* lowest) {
  keys_of(MAX_LANE(SBITS, seen->top), MAX_LANE(UBITS, seen->far), MIN_LANE(UBITS, seen->near), highest, lowest);
}

INLINE void close_seen(Seen* seen, WORDS i64* partial, const int needs) {
  flush_counts(seen, partial, needs);
  i64 highest, lowest;
  finite_extrema(seen, &highest, &lowest);
  raise_finite(partial, highest, lowest, needs);
}

// Sees the `count` elements at p, which may have NaN and Inf, and adds them. Sets the largest finite magnitude and the
// smallest one but 0. Returns whether any element is NaN or Inf.
INLINE int see_finite(Seen* seen, WORDS i64* partial, SPACE const u8* p, const u32 count, UBITS* largest,
                      UBITS* smallest, const int needs) {
  const UBITS infinity = (UBITS)INF_BITS;
  VECTOR_OF(UBITS) nans = seen->nans, positive_infs = seen->positive_infs, negative_infs = seen->negative_infs;
  Seen group;
  see_nothing(&group);
  for (u32 i = 0; i < count; i += LANES(UBITS)) {
    const VECTOR_OF(UBITS) bits = LOAD(UBITS, p + i * sizeof(UBITS));
    const VECTOR_OF(UBITS) magnitude = bits & MAGNITUDE_MASK;
    group.top = magnitude < infinity ? MAX(group.top, AS(SBITS, bits)) : group.top;
    group.far = magnitude < infinity ? MAX(group.far, bits) : group.far;
    group.near = magnitude < infinity ? MIN(group.near, magnitude) : group.near;
    group.negatives = magnitude < infinity ? group.negatives + (bits >> (UBITS)SIGN_SHIFT) : group.negatives;
    COUNT_INTO(UBITS, nans, magnitude > infinity);
    COUNT_INTO(UBITS, positive_infs, bits == infinity);
    COUNT_INTO(UBITS, negative_infs, bits == (UBITS)(infinity | (UBITS)~MAGNITUDE_MASK));
  }
  const int has_specials = ANY(SBITS, (nans != seen->nans) | (positive_infs != seen->positive_infs) |
                                          (negative_infs != seen->negative_infs));
  seen->nans = nans;
  seen->positive_infs = positive_infs;
  seen->negative_infs = negative_infs;
  VECTOR_OF(UBITS) least = group.near - (UBITS)1;
  if (ANY(SBITS, group.near == (UBITS)0)) least = see_zeros(&group, p, count, needs);
  *largest = (UBITS)MAX_LANE(SBITS, largest_seen(&group));
  *smallest = (UBITS)(MIN_LANE(UBITS, least) + 1);
  add_seen(seen, &group, partial, count, needs);
  return has_specials;
}
