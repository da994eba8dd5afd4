// The vectors that the texts of precision/ are written in: every name that host/simd/vectors.h (C++) and
// kernels-cl/cl/vectors.cl (OpenCL C) must define, a sentence each. Both are checked against this list where they
// end; a name that is missing is an error that says so. T stands for u8 i8 u16 i16 u32 i32 u64 i64 f32 f64.
//
// Numbers and words, for the lifts. SHAPE_GROUP, a GPU's kernels, wants these alone.

// INLINE, NOINLINE: what a function of a text begins with.
#if !defined(INLINE) || !defined(NOINLINE)
#error "vectors: INLINE or NOINLINE is missing"
#endif
// SPACE: the address-space qualifier of the elements that are folded; TILE_SPACE: of a tile of `low`.
#if !defined(SPACE) || !defined(TILE_SPACE)
#error "vectors: SPACE or TILE_SPACE is missing"
#endif
// WORDS: the address-space qualifier of a partial's words.
#ifndef WORDS
#error "vectors: WORDS is missing"
#endif
// ADD(word, value): word += value; RAISE(word, value): the larger of both. Atomic where lanes share the word.
#if !defined(ADD) || !defined(RAISE)
#error "vectors: ADD or RAISE is missing"
#endif
// MAX(a, b), MIN(a, b): of two numbers, or lane by lane of two vectors of integers.
#if !defined(MAX) || !defined(MIN)
#error "vectors: MAX or MIN is missing"
#endif
// BIT_WIDTH(x): how many bits the unsigned x has, those before its first 1 not counted.
#ifndef BIT_WIDTH
#error "vectors: BIT_WIDTH is missing"
#endif
// LOAD_ONE(T, p): the T at the address p, in SPACE; LOAD_OF(space, T, p): in another space.
#if !defined(LOAD_ONE) || !defined(LOAD_OF)
#error "vectors: LOAD_ONE or LOAD_OF is missing"
#endif
// AS_F32(x), AS_U32(x), AS_F64(x), AS_I64(x): a number with the same bits.
#if !defined(AS_F32) || !defined(AS_U32) || !defined(AS_F64) || !defined(AS_I64)
#error "vectors: AS_F32, AS_U32, AS_F64 or AS_I64 is missing"
#endif

