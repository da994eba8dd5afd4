// The kernel for a GPU. A work-group folds a slice, and each work-item is a lane. Neighbouring lanes read neighbouring vectors
// of 16 bytes, LOADS of them in advance. Each lane tallies in registers. At the end the lanes add their tallies in local
// memory, two by two, and one lane deposits the total. A tally cannot take NaN, Inf and elements outside of the slice's
// window. These are lifted into the shared partial by atomics. Integer additions have no order, so atomics do not change
// bits. Several slices may share a partial, which the host has emptied.
//
// A family's text (gpu_float.cl and the like) defines
//   Lane, open_lane               the registers
//   take_vector, take             take 16 bytes, or one element; false if these must be lifted
//   SUMS, close_lane              the tally; its SUMS integer sums are last
//   deposit_sums                  adds the sums to the partial
// No lane gets more than 2^LOG2_STEPS elements of a slice, so the sums need not be emptied before the end. For complex
// dtypes an element is a real or imaginary part here; PARTS of them are one element of the tensor (gpu_complex.cl).
// clang-format off: each text needs those before it
#include "kernels-cl/cl/common.cl"
#include "kernels-cl/cl/indices.cl"
#include "kernels-cl/cl/gpu_merge.cl"
#if IS_COMPLEX
#include "precision/lift/lift_complex.h"
#include "kernels-cl/cl/gpu_complex.cl"
#else
#include "kernels-cl/cl/gpu_lift.cl"
#include "kernels-cl/cl/gpu_elements.cl"
#endif
#ifdef FOLDS
#include "kernels-cl/cl/gpu_packed.cl"
#include "kernels-cl/cl/gpu_window.cl"
#include GROUP_TEXT
#endif
// clang-format on

#ifdef FOLDS
#define TALLY_WORDS (TALLY_SUMS + SUMS)
#else
#define TALLY_WORDS 1
#endif
#define LANE_PAIRS (LANES_A_GROUP > 1 ? LANES_A_GROUP / 2 : 1)
#define VECTOR_ELEMENTS (16 / (u32)sizeof(UBITS))
// The index of the first element in the lane's k-th vector of a step.
#define FIRST_OF(k) (head + (i + (k) * LANES_A_GROUP) * VECTOR_ELEMENTS)

#ifdef FOLDS
#define TAKE(i) \
  if (is_summed(elements, i) && !take(&state, &window, elements[i])) lift_one(partial, elements[i])
#define TAKE_VECTOR(v, first) (take_elements(&beside, v, first), take_vector(&state, &window, v))
#else
#define TAKE(i) \
  if (is_summed(elements, i)) lift_one(partial, elements[i])
#define TAKE_VECTOR(v, first) (take_elements(&beside, v, first), false)
#endif

