// The kernel for a GPU. A work-group folds a slice, and each work-item is a lane. Neighbouring lanes read neighbouring vectors
// of 16 bytes, LOADS of them in a step. Each lane tallies in registers. At the end the lanes add their tallies in local
// memory, two by two, and one lane deposits the total. A tally cannot take NaN, Inf and elements outside of the slice's
// window. These are lifted into the shared partial by atomics. Integer additions have no order, so atomics do not change
// bits. Several slices may share a partial, which is memory of zeros at first.
//
// A family's text (gpu_float.cl and the like) defines
//   Lane, open_lane               the registers
//   take_step                     takes the LOADS vectors of a step; returns a bit for each vector that it did not take
//   take_vector, take             take 16 bytes, or one element; false, and nothing taken, if an element must be lifted
//   SUMS, close_lane              the tally; its SUMS integer sums are last
//   deposit_sums                  adds the sums to the partial
// Families of floats define STEPS_A_FLUSH, too: flush_lane() adds the sums of that many steps to integers.
//
// Two things kept an H200 at half of its speed. A compiler sinks a load behind the branch of another vector, so the loads of
// a step are kept together. A lane that had taken another way went on alone, and its warp ran the rest of the slice twice, so
// the lanes of a warp meet after each step.
// For complex dtypes an element is a real or imaginary part here; PARTS of them are one element of the tensor
// (gpu_complex.cl).
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
#ifndef STEPS_A_FLUSH
#define STEPS_A_FLUSH 0  // there is nothing to flush
#define LOADS_AHEAD false
INLINE void flush_lane(Lane* lane, const Window* window) { (void)lane, (void)window; }
#endif
#define REFUSED_OF_STEP(step) take_step(&state, &window, step)
#define TAKES_VECTOR(vector) take_vector(&state, &window, vector)
#define TAKES(element) take(&state, &window, element)
#else
#define STEPS_A_FLUSH 0
#define LOADS_AHEAD false
#define REFUSED_OF_STEP(step) ((1u << LOADS) - 1)
#define TAKES_VECTOR(vector) false
#define TAKES(element) false
#define flush_lane(lane, window)
#endif
#define TAKE(i) \
  if (is_summed(elements, i) && !TAKES(elements[i])) lift_one(partial, elements[i])

#if PTX >= 70 && LANES_A_GROUP % 32 == 0
#define MEET_IN_WARP() __asm__ volatile("bar.warp.sync 0xffffffff;" : : : "memory")
INLINE uint4 load_vector(global const uint4* from) {
  uint4 to;
  __asm__ volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(to.x), "=r"(to.y), "=r"(to.z), "=r"(to.w)
                   : "l"((size_t)from));
  return to;
}
#else
#define MEET_IN_WARP()
INLINE uint4 load_vector(global const uint4* from) { return *from; }
#endif
INLINE void load_step(uint4* step, global const uint4* from) {
#pragma unroll
  for (u32 k = 0; k < LOADS; ++k) step[k] = load_vector(from + k * LANES_A_GROUP);
}

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
  if ((!HOLDS_ALL || HAS_SHORT_SQUARES) && lane < count) atomic_max(&highest, exponent_of(elements[lane]));
  barrier(CLK_LOCAL_MEM_FENCE);
  Window window;
  move_window(&window, (i32)highest);
#else
  const Window window = {0};
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
  const u32 step_count = vector_count / (LOADS * LANES_A_GROUP);  // that all lanes have whole
  u32 i = lane, steps_to_flush = STEPS_A_FLUSH;
  uint4 ahead[LOADS];
  if (LOADS_AHEAD && step_count != 0) load_step(ahead, vectors + i);
#pragma unroll 1
  for (u32 step = 0; step < step_count; ++step, i += LOADS * LANES_A_GROUP) {
    uint4 now[LOADS];
    if (LOADS_AHEAD) {
#pragma unroll
      for (u32 k = 0; k < LOADS; ++k) now[k] = ahead[k];
      if (step + 1 < step_count) load_step(ahead, vectors + i + LOADS * LANES_A_GROUP);
    } else {
      load_step(now, vectors + i);
    }
#pragma unroll
    for (u32 k = 0; k < LOADS; ++k) take_elements(&beside, now[k], FIRST_OF(k));
    u32 refused = REFUSED_OF_STEP(now);
#pragma unroll 1
    for (u32 k = 0; refused != 0; ++k, refused >>= 1) {
      if ((refused & 1) == 0 || TAKES_VECTOR(vectors[i + k * LANES_A_GROUP])) continue;
#pragma unroll 1
      for (u32 e = 0; e < VECTOR_ELEMENTS; ++e) TAKE(FIRST_OF(k) + e);
    }
    if (STEPS_A_FLUSH == 0) continue;
    MEET_IN_WARP();
    if (--steps_to_flush == 0) {
      flush_lane(&state, &window);
      steps_to_flush = STEPS_A_FLUSH;
    }
  }
#pragma unroll 1
  for (; i < vector_count; i += LANES_A_GROUP) {
    take_elements(&beside, vectors[i], FIRST_OF(0));
    if (TAKES_VECTOR(vectors[i])) continue;
#pragma unroll 1
    for (u32 e = 0; e < VECTOR_ELEMENTS; ++e) TAKE(FIRST_OF(0) + e);
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
