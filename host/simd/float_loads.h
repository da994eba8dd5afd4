// Part of host/simd/vectors.h: floats of memory as vectors of f64.

// Loads as many floats as there are lanes of f64 and converts them to f64. GCC 12 splits __builtin_convertvector of a
// narrow vector, so intrinsics are used if there are any.
using Words = VectorOf<u32, LANES(u64)>::vector;
using Floats = VectorOf<f32, LANES(u64)>::vector;
INLINE v_f64 widen(Floats x) {
#if LANE_BYTES == 64
  return (v_f64)_mm512_cvtps_pd((__m256)x);
#elif LANE_BYTES == 32
  return (v_f64)_mm256_cvtps_pd((__m128)x);
#elif defined(__aarch64__)
  return (v_f64)vcvt_f64_f32((float32x2_t)x);
#else
  return __builtin_convertvector(x, v_f64);
#endif
}
INLINE Words load_words(const u8* p) {
#if LANE_BYTES == 64
  return (Words)_mm256_cvtepu16_epi32(load<__m128i>(p));
#elif LANE_BYTES == 32
  return (Words)_mm_cvtepu16_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
#else
  return __builtin_convertvector(load<VectorOf<u16, LANES(u64)>::vector>(p), Words);
#endif
}
// The float32 of the float16 in the lower half of each lane. Moves the bits to a float32's position and changes the
// bias. A subnormal is read with the exponent of 2^-14, and 2^-14 is then subtracted.
template <typename F, typename W>
INLINE F float_of_half(W bits) {
  const W magnitude = (bits & 0x7fff) << 13;
  const W normal = magnitude + (112u << 23);
  const W subnormal = as<W>(as<F>(magnitude + (113u << 23)) - 0x1p-14f);
  return as<F>((magnitude < (1u << 23) ? subnormal : normal) | (bits & 0x8000) << 16);
}
INLINE v_f64 load_f64_float32(const u8* p) { return widen(load<Floats>(p)); }
INLINE v_f64 load_f64_bfloat16(const u8* p) { return widen(as<Floats>(load_words(p) << 16)); }
INLINE v_f64 load_f64_float16(const u8* p) {
#if LANE_BYTES == 64
  return widen((Floats)_mm256_cvtph_ps(load<__m128i>(p)));
#elif LANE_BYTES == 32
  return widen((Floats)_mm_cvtph_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
#elif defined(__aarch64__)
  return widen((Floats)vget_low_f32(vcvt_f32_f16(vreinterpret_f16_u32(vdup_n_u32(load<u32>(p))))));
#else
  return widen(float_of_half<Floats>(load_words(p)));
#endif
}

// Stores the LANES(u16) elements of a 16-bit float type at p as float32, in an unspecified order. From there an
// instruction converts them to f64 as it loads them, which takes half the time of a conversion in registers.
INLINE void widen_bfloat16(f32* to, const u8* p) {
  const v_u32 words = load<v_u32>(p);  // a bfloat16 is the upper half of a float32
  STORE(u32, to, words << 16);
  STORE(u32, to + LANES(f32), words & 0xffff0000u);
}
INLINE void widen_float16(f32* to, const u8* p) {
#if LANE_BYTES == 64
  _mm512_storeu_ps(to, _mm512_cvtph_ps(load<__m256i>(p)));
  _mm512_storeu_ps(to + 16, _mm512_cvtph_ps(load<__m256i>(p + 32)));
#elif LANE_BYTES == 32
  _mm256_storeu_ps(to, _mm256_cvtph_ps(load<__m128i>(p)));
  _mm256_storeu_ps(to + 8, _mm256_cvtph_ps(load<__m128i>(p + 16)));
#elif defined(__aarch64__)
  vst1q_f32(to, vcvt_f32_f16(load<float16x4_t>(p)));
  vst1q_f32(to + 4, vcvt_f32_f16(load<float16x4_t>(p + 8)));
#else
  const v_u32 words = load<v_u32>(p);
  STORE(f32, to, float_of_half<v_f32>(words));
  STORE(f32, to + LANES(f32), float_of_half<v_f32>(words >> 16));
#endif
}
INLINE void widen_float32(f32*, const u8*) {}  // not used
#define WIDEN(to, p) NAME(widen)(to, p)
#define LOAD_WIDENED(p) load_f64_float32(reinterpret_cast<const u8*>(p))
