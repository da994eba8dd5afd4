// A lane's tally of bool and the integers up to 32 bits. Squares of 32-bit elements are added as their
// low and high halves; of 8-bit elements everything that a lane may be given stays below 2^31.
#define IS_WIDE (sizeof(UBITS) == 4)
#define IS_BYTE (sizeof(UBITS) == 1)
#define EXPONENT_OF(bits) 0

typedef struct {
  u32 none;
} Window;

typedef struct {
  i64 sum, low, high;
  i32 byte_sum, byte_squares;
  i64 top, bottom;
  u32 zeros, negatives;
} Lane;

INLINE void place(Window* window, i32 highest) { window->none = (u32)highest; }

INLINE void open_lane(Lane* lane, const Window* window) {
  (void)window;
  lane->sum = lane->low = lane->high = 0;
  lane->byte_sum = lane->byte_squares = 0;
  lane->top = PARTIAL_NO_KEY;
  lane->bottom = ~PARTIAL_NO_KEY;
  lane->zeros = lane->negatives = 0;
}

INLINE void take(Lane* lane, const Window* window, local i64* partial, UBITS element) {
  (void)window, (void)partial;
  const i64 x = IS_BOOL ? element != 0 : (i64)(ORDERED)element;
  lane->top = max(lane->top, x);
  lane->bottom = min(lane->bottom, x);
  if (NEEDS & NEED_SIGNS) {
    lane->zeros += x == 0;
    lane->negatives += x < 0;
  }
  if (IS_BYTE) {
    lane->byte_sum += (i32)x;
    lane->byte_squares += (i32)x * (i32)x;
    return;
  }
  if (NEEDS & NEED_SUM) lane->sum += x;
  if (NEEDS & NEED_SQUARES) {
    const u64 square = (u64)(x * x);
    lane->low += IS_WIDE ? square & 0xffffffff : square;
    if (IS_WIDE) lane->high += square >> 32;
  }
}

#define SUMS 3
INLINE i64 sum_of(const Lane* lane, const Window* window, int k) {
  (void)window;
  if (IS_BYTE) return k == 0 ? lane->byte_sum : k == 1 ? lane->byte_squares : 0;
  return k == 0 ? lane->sum : k == 1 ? lane->low : lane->high;
}

INLINE void deposit_sums(local i64* partial, const Window* window, const i64* sums) {
  (void)window;
  deposit(partial + PARTIAL_SUM, sums[0], 0);
  deposit(partial + SQUARES, sums[1], 0);
  deposit(partial + SQUARES, sums[2], 32);
}
