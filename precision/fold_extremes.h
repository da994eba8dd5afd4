// Extrema, zeros and signs of a float dtype's groups. One text for C++ and OpenCL C, included once a dtype.
//
// Nothing is ordered: the largest as signed numbers, the largest as unsigned ones and the smallest
// magnitude hold both extrema together, and take fewer operations than ordered keys. Zeros are counted
// only in a group that has any.
// Groups until the counters are emptied: 16-bit ones take GROUP more at most.
#define COUNTED_GROUPS (sizeof(UBITS) == 2 ? 65535 / GROUP : 1 << 20)

typedef struct {
  VECTOR_OF(SBITS) top;
  VECTOR_OF(UBITS) far, near;
  VECTOR_OF(UBITS) zeros, negatives;
} NAME(seen);

INLINE void NAME(see_nothing)(NAME(seen) * seen) {
  seen->top = SPLAT(SBITS, (SBITS)~MAGNITUDE_MASK);
  seen->far = SPLAT(UBITS, 0);
  seen->near = SPLAT(UBITS, MAGNITUDE_MASK);
  seen->zeros = seen->negatives = SPLAT(UBITS, 0);
}

// The GROUP elements at p; -0 among the negatives, zeros not counted.
INLINE void NAME(see)(NAME(seen) * seen, SPACE const u8* p, const int needs) {
  NAME(see_nothing)(seen);
  UNROLL
  for (int i = 0; i < GROUP; i += LANES(UBITS)) {
    const VECTOR_OF(UBITS) bits = LOAD(UBITS, p + i * (int)sizeof(UBITS));
    seen->top = MAX(seen->top, AS(SBITS, bits));
    seen->far = MAX(seen->far, bits);
    seen->near = MIN(seen->near, bits & MAGNITUDE_MASK);
    if (needs & NEED_SIGNS) seen->negatives += bits >> (UBITS)SIGN_SHIFT;
  }
}

// Puts the counts of a group with zeros right. Returns its smallest magnitude less one, zeros left out.
INLINE VECTOR_OF(UBITS) NAME(see_zeros)(NAME(seen) * seen, SPACE const u8* p, const int needs) {
  VECTOR_OF(UBITS) least = SPLAT(UBITS, (UBITS)-1);
  for (int i = 0; i < GROUP; i += LANES(UBITS)) {
    const VECTOR_OF(UBITS) bits = LOAD(UBITS, p + i * (int)sizeof(UBITS));
    const VECTOR_OF(UBITS) magnitude = bits & MAGNITUDE_MASK;
    least = MIN(least, (VECTOR_OF(UBITS))(magnitude - (UBITS)1));
    if (needs & NEED_SIGNS) {
      COUNT_INTO(UBITS, seen->zeros, magnitude == (UBITS)0);
      COUNT_OUT_OF(UBITS, seen->negatives, bits == (UBITS)~MAGNITUDE_MASK);  // -0 is not below zero
    }
  }
  return least;
}

// Of no group: 0. NaN comes out above Inf.
INLINE VECTOR_OF(SBITS) NAME(largest_seen)(const NAME(seen) * seen) {
  return MAX(seen->top, AS(SBITS, seen->far & MAGNITUDE_MASK));
}

INLINE void NAME(add_seen)(NAME(seen) * to, const NAME(seen) * from) {
  to->top = MAX(to->top, from->top);
  to->far = MAX(to->far, from->far);
  to->near = MIN(to->near, from->near);
  to->zeros += from->zeros;
  to->negatives += from->negatives;
}

INLINE void NAME(flush_counts)(NAME(seen) * seen, WORDS i64* partial, const int needs) {
  if (needs & NEED_SIGNS) {
    ADD(partial[PARTIAL_ZEROS], ADD_LANES(UBITS, seen->zeros));
    ADD(partial[PARTIAL_NEGATIVES], ADD_LANES(UBITS, seen->negatives));
  }
  seen->zeros = seen->negatives = SPLAT(UBITS, 0);
}

INLINE void NAME(close_seen)(NAME(seen) * seen, WORDS i64* partial, const int needs) {
  NAME(flush_counts)(seen, partial, needs);
  if (!(needs & NEED_EXTREMA)) return;
  const SBITS top = MAX_LANE(SBITS, seen->top);
  const UBITS far = MAX_LANE(UBITS, seen->far), near = MIN_LANE(UBITS, seen->near);
  if (near == MAGNITUDE_MASK) return;  // nothing: this is a NaN's
  // All below zero: the smallest magnitude is the largest. None below zero: it is the smallest.
  raise_extrema(partial, top < 0 ? ~(i64)near : (i64)top,
                far > MAGNITUDE_MASK ? ~(i64)(far & MAGNITUDE_MASK) : (i64)near);
}
