// The fold of bool and the integers up to 32 bits. One text for C++ and OpenCL C, included once a dtype.
//
// Squares of 32-bit elements are added as their low and high halves, so that a lane's 64 bits hold
// 2^32 of them. A bool is any byte: 0 is 0, everything else is 1.
#define NUMBER(type, x) (IS_BOOL ? MIN(x, SPLAT(type, 1)) : (x))
#define IS_WIDE (sizeof(UBITS) == 4)
#define COUNT_STEPS 128  // vectors until the narrow counting lanes are emptied

typedef struct {
  v_i64 sum, low, high;
  VECTOR_OF(ORDERED) top, bottom;
  VECTOR_OF(UBITS) zeros, negatives;
  u32 steps;
} NAME(fold);

INLINE void NAME(clear)(NAME(fold) * fold) {
  fold->sum = fold->low = fold->high = SPLAT(i64, 0);
  fold->zeros = fold->negatives = SPLAT(UBITS, 0);
  fold->steps = 0;
}

INLINE void NAME(flush)(NAME(fold) * fold, WORDS i64* partial, const int needs) {
  if (needs & NEED_SUM) deposit(partial + PARTIAL_SUM, ADD_LANES(i64, fold->sum), 0);
  if (needs & NEED_SQUARES) {
    deposit(partial + SQUARES, ADD_LANES(i64, fold->low), 0);
    if (IS_WIDE) deposit(partial + SQUARES, ADD_LANES(i64, fold->high), 32);
  }
  if (needs & NEED_SIGNS) {
    ADD(partial[PARTIAL_ZEROS], ADD_LANES(UBITS, fold->zeros));
    ADD(partial[PARTIAL_NEGATIVES], ADD_LANES(UBITS, fold->negatives));
  }
  NAME(clear)(fold);
}

INLINE void NAME(open)(NAME(fold) * fold, const int needs) {
  (void)needs;
  fold->top = SPLAT(ORDERED, LOWEST_OF(ORDERED));
  fold->bottom = SPLAT(ORDERED, (ORDERED)~LOWEST_OF(ORDERED));
  NAME(clear)(fold);
}

INLINE void NAME(close)(NAME(fold) * fold, WORDS i64* partial, const int needs) {
  NAME(flush)(fold, partial, needs);
  if (needs & NEED_EXTREMA) {
    const ORDERED top = MAX_LANE(ORDERED, fold->top), bottom = MIN_LANE(ORDERED, fold->bottom);
    if (top >= bottom) raise_extrema(partial, (i64)top, (i64)bottom);
  }
}

INLINE void NAME(fold_group)(NAME(fold) * fold, WORDS i64* partial, SPACE const u8* p,
                             const int needs) {
  for (int i = 0; i < GROUP; i += LANES(UBITS)) {
    const VECTOR_OF(ORDERED) x = NUMBER(ORDERED, LOAD(ORDERED, p + i * (int)sizeof(UBITS)));
    if (needs & NEED_EXTREMA) {
      fold->top = MAX(fold->top, x);
      fold->bottom = MIN(fold->bottom, x);
    }
    if (needs & NEED_SIGNS) {
      COUNT_INTO(UBITS, fold->zeros, x == (ORDERED)0);
      if (IS_SIGNED) COUNT_INTO(UBITS, fold->negatives, AS(SBITS, x) < (SBITS)0);
    }
  }
  if (needs & (NEED_SUM | NEED_SQUARES)) {
    for (int i = 0; i < GROUP; i += LANES(i64)) {
      const v_i64 x = NUMBER(i64, WIDEN(ORDERED, p + i * (int)sizeof(UBITS)));
      fold->sum += x;
      if (needs & NEED_SQUARES) {
        const v_u64 square = IS_SIGNED ? AS(u64, MUL_32_SIGNED(x, x)) : MUL_32(AS(u64, x), AS(u64, x));
        fold->low += AS(i64, IS_WIDE ? square & 0xffffffff : square);
        if (IS_WIDE) fold->high += AS(i64, square >> 32);
      }
    }
  }
  fold->steps += GROUP / LANES(UBITS);
  if (fold->steps >= COUNT_STEPS) NAME(flush)(fold, partial, needs);
}
