// The fold of the 8-bit floats, and of other dtypes that are stored as codes (fold_unpacked.h). It counts how often
// each of the 256 codes occurs. At the end it lifts each code as often. This is exact, as the lift is. One text for C++
// and OpenCL C, included once for each dtype.
//
// Neighbours are counted in different copies, so that an addition to memory seldom waits for the one before. The caller
// gives fewer than 2^30 elements, so a count fits into 32 bits.
#define CODES 256
#define CODE_COPIES 4

typedef struct {
  u32 counts[CODE_COPIES][CODES];
} Fold;

INLINE void open(Fold* fold, const int needs) {
  (void)needs;
  for (int copy = 0; copy < CODE_COPIES; ++copy) {
    for (int code = 0; code < CODES; ++code) fold->counts[copy][code] = 0;
  }
}

INLINE u32 fold_some(Fold* fold, WORDS i64* partial, SPACE const u8* p, const u64 left, SPACE const u8* from,
                     const int needs) {
  (void)left;
  (void)from;
  (void)partial;
  (void)needs;
  for (int i = 0; i < GROUP; i += CODE_COPIES) {
    UNROLL
    for (int copy = 0; copy < CODE_COPIES; ++copy) ++fold->counts[copy][p[i + copy]];
  }
  return GROUP;
}

INLINE void close(Fold* fold, WORDS i64* partial, const int needs) {
  for (i32 code = 0; code < CODES; ++code) {
    i64 n = 0;
    for (int copy = 0; copy < CODE_COPIES; ++copy) n += fold->counts[copy][code];
    if (n != 0) lift_codes(partial, (u32)code, n, needs);
  }
}

#if !UNPACKS

// What the block of `count` elements at p has, for fold_indices.h. Counts have no order, so this reads the codes again.
INLINE int so_far(const Fold* fold, const WORDS i64* partial, SPACE const u8* p, const u32 count, i64* highest,
                  i64* lowest) {
  (void)fold;
  (void)partial;
  const v_i8 none = SPLAT(i8, 0);
  v_i8 top = SPLAT(i8, -128), bottom = SPLAT(i8, 127), nans = none, infs = none;
  for (u32 i = 0; i < count; i += (u32)LANES(u8)) {
    const v_u8 bits = LOAD(u8, p + i), sizes = ELEMENT_SIZES(bits);
    const v_i8 codes = AS(i8, bits), key = codes < none ? ~AS(i8, bits & (u8)MAGNITUDE_MASK) : codes;
    const v_i8 is_nan = AS(i8, sizes > INF_SIZE);
    top = MAX(top, is_nan != none ? SPLAT(i8, -128) : key);
    bottom = MIN(bottom, is_nan != none ? SPLAT(i8, 127) : key);
    nans |= is_nan;
    infs |= AS(i8, sizes == INF_SIZE);
  }
  *highest = MAX_LANE(i8, top);
  *lowest = MIN_LANE(i8, bottom);
  return (ANY(i8, nans != none) ? SEEN_NAN : 0) | (HAS_INF && ANY(i8, infs != none) ? SEEN_INF : 0);
}
#endif
