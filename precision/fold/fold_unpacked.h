// The fold of dtypes that are unpacked: e8m0, and the packed dtypes, which hold several elements in a byte. It counts
// how often each byte occurs (fold_coded.h). At the end it lifts the elements of each byte as often as the byte
// occurred. One text for C++ and OpenCL C, included once for each dtype.
#include "precision/fold/fold_coded.h"

// After so many bytes, new codes are looked for.
#define CODE_BLOCK 4096

// Whether a code has occurred that is not known yet. Only the first byte with a code can hold a first element, so other
// blocks are not searched for indices.
INLINE int has_new(const Fold* fold, u8* known) {
  int result = 0;
  for (int code = 0; code < CODES; ++code) {
    u32 any = 0;
    for (int copy = 0; copy < CODE_COPIES; ++copy) any |= fold->counts[copy][code];
    result |= any != 0 && known[code] == 0;
  }
  return result;
}

NOINLINE void find_new(u8* known, i64* words, SPACE const u8* p, const u32 count, const u64 first) {
  for (u32 i = 0; i < count; ++i) {
    const u32 code = p[i];
    if (known[code]) continue;
    known[code] = 1;
    lift_index_some(words, code, ELEMENTS_A_CODE, first + (u64)i * ELEMENTS_A_CODE);
  }
}

// Folds the `count` elements at p, which have fewer than 2^30 bytes. The first one is element `first`.
INLINE void fold_codes(WORDS i64* partial, SPACE const u8* p, const u64 count, const u64 first, const int needs) {
  const u64 codes = count / ELEMENTS_A_CODE;
  const u32 rest = (u32)(count % ELEMENTS_A_CODE);
  const int has_indices = (needs & NEED_INDICES) != 0;
  Fold fold;
  u8 known[CODES];
  open(&fold, needs);
  for (int code = 0; code < CODES; ++code) known[code] = 0;
  for (u64 i = 0; i < codes; i += CODE_BLOCK) {
    const u32 size = (u32)MIN(codes - i, (u64)CODE_BLOCK), whole = size / GROUP * GROUP;
    for (u32 k = 0; k < whole; k += GROUP) {
      for (u32 line = 0; line < GROUP; line += 64) PREFETCH(p + i + k + line);
      fold_some(&fold, partial, p + i + k, GROUP, p + i + k, needs);
    }
    for (u32 k = whole; k < size; ++k) ++fold.counts[0][p[i + k]];
    if (has_indices && has_new(&fold, known)) {
      find_new(known, partial + OFFSET(INDICES), p + i, size, first + i * ELEMENTS_A_CODE);
    }
  }
  close(&fold, partial, needs);
  if (rest == 0) return;
  lift_some(partial, (u32)p[codes], rest, 1, needs);
  if (has_indices) lift_index_some(partial + OFFSET(INDICES), (u32)p[codes], rest, first + count - rest);
}
