// Elements and their places into the words of precision/indices.h: the definition that the folds must agree with. One
// text for C++ and OpenCL C, included once a dtype, behind its lift.

// A number that orders elements as max and min do: -0 is below +0. A NaN has one, too.
#define INDEX_ORDER(bits) CAT(INDEX_ORDER_, FAMILY)(bits)
#define INDEX_ORDER_Integer(bits) (IS_BOOL ? (i64)((bits) != 0) : (i64)(ORDERED)(bits))
#define INDEX_ORDER_Integer64(bits) ((i64)(bits) ^ KEY_FLIP)
#define INDEX_ORDER_Float(bits) ((SBITS)(bits) < 0 ? ~(i64)((bits) & MAGNITUDE_MASK) : (i64)(SBITS)(bits))
#define INDEX_ORDER_Double(bits) INDEX_ORDER_Float(bits)
#define INDEX_ORDER_Coded(bits) INDEX_ORDER_Float(bits)
#define INDEX_ORDER_Scale(bits) INDEX_ORDER_Float(bits)
#define INDEX_ORDER_PackedFloat(bits) INDEX_ORDER_Float(bits)
#define INDEX_ORDER_PackedInteger(bits) INDEX_ORDER_Integer(bits)

#define LIFT_INDEX(id, of, ...) \
  if (of) raise_keyed_if(INDEX_IF_##id(size), words + INDEX_PLACE_##id, INDEX_KEY_##id(order), ~(i64)index);

// Element number `index`. `words` are those of indices.h alone.
INLINE void NAME(lift_index)(i64* words, const UBITS bits, const u64 index) {
  const UBITS size = ELEMENT_SIZE(bits);
  const i64 order = INDEX_ORDER(bits);
  INDEX_ROWS(LIFT_INDEX, )
}

#if UNPACKS
// The first `elements` of a byte, of which the first is number `first`. Not unrolled: a kernel has this for each byte of a
// vector.
INLINE void NAME(lift_index_some)(i64* words, const u32 code, const u32 elements, const u64 first) {
  for (u32 k = 0; k < elements; ++k) NAME(lift_index)(words, UNPACKED(code, k), first + k);
}
#endif

// The `count` elements at p, of which the first is number `first`.
INLINE void NAME(lift_indices)(i64* words, TILE_SPACE const u8* p, const u64 count, const u64 first) {
#if UNPACKS
  for (u64 i = 0; i < count; i += ELEMENTS_A_CODE) {
    const u32 elements = (u32)MIN(count - i, (u64)ELEMENTS_A_CODE);
    NAME(lift_index_some)(words, (u32)p[i / ELEMENTS_A_CODE], elements, first + i);
  }
#else
  for (u64 i = 0; i < count; ++i) NAME(lift_index)(words, LOAD_OF(TILE_SPACE, UBITS, p + i * sizeof(UBITS)), first + i);
#endif
}