#ifndef SHAPE_GROUP
// UNROLL, UNROLL_BY_2, ROLLED: in front of a loop that is unrolled, whole, twice or not at all; may be empty.
#if !defined(UNROLL) || !defined(UNROLL_BY_2) || !defined(ROLLED)
#error "vectors: UNROLL, UNROLL_BY_2 or ROLLED is missing"
#endif
// UNLIKELY(condition): the condition, which is seldom true.
#ifndef UNLIKELY
#error "vectors: UNLIKELY is missing"
#endif
// SUBNORMALS_CONVERT: 1 where a subnormal float32 becomes the binary64 of its value, 0 where it may become 0.
#ifndef SUBNORMALS_CONVERT
#error "vectors: SUBNORMALS_CONVERT is missing"
#endif
// SETS: how many accumulators take turns, so that an addition need not wait for the one before: 2 or 4.
#ifndef SETS
#error "vectors: SETS is missing"
#endif
// LANES(T): the elements of a vector; VECTOR_OF(T): its type, which is v_T. Vectors of equal bits have equal sizes.
#if !defined(LANES) || !defined(VECTOR_OF)
#error "vectors: LANES or VECTOR_OF is missing"
#endif
// SPLAT(T, x): x in every lane; ZERO(T): a T, or a vector type T, of zeros.
#if !defined(SPLAT) || !defined(ZERO)
#error "vectors: SPLAT or ZERO is missing"
#endif
// AS(T, x): a vector of T with the same bits.
#ifndef AS
#error "vectors: AS is missing"
#endif
// LOAD(T, p): the LANES(T) elements at any address p; STORE(T, to, x): a vector to private memory.
#if !defined(LOAD) || !defined(STORE)
#error "vectors: LOAD or STORE is missing"
#endif
// STORE_ZIPPED(T, to, a, b): two vectors, a number of a beside the one of b in the same lane; ZIPPED_LANE(T, k): the
// lane of the k-th such pair. T is i32 or i64.
#if !defined(STORE_ZIPPED) || !defined(ZIPPED_LANE)
#error "vectors: STORE_ZIPPED or ZIPPED_LANE is missing"
#endif
// FIRST_I64(v), SECOND_I64(v): the two numbers of a v_i64x2, a vector of two i64.
#if !defined(FIRST_I64) || !defined(SECOND_I64)
#error "vectors: FIRST_I64 or SECOND_I64 is missing"
#endif
// KEY(T, x): a float's bits as integers T that order as the floats do, -0 below +0.
#ifndef KEY
#error "vectors: KEY is missing"
#endif
// COUNT_INTO(T, counter, condition): adds 1 to the lanes where a comparison holds; COUNT_OUT_OF takes 1 off.
#if !defined(COUNT_INTO) || !defined(COUNT_OUT_OF)
#error "vectors: COUNT_INTO or COUNT_OUT_OF is missing"
#endif
// ABOVE(T, a, b), BELOW(T, a, b): a comparison that only ANY looks at. ANY(T, mask): whether it holds in any lane.
#if !defined(ABOVE) || !defined(BELOW) || !defined(ANY)
#error "vectors: ABOVE, BELOW or ANY is missing"
#endif
// ADD_LANES(T, v): the sum of all lanes as an i64 (modulo 2^64); MAX_LANE, MIN_LANE: the largest and smallest.
#if !defined(ADD_LANES) || !defined(MAX_LANE) || !defined(MIN_LANE)
#error "vectors: ADD_LANES, MAX_LANE or MIN_LANE is missing"
#endif
// MUL_32(a, b): the products of the low 32 bits of u64 lanes.
#ifndef MUL_32
#error "vectors: MUL_32 is missing"
#endif
// SQUARE_WIDE(value, low, high): sets two u64 to the 128 bits of value * value, |value| below 2^63.
#ifndef SQUARE_WIDE
#error "vectors: SQUARE_WIDE is missing"
#endif
// SQUARE_LOW(T, v): the squares of the lower u32 or i32 of each lane of a vector of u64.
#ifndef SQUARE_LOW
#error "vectors: SQUARE_LOW is missing"
#endif
// SUMS(T, x): sums of neighbours, as v_i32; SQUARE_SUMS(T, x): of their squares, as v_u32. T is u8, i8 or i16.
#if !defined(SUMS) || !defined(SQUARE_SUMS)
#error "vectors: SUMS or SQUARE_SUMS is missing"
#endif
// LOOKS_UP: 1 where a vector of bytes can be looked up in tables of 16. Then LOOK_UP(table, index) is for each byte of
// `index` the byte of the table that its last four bits name, or 0 where its highest bit is set. `table` is the same 16
// bytes again and again.
// ALTERNATE(a, b): a vector of u64 that are a, b, a, b, and so on.
#ifndef LOOKS_UP
#error "vectors: LOOKS_UP is missing"
#endif
#if LOOKS_UP && !(defined(LOOK_UP) && defined(ALTERNATE))
#error "vectors: LOOK_UP or ALTERNATE is missing"
#endif
// Where there is an instruction for it:
//   BIT_WIDTHS(v)         the numbers of bits of unsigned integers of 32 or 64 bits
//   SMEARED(v)            all bits from the highest one of each down, of the same integers
//   ABSOLUTE(bits)        |x| of signed integers, as unsigned ones
//   MAJORITY(a, b, c)     the bits that at least two of three v_u8 have
//   ADD_SATURATED(a, b)   a + b of v_u8, at most 255
// PREFETCH(p): asks for the cache line some way ahead of p; may be empty.
#ifndef PREFETCH
#error "vectors: PREFETCH is missing"
#endif
typedef struct {
  v_u8 a; v_i8 b; v_u16 c; v_i16 d; v_u32 e; v_i32 f; v_u64 g; v_i64 h; v_i64x2 i;
} vectors_of_integers;  // v_T and v_i64x2: without one of them, this does not compile

#ifdef FP64
// MUL_ADD(a, b, c): a * b + c, rounded once or twice: used where either gives an exact sum in the end.
#ifndef MUL_ADD
#error "vectors: MUL_ADD is missing"
#endif
// ADD_F64(a, one, b): a + b, given ONE, a vector of ones, should a multiply-and-add be the faster addition.
#if !defined(ADD_F64) || !defined(ONE)
#error "vectors: ADD_F64 or ONE is missing"
#endif
// ONLY_FINITE(d): f64 that came from DTYPE, with 0 for NaN and Inf.
#ifndef ONLY_FINITE
#error "vectors: ONLY_FINITE is missing"
#endif
// LARGER(a, b), SMALLER(a, b): as MAX and MIN, of vectors of floats that may be NaN or infinite. If one is NaN, the
// result is b.
#if !defined(LARGER) || !defined(SMALLER)
#error "vectors: LARGER or SMALLER is missing"
#endif
// SMALLER_SIZE(a, b): the smaller of a, which has no sign, and the size of b; neither is NaN.
#ifndef SMALLER_SIZE
#error "vectors: SMALLER_SIZE is missing"
#endif
// WIDEN(to, p): stores the LANES(u16) elements of a half type at p as f32 in private memory, in any order.
// LOAD_WIDENED(p): the LANES(f64) f32 at p in private memory, as f64.
// load_f64_<dtype>(p), for float16, bfloat16 and float32: the LANES(f64) elements at p, as f64.
#if !defined(WIDEN) || !defined(LOAD_WIDENED)
#error "vectors: WIDEN or LOAD_WIDENED is missing"
#endif
typedef v_f64 vectors_of_floats;
#endif
#endif
