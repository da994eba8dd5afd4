#include "kernels-cl/lift.hpp"

#include <cstring>

#include <tensorstat/catalog.inc>

#include "precision/families.h"
#include "precision/formats.h"
#include "precision/partial.h"

#define INLINE [[maybe_unused]] static inline
#define SPACE
#define WORDS
#define ADD(word, value) ((word) += (value))
#define RAISE(word, value) ((word) = (word) > (value) ? (word) : (value))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define LOAD_ONE(type, p) load_one<type>(p)

namespace {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i8 = std::int8_t;
using i16 = std::int16_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

template <typename T>
T load_one(const u8* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

#include "precision/exact.h"
#include "precision/lift.h"

#define DTYPE bool
#include "precision/lift_integer.h"
#undef DTYPE
#define DTYPE int8
#include "precision/lift_integer.h"
#undef DTYPE
#define DTYPE int16
#include "precision/lift_integer.h"
#undef DTYPE
#define DTYPE int32
#include "precision/lift_integer.h"
#undef DTYPE
#define DTYPE int64
#include "precision/lift_integer64.h"
#undef DTYPE
#define DTYPE uint8
#include "precision/lift_integer.h"
#undef DTYPE
#define DTYPE uint16
#include "precision/lift_integer.h"
#undef DTYPE
#define DTYPE uint32
#include "precision/lift_integer.h"
#undef DTYPE
#define DTYPE uint64
#include "precision/lift_integer64.h"
#undef DTYPE
#define DTYPE float16
#include "precision/lift_float.h"
#undef DTYPE
#define DTYPE bfloat16
#include "precision/lift_float.h"
#undef DTYPE
#define DTYPE float32
#include "precision/lift_float.h"
#undef DTYPE
#define DTYPE float64
#include "precision/lift_double.h"
#undef DTYPE

using Lift = void (*)(i64*, const u8*);
#define ROW(id, name, ...) lift_##name,
constexpr Lift kLifts[] = {TENSORSTAT_DTYPES(ROW)};
#undef ROW

}  // namespace

namespace tensorstat::cl_engine {

void lift_all(Dtype dtype, std::span<const std::byte> elements, std::span<std::int64_t> words) {
  const auto* bytes = reinterpret_cast<const u8*>(elements.data());
  for (std::size_t i = 0; i < elements.size(); i += size_bytes(dtype)) {
    kLifts[static_cast<int>(dtype)](words.data(), bytes + i);
    ++words[PARTIAL_COUNT];
  }
}

}  // namespace tensorstat::cl_engine
