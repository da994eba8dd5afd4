// The bins of quantiles. They lie in the batch's workspace, and a second reading of the slice's elements fills them. For few
// elements the kernel stores their codes (precision/codes.h), and the host counts these. For more it counts the codes itself.
// If a slice's `bins` is odd, codes are stored, from the byte before `bins` on.
#define HAS_BINS ((NEEDS & NEED_QUANTILES) != 0)
#define WRITES_CODES(slice) (((slice).bins & 1) != 0)
#define CODES_AT(slice, workspace) POINTER(CODE_TYPE, workspace, (slice).bins - 1)
#define COUNTS_AT(slice, workspace) POINTER(u32, workspace, (slice).bins)

#ifdef SHAPE_SLICE
// Each work-item has its own counts.
INLINE void open_bins(const Slice slice, global u8* workspace) {
  if (!HAS_BINS || WRITES_CODES(slice)) return;
  global u32* counts = COUNTS_AT(slice, workspace);
  for (u32 code = 0; code < CODE_COUNT; ++code) counts[code] = 0;
}

// Elements [first, end) of the slice.
INLINE void take_bins(const Slice slice, global u8* workspace, global const u8* bytes, const u64 first, const u64 end) {
  if (!HAS_BINS) return;
  global const UBITS* elements = (global const UBITS*)bytes;
  if (WRITES_CODES(slice)) {
    global CODE_TYPE* codes = CODES_AT(slice, workspace);
    for (u64 i = first; i < end; ++i) codes[i] = (CODE_TYPE)CODE_OF(elements[i]);
  } else {
    global u32* counts = COUNTS_AT(slice, workspace);
    for (u64 i = first; i < end; ++i) ++counts[CODE_OF(elements[i])];
  }
}
#endif

#ifdef SHAPE_GROUP
// The slices of a tensor share their counts, which are 0 before the launch. A dtype of one byte has few codes, so lanes would
// wait for one another. Its codes are counted in copies in local memory first.
#define BIN_COPIES 8
#define HAS_LOCAL_BINS (HAS_BINS && sizeof(UBITS) == 1)
#define BIN_LOCAL_WORDS (HAS_LOCAL_BINS ? BIN_COPIES * 256 : 1)

// A barrier must follow. The first word is written in any case, as in open_fingerprints().
INLINE void open_bins(local u32* counts, const u32 lane) {
  if (!HAS_LOCAL_BINS) {
    if (lane == 0) counts[0] = 0;
    return;
  }
  for (u32 i = lane; i < BIN_LOCAL_WORDS; i += LANES_A_GROUP) counts[i] = 0;
}

// A macro for the reason of MERGE_PARTIAL.
#define CLOSE_BINS(slice, workspace, here, elements, count, lane)                                                       \
  if (HAS_BINS) {                                                                                                      \
    if (WRITES_CODES(slice)) {                                                                                         \
      for (u32 i = lane; i < (count); i += LANES_A_GROUP) {                                                            \
        CODES_AT(slice, workspace)[i] = (CODE_TYPE)CODE_OF((elements)[i]);                                             \
      }                                                                                                                \
    } else if (HAS_LOCAL_BINS) {                                                                                       \
      for (u32 i = lane; i < (count); i += LANES_A_GROUP) {                                                            \
        (void)atomic_inc(&here[(lane % BIN_COPIES * 256 + CODE_OF((elements)[i])) % BIN_LOCAL_WORDS]);                 \
      }                                                                                                                \
    } else {                                                                                                           \
      for (u32 i = lane; i < (count); i += LANES_A_GROUP) {                                                            \
        (void)atomic_inc(&COUNTS_AT(slice, workspace)[CODE_OF((elements)[i])]);                                        \
      }                                                                                                                \
    }                                                                                                                  \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                                      \
    if (HAS_LOCAL_BINS && !WRITES_CODES(slice)) {                                                                      \
      for (u32 code = lane; code < 256; code += LANES_A_GROUP) {                                                       \
        u32 n = 0;                                                                                                     \
        for (u32 copy = 0; copy < BIN_COPIES; ++copy) n += here[(copy * 256 + code) % BIN_LOCAL_WORDS];                \
        if (n != 0) (void)atomic_add(&COUNTS_AT(slice, workspace)[code], n);                                           \
      }                                                                                                                \
    }                                                                                                                  \
  }
#endif
