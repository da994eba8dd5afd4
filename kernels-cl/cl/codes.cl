// Counts the elements of dtypes that are stored as codes: the bins of quantiles (bins.cl) and casts at a scale (casts.cl).
// take_code() takes a byte that occurs `n` times, and its first `elements` elements.
#ifdef SHAPE_GROUP
#define ADD_TO_BIN(bin, n) (void)atomic_add(&(bin), n)
#else
#define ADD_TO_BIN(bin, n) ((bin) += (n))
#endif

INLINE void take_code(const Slice slice, global u8* workspace, WORDS i64* partial, const u32 code, const u32 elements,
                      const u32 n) {
  for (u32 k = 0; k < elements; ++k) {
    const UBITS bits = UNPACKED(code, k);
    if (HAS_BINS && !WRITES_CODES(slice)) ADD_TO_BIN(COUNTS_AT(slice, workspace)[CODE_OF(bits)], n);
    if (SCALED_CASTS != 0) lift_casts(partial, bits, n, POINTER(const u64, workspace, slice.casts), SCALED_CASTS);
  }
}

#if defined(SHAPE_SLICE) && UNPACKS
// A second reading of the slice.
INLINE void take_codes(const Slice slice, global u8* workspace, i64* partial, global const u8* bytes) {
  const u64 whole = slice.count / ELEMENTS_A_CODE;
  u32 counts[CODES];
  for (u32 code = 0; code < CODES; ++code) counts[code] = 0;
  for (u64 i = 0; i < whole; ++i) ++counts[bytes[i]];
  open_bins(slice, workspace);
  for (u32 code = 0; code < CODES; ++code) {
    if (counts[code] != 0) take_code(slice, workspace, partial, code, ELEMENTS_A_CODE, counts[code]);
  }
  if (slice.count % ELEMENTS_A_CODE != 0) {
    take_code(slice, workspace, partial, bytes[whole], (u32)(slice.count % ELEMENTS_A_CODE), 1);
  }
}
#endif
