// The fold of the 8-bit floats: how often each of the 256 codes stands there, whatever the format makes of them, and
// at the end as many lifts as there were codes. Exact, as the lift is. One text for C++ and OpenCL C, included once a
// dtype.
//
// Neighbours are counted in different copies, so that an addition to memory seldom waits for the one before. The
// caller keeps the elements below 2^30, so a count fits its 32 bits.
#define CODES 256
#define CODE_COPIES 4

typedef struct {
  u32 counts[CODE_COPIES][CODES];
} NAME(fold);

INLINE void NAME(open)(NAME(fold) * fold, const int needs) {
  (void)needs;
  for (int copy = 0; copy < CODE_COPIES; ++copy) {
    for (int code = 0; code < CODES; ++code) fold->counts[copy][code] = 0;
  }
}

INLINE void NAME(fold_group)(NAME(fold) * fold, WORDS i64* partial, SPACE const u8* p, const int needs) {
  (void)partial;
  (void)needs;
  for (int i = 0; i < GROUP; i += CODE_COPIES) {
    UNROLL
    for (int copy = 0; copy < CODE_COPIES; ++copy) ++fold->counts[copy][p[i + copy]];
  }
}

INLINE void NAME(close)(NAME(fold) * fold, WORDS i64* partial, const int needs) {
  for (i32 code = 0; code < CODES; ++code) {
    i64 n = 0;
    for (int copy = 0; copy < CODE_COPIES; ++copy) n += fold->counts[copy][code];
    if (n != 0) NAME(lift_codes)(partial, code, n, needs);
  }
}
