// Replaces gpu_lift.cl and gpu_elements.cl for complex dtypes. DTYPE is the dtype of their parts. The family's lane takes the
// parts of finite elements; the squares of both parts sum to |x|^2. Besides, each lane counts elements.
#define PARTS 2
#define EXPONENT_COUNTS 1
#define EXPONENT_COPIES 1

typedef struct {
  u32 nans, infinities, zeros;
  i64 indices[INDEX_WORDS];
} Elements;

INLINE void open_elements(Elements* elements, local u32* exponents, const u32 lane) {
  elements->nans = elements->infinities = elements->zeros = 0;
  open_indices(elements->indices);
  (void)exponents;
  (void)lane;
}

// Takes element `index` of the slice.
INLINE void count_element(Elements* elements, const UBITS real, const UBITS imaginary, const u32 index) {
  const UBITS larger = larger_size(real, imaginary);
  elements->nans += larger > INF_SIZE ? 1 : 0;
  elements->infinities += larger == INF_SIZE ? 1 : 0;
  elements->zeros += larger == 0 ? 1 : 0;
  if (NEEDS & NEED_INDICES) lift_complex_index(elements->indices, larger, index);
}

// Takes part i of the slice. The first part of an element counts the element.
INLINE void take_element(Elements* elements, global const UBITS* parts, const u32 i) {
  if (i % 2 == 0) count_element(elements, parts[i], parts[i + 1], i / 2);
}

INLINE void take_elements(Elements* elements, const uint4 vector, const u32 i) {
  if (sizeof(UBITS) == 8) {
    count_element(elements, (UBITS)as_ulong(vector.xy), (UBITS)as_ulong(vector.zw), i / 2);
  } else {
    count_element(elements, (UBITS)vector.x, (UBITS)vector.y, i / 2);
    count_element(elements, (UBITS)vector.z, (UBITS)vector.w, i / 2 + 1);
  }
}

// Whether the element of part i is finite.
INLINE bool is_summed(global const UBITS* parts, const u32 i) {
  return larger_size(parts[i & ~1u], parts[i | 1]) < INF_SIZE;
}

// As in gpu_lift.cl. Without squares there is nothing to add.
#ifdef ON_CPU
INLINE
#else
NOINLINE
#endif
void lift_one(local i64* partial, UBITS part) {
  if (NEEDS & NEED_SQUARES) lift_square(partial, part, 1);
}

INLINE void close_elements(const Elements* elements, local i64* partial) {
  ADD(partial[PARTIAL_NANS], elements->nans);
  ADD(partial[PARTIAL_POSITIVE_INFS], elements->infinities);
  ADD(partial[PARTIAL_ZEROS], elements->zeros);
}
