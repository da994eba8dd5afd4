// The fold of a float tensor in `low`: each square and each sum is rounded to the tensor's type. One text for C++ and
// OpenCL C, included once for each dtype. low.h has the types.
//
// Rounded sums depend on their order, so `low` fixes one. The tensor is cut into tiles of 1,024
// elements, from its first on. Within a tile, lane k of 16 adds the elements k, k + 16, k + 32, ...;
// then the lanes are added in halves, lane k + 8 to lane k, and so on; each step is rounded. Tiles go
// into the exact words, and their total is rounded to the type once (stats/core/meter/finish.cpp). So every engine
// gives the same bits, and a tensor may be cut between tiles.
//
// The squares overflow where the type does. The linear sums are held at 2^-10 of their size, which
// a tile of the largest values does not overflow.

// Folds the `count` elements at p, at most a tile.
INLINE void low_tile(WORDS i64* partial, TILE_SPACE const u8* p, const u32 count, const int needs) {
  OWN linear[LINEAR_SUMS][TILE_LANES], square[TILE_LANES];
  for (u32 k = 0; k < TILE_LANES; ++k) {
    FOR_EACH_LINEAR(linear[sum][k] = 0;)
    square[k] = 0;
  }
  for (u32 i = 0; i < count; ++i) {
    const UBITS bits = LOAD_OF(TILE_SPACE, UBITS, p + i * sizeof(UBITS));
    lift_elements(partial, bits, 1, needs);
    const UBITS magnitude = bits & MAGNITUDE_MASK;
    const i64 key = bits == magnitude ? (i64)magnitude : ~(i64)magnitude;
    if (!lift_float(partial, key, (i64)magnitude, (i64)INF_BITS, 1)) continue;
    const OWN x = NAME(own)(bits);
    const u32 k = i % TILE_LANES;
    const OWN addend = NAME(round_sum)(x * (OWN)(1.0f / TILE));
    FOR_EACH_LINEAR(if (linear_is_lifted(sum, needs)) {
      linear[sum][k] = NAME(round_sum)(linear[sum][k] + LINEAR_TERM(addend, sum));
    })
    square[k] = NAME(round_square)(square[k] + NAME(round_square)(x * x));
  }
  for (u32 upper = TILE_LANES / 2; upper != 0; upper /= 2) {
    for (u32 k = 0; k < upper; ++k) {
      FOR_EACH_LINEAR(if (linear_is_lifted(sum, needs)) {
        linear[sum][k] = NAME(round_sum)(linear[sum][k] + linear[sum][k + upper]);
      })
      square[k] = NAME(round_square)(square[k] + square[k + upper]);
    }
  }
  FOR_EACH_LINEAR(if (linear_is_lifted(sum, needs)) {
    NAME(deposit_own)(partial + LINEAR_OFFSET(sum), linear[sum][0], LOG2_TILE);
  })
  if (square[0] - square[0] != 0) {  // Inf
    ADD(partial[PARTIAL_OVERFLOWS], 1);
  } else {
    NAME(deposit_own)(partial + OFFSET(SQUARES), square[0], (u32)-CAT(SUM_EXPONENT_, FAMILY));
  }
}
