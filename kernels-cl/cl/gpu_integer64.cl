// A lane's tally of int64 and uint64. It adds 32-bit halves, as precision/fold/fold_integer64.h does.
#define SUMS (2 * LINEAR + 6)
#define SQUARE_SUMS (2 * LINEAR)  // the index of the squares' sums
typedef struct {
  // Low and high halves of each linear sum; of low^2, low * high and high^2. Those of SUM add x, of the others sizes
  // |x|.
  i64 sums[SUMS];
  i64 top, bottom;
  u32 zeros, negatives;
} Lane;

INLINE void open_lane(Lane* lane, const Window* window) {
  (void)window;
#pragma unroll
  for (int k = 0; k < SUMS; ++k) lane->sums[k] = 0;
  lane->top = PARTIAL_NO_KEY;
  lane->bottom = ~PARTIAL_NO_KEY;
  lane->zeros = lane->negatives = 0;
}

INLINE void add_halves(i64* sums, u64 product) {
  sums[0] += product & 0xffffffff;
  sums[1] += product >> 32;
}

INLINE bool take(Lane* lane, const Window* window, UBITS element) {
  (void)window;
  const i64 x = (i64)element, key = x ^ KEY_FLIP;
  lane->top = max(lane->top, key);
  lane->bottom = min(lane->bottom, key);
  if (NEEDS & NEED_SIGNS) {
    lane->zeros += x == 0;
    lane->negatives += IS_SIGNED && x < 0;
  }
  if (NEEDS & NEED_SUM) {
    lane->sums[0] += x & 0xffffffff;
    lane->sums[1] += IS_SIGNED ? x >> 32 : (i64)(element >> 32);
  }
  const u64 magnitude = IS_SIGNED && x < 0 ? 0 - element : element;
#pragma unroll
  for (int sum = 1; sum < LINEAR; ++sum) {
    const bool takes = (IS_SIGNED && x < 0 ? linear_below(sum) : linear_above(sum)) != 0;
    if ((NEEDS & linear_need(sum)) && takes) add_halves(lane->sums + 2 * sum, magnitude);
  }
  if (NEEDS & NEED_SQUARES) {
    const u64 low = magnitude & 0xffffffff, high = magnitude >> 32;
    add_halves(lane->sums + SQUARE_SUMS, low * low);
    add_halves(lane->sums + SQUARE_SUMS + 2, low * high);
    add_halves(lane->sums + SQUARE_SUMS + 4, high * high);
  }
  return true;
}

INLINE bool take_vector(Lane* lane, const Window* window, uint4 vector) {
  return take(lane, window, as_ulong(vector.xy)) & take(lane, window, as_ulong(vector.zw));
}

INLINE u32 take_step(Lane* lane, const Window* window, const uint4* vectors) {
#pragma unroll
  for (u32 k = 0; k < LOADS; ++k) (void)take_vector(lane, window, vectors[k]);
  return 0;
}

INLINE void close_lane(const Lane* lane, const Window* window, i64* tally) {
  (void)window;
  tally[TALLY_HIGHEST] = lane->top;
  tally[TALLY_LOWEST] = ~lane->bottom;
  tally[TALLY_ZEROS] = lane->zeros;
  tally[TALLY_NEGATIVES] = lane->negatives;
#pragma unroll
  for (int k = 0; k < SUMS; ++k) tally[TALLY_SUMS + k] = lane->sums[k];
}

INLINE void deposit_sums(local i64* partial, const Window* window, const i64* sums) {
  (void)window;
#pragma unroll
  for (int sum = 0; sum < LINEAR; ++sum) {
    const i64 times = sum == LINEAR_SUM ? 1 : linear_of_size(sum, 1, linear_above(sum) == 0);
    deposit(partial + LINEAR_OFFSET(sum), times * sums[2 * sum], 0);
    deposit(partial + LINEAR_OFFSET(sum), times * sums[2 * sum + 1], 32);
  }
  const i64* squares = sums + SQUARE_SUMS;
  deposit(partial + OFFSET(SQUARES), squares[0], 0);
  deposit(partial + OFFSET(SQUARES), squares[1], 32);
  deposit(partial + OFFSET(SQUARES), squares[2], 33);  // low * high counts twice
  deposit(partial + OFFSET(SQUARES), squares[3], 65);
  deposit(partial + OFFSET(SQUARES), squares[4], 64);
  deposit(partial + OFFSET(SQUARES), squares[5], 96);
}
