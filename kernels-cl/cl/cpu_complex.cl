// The kernel of complex dtypes for a CPU. DTYPE is the dtype of the real and imaginary parts. The family's fold adds the
// squares of the parts. This text counts elements. kernels-cl/cl/cpu.cl is the kernel of real dtypes.
// clang-format off: each text needs those before it
#include "kernels-cl/cl/common.cl"
#include "precision/lift/lift_complex.h"
#include "precision/fold/fold_elements.h"
#include "precision/fold/fold_exponents.h"
#ifdef FOLDS
#include FOLD_TEXT
#include "precision/fold/fold_indices.h"
#endif
// clang-format on

// Swaps the real and the imaginary part of each element.
#define OTHER_PARTS(parts) CAT(OTHER_PARTS_, UBITS)(parts)
#define OTHER_PARTS_u32(parts) AS(u32, rotate(AS(u64, parts), (ulong8)(32)))
#define OTHER_PARTS_u64(parts) (parts).s10325476

// For each part, the larger size of its element's two parts.
INLINE VECTOR_OF(UBITS) larger_sizes(global const u8* bytes, const u64 i) {
  const VECTOR_OF(UBITS) sizes = LOAD(UBITS, bytes + i * sizeof(UBITS)) & SPLAT(UBITS, MAGNITUDE_MASK);
  return MAX(sizes, OTHER_PARTS(sizes));
}

// Counts the elements of whole groups of parts. There must be few enough for the counters in lanes.
INLINE void count_elements(i64* fields, global const u8* bytes, const u64 parts) {
  VECTOR_OF(SBITS) nans = ZERO(VECTOR_OF(SBITS)), specials = nans, zeros = nans;
  for (u64 i = 0; i < parts; i += LANES(UBITS)) {
    const VECTOR_OF(UBITS) larger = larger_sizes(bytes, i);
    COUNT_INTO(SBITS, nans, larger > SPLAT(UBITS, INF_SIZE));
    COUNT_INTO(SBITS, specials, larger >= SPLAT(UBITS, INF_SIZE));
    COUNT_INTO(SBITS, zeros, larger == SPLAT(UBITS, 0));
  }
  const i64 all_nans = ADD_LANES(SBITS, nans) / 2;
  fields[PARTIAL_NANS] += all_nans;
  fields[PARTIAL_POSITIVE_INFS] += ADD_LANES(SBITS, specials) / 2 - all_nans;
  fields[PARTIAL_ZEROS] += ADD_LANES(SBITS, zeros) / 2;
}

// The fold of parts does not know elements. It added finite parts although the other part of the element is NaN or Inf.
// This subtracts them.
INLINE void take_back_specials(i64* partial, global const u8* bytes, const u64 parts) {
  global const UBITS* part = (global const UBITS*)bytes;
  for (u64 first = 0; first < parts; first += LANES(UBITS)) {
    if (!ANY(SBITS, ABOVE(UBITS, larger_sizes(bytes, first), SPLAT(UBITS, INF_SIZE - 1)))) continue;
    for (u64 i = first; i < first + LANES(UBITS); ++i) {
      const bool is_finite = (part[i] & MAGNITUDE_MASK) < INF_SIZE, is_beside = (part[i ^ 1] & MAGNITUDE_MASK) >= INF_SIZE;
      if (is_finite && is_beside) lift_square(partial, part[i], -1);
    }
  }
}

kernel void fold(global const u8* source, global u8* workspace, u64 slices_at, u64 partials_at) {
  const Slice slice = POINTER(const Slice, workspace, slices_at)[get_global_id(0)];
  global const u8* bytes = POINTER(const u8, source, slice.first_byte);
  i64 partial[WORD_COUNT];
  for (int word = 0; word < WORD_COUNT; ++word) partial[word] = EMPTY_WORD(FAMILY, word);
  const u64 parts = 2 * slice.count;
  u64 i = 0;
#ifdef FOLDS
  i64 fields[PARTIAL_FIELDS];
  for (int field = 0; field < PARTIAL_FIELDS; ++field) fields[field] = partial[field];
  const u64 whole = parts / GROUP * GROUP;
  Fold fold;
  open(&fold, NEEDS);
  while (i < whole) {
    const u64 first = i, end = min(first + ELEMENT_BLOCK, whole);
    const i64 specials_before = fields[PARTIAL_NANS] + fields[PARTIAL_POSITIVE_INFS];
    while ((NEEDS & NEED_SQUARES) && i < end) {
      global const u8* address = bytes + i * sizeof(UBITS);
      i += fold_some(&fold, partial, address, end - i, address, NEEDS);
    }
    i = end;
    count_elements(fields, bytes + first * sizeof(UBITS), end - first);
    if (fields[PARTIAL_NANS] + fields[PARTIAL_POSITIVE_INFS] == specials_before) continue;
    if (NEEDS & NEED_SQUARES) take_back_specials(partial, bytes + first * sizeof(UBITS), end - first);
    if (NEEDS & NEED_INDICES) {
      lift_complex_indices(partial + OFFSET(INDICES), bytes + first * sizeof(UBITS), (end - first) / 2, first / 2);
    }
  }
  close(&fold, partial, NEEDS);
  for (int field = 0; field < PARTIAL_FIELDS; ++field) partial[field] = fields[field];  // the fold counted parts, not elements
#endif
  if (NEEDS & NEED_INDICES) {
    lift_complex_indices(partial + OFFSET(INDICES), bytes + i * sizeof(UBITS), (parts - i) / 2, i / 2);
  }
  for (; i < parts; i += 2) lift_complex(partial, bytes + i * sizeof(UBITS), 1, NEEDS);
  if (NEEDS & NEED_FINGERPRINTS) take_fingerprints(partial, bytes, parts * sizeof(UBITS));
  partial[PARTIAL_COUNT] = (i64)slice.count;
  global i64* result = POINTER(i64, workspace, partials_at) + slice.partial * WORD_COUNT;
  for (int word = 0; word < WORD_COUNT; ++word) result[word] = partial[word];
}