kernel __attribute__((reqd_work_group_size(LANES_A_GROUP, 1, 1)))
void fold(global const u8* source, global u8* workspace, u64 slices_at, u64 partials_at) {
  local i64 partial[PLAIN_WORDS];
  local u32 exponents[EXPONENT_COUNTS];
#ifdef FOLDS
  local i64 desk[TALLY_WORDS][LANE_PAIRS];
#endif
  local u32 highest, fingerprint_words[FINGERPRINT_LOCAL_WORDS], bin_counts[BIN_LOCAL_WORDS];
  const Slice slice = ((global const Slice*)(workspace + slices_at))[get_group_id(0)];
  const u32 lane = (u32)get_local_id(0), count = (u32)slice.count * PARTS;
  global const u8* begin = source + slice.first_byte;
  global const UBITS* elements = (global const UBITS*)begin;

  if (lane == 0) highest = 0;
  open_fingerprints(fingerprint_words, lane);
  open_bins(bin_counts, lane);
  for (int word = (int)lane; word < PLAIN_WORDS; word += LANES_A_GROUP) partial[word] = EMPTY_WORD(FAMILY, word);
  for (int i = (int)lane; i < EXPONENT_COUNTS; i += LANES_A_GROUP) exponents[i] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
#ifdef FOLDS
#if HAS_WINDOW
  if (!HOLDS_ALL && lane < count) atomic_max(&highest, exponent_of(elements[lane]));
  barrier(CLK_LOCAL_MEM_FENCE);
  Window window;
  move_window(&window, (i32)highest);
#else
  const Window window = {0, 0, 0};
#endif
  Lane state;
  open_lane(&state, &window);
#endif
  Elements beside;
  open_elements(&beside, exponents, lane);

  const u32 head = min((u32)((0 - (size_t)begin) & 15) / (u32)sizeof(UBITS), count);
  const u32 vector_count = (count - head) / VECTOR_ELEMENTS;
  const u32 tail = head + vector_count * VECTOR_ELEMENTS;
  global const uint4* vectors = (global const uint4*)(elements + head);
  for (u32 i = lane; i < vector_count; i += LOADS * LANES_A_GROUP) {
    u32 refused = 0;  // a bit for each vector that take_vector() refused
    if (i + (LOADS - 1) * LANES_A_GROUP < vector_count) {
      uint4 ahead[LOADS];
#pragma unroll
      for (u32 k = 0; k < LOADS; ++k) ahead[k] = vectors[i + k * LANES_A_GROUP];
#pragma unroll
      for (u32 k = 0; k < LOADS; ++k) refused |= TAKE_VECTOR(ahead[k], FIRST_OF(k)) ? 0 : 1u << k;
    } else {
#pragma unroll 1
      for (u32 k = 0; i + k * LANES_A_GROUP < vector_count; ++k) {
        refused |= TAKE_VECTOR(vectors[i + k * LANES_A_GROUP], FIRST_OF(k)) ? 0 : 1u << k;
      }
    }
#pragma unroll 1
    for (u32 k = 0; refused != 0; ++k, refused >>= 1) {
      if ((refused & 1) == 0) continue;
#pragma unroll 1
      for (u32 e = 0; e < VECTOR_ELEMENTS; ++e) TAKE(FIRST_OF(k) + e);
    }
  }
#pragma unroll 1
  for (u32 i = lane; i < head; i += LANES_A_GROUP) {
    take_element(&beside, elements, i);
    TAKE(i);
  }
#pragma unroll 1
  for (u32 i = tail + lane; i < count; i += LANES_A_GROUP) {
    take_element(&beside, elements, i);
    TAKE(i);
  }

#ifdef FOLDS
  i64 tally[TALLY_WORDS];
  close_lane(&state, &window, tally);
  for (u32 half_way = LANES_A_GROUP / 2; half_way > 0; half_way /= 2) {
    if (lane >= half_way && lane < 2 * half_way) {
#pragma unroll
      for (int k = 0; k < TALLY_WORDS; ++k) desk[k][lane - half_way] = tally[k];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < half_way) {
#pragma unroll
      for (int k = 0; k < TALLY_WORDS; ++k) {
        const i64 other = desk[k][lane];
        tally[k] = k <= TALLY_LOWEST ? MAX(tally[k], other) : tally[k] + other;
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (lane == 0) {
    // If no element was tallied, the highest lies below the lowest.
    if ((NEEDS & NEED_EXTREMA) && tally[TALLY_HIGHEST] >= ~tally[TALLY_LOWEST]) {
      raise_extrema(partial, tally[TALLY_HIGHEST], ~tally[TALLY_LOWEST]);
    }
    if (NEEDS & NEED_SIGNS) {
      ADD(partial[PARTIAL_ZEROS], tally[TALLY_ZEROS]);
      ADD(partial[PARTIAL_NEGATIVES], tally[TALLY_NEGATIVES]);
    }
    deposit_sums(partial, &window, tally + TALLY_SUMS);
  }
#endif
  close_elements(&beside, partial);
  CLOSE_INDICES(beside.indices, partial)
  CLOSE_FINGERPRINTS(fingerprint_words, begin, count * (u32)sizeof(UBITS), lane, partial)
  TAKE_CASTS(slice, workspace, partial, begin, lane, count, LANES_A_GROUP)
  CLOSE_BINS(slice, workspace, bin_counts, elements, count, lane)
  global i64* shared = (global i64*)(workspace + partials_at) + slice.partial * WORD_COUNT;
  MERGE_PARTIAL(partial, PLAIN_WORDS, lane, count / PARTS, shared)
  if (NEEDS & NEED_EXPONENTS) {  // after the barrier in MERGE_PARTIAL
    for (int i = (int)lane; i < (int)EXPONENTS_OF_FAMILY; i += LANES_A_GROUP) {
      i64 n = 0;
      for (int copy = 0; copy < EXPONENT_COPIES; ++copy) n += exponents[i * EXPONENT_COPIES + copy];
      if (n != 0) atom_add(&shared[OFFSET(EXPONENTS) + i], n);
    }
  }
}
