// Floats as every dtype stores them, and as binary64. All of it works on bits: floating-point operations would lose
// subnormals if the caller has set flush-to-zero.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "precision/round.hpp"
#include "precision/scalars.hpp"

namespace tensorstat {

// The storage format of a float dtype, from its row in precision/dtypes.txt. The exponent field e of a normal value
// means 2^(e - bias). A field of all ones means Inf, if the dtype has Inf.
struct StoredFloat {
  int mantissa_shift, bias;
  bool has_infinity, is_float;
};
constexpr StoredFloat stored_float(Dtype dtype) {
  const precision::DtypeFacts& format = facts(dtype);
  return {format.mantissa_shift, 1 - format.mantissa_shift - format.first_unit - format.sum_exponent, format.has_inf,
          format.is_float};
}
#define ROW(id, ...) stored_float(Dtype::id),
inline constexpr StoredFloat kStoredFloats[] = {TENSORSTAT_DTYPES(ROW)};
#undef ROW

// The format that a float dtype's own values are rounded to.
constexpr precision::Format own_format(Dtype dtype) {
  const StoredFloat& own = kStoredFloats[static_cast<int>(dtype)];
  return {own.mantissa_shift + 1, 1 - own.bias - own.mantissa_shift, own.bias};
}

// Converts a value of a shorter format, given by its bits without the sign, to binary64.
inline double widened(const StoredFloat& format, std::uint64_t magnitude, bool negative) {
  const int shift = format.mantissa_shift;
  const std::uint64_t sign = static_cast<std::uint64_t>(negative) << 63;
  const auto with_power = [&](std::uint64_t bits, int power) {  // 0 is the field of subnormals
    return std::bit_cast<double>(sign | ((bits << (52 - shift)) + (static_cast<std::uint64_t>(power + 1023) << 52)));
  };
  const std::uint64_t exponent = magnitude >> shift, most = 2 * static_cast<std::uint64_t>(format.bias);
  if (exponent - 1 < most) return with_power(magnitude, -format.bias);
  if (magnitude == 0) return std::bit_cast<double>(sign);
  if (exponent != 0) {
    if (!format.has_infinity) return with_power(magnitude, -format.bias);
    return std::bit_cast<double>(sign | std::uint64_t{0x7ff} << 52);
  }
  // Normalise: the highest bit of a subnormal becomes the implied 1.
  const int up = shift + 1 - std::bit_width(magnitude);
  return with_power(magnitude << up, -format.bias - up);
}

// The value of a float dtype with this order-preserving key.
inline double float_of_key(Dtype dtype, std::int64_t key) {
  const std::int64_t bits = key ^ (key >> 63 & std::numeric_limits<std::int64_t>::max());
  if (dtype == Dtype::kFloat64) return std::bit_cast<double>(bits);
  return widened(kStoredFloats[static_cast<int>(dtype)], static_cast<std::uint64_t>(bits) << 1 >> 1, key < 0);
}

// a > b for numbers. With flush-to-zero, the operator would compare subnormals as 0.
inline bool exceeds(double a, double b) {
  const auto ordered = [](double value) {
    const auto magnitude = std::bit_cast<std::int64_t>(value) & std::numeric_limits<std::int64_t>::max();
    return std::signbit(value) ? -magnitude : magnitude;
  };
  return ordered(a) > ordered(b);
}

// The significand and the exponent of a finite number that has no sign.
inline precision::Size size_of(double real) {
  const auto bits = std::bit_cast<std::uint64_t>(real);
  const auto exponent = static_cast<int>(bits >> 52);
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
  return {exponent == 0 ? fraction : fraction | std::uint64_t{1} << 52, std::max(exponent, 1) - 1075};
}

}  // namespace tensorstat
