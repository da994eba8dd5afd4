#include "stats/answer/msprobe/numpy_scalars.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace tensorstat::msprobe {
namespace {

struct Type {
  enum class Kind : std::uint8_t { kBool, kUnsigned, kSigned, kFloat } kind;
  int bits;
};

Type type_of(Dtype dtype) {
  using Kind = Type::Kind;
  const int bits = static_cast<int>(size_bytes(dtype)) * 8;
  switch (dtype) {
    case Dtype::kBool:
      return {Kind::kBool, bits};
    case Dtype::kUint8:
    case Dtype::kUint16:
    case Dtype::kUint32:
    case Dtype::kUint64:
      return {Kind::kUnsigned, bits};
    case Dtype::kInt8:
    case Dtype::kInt16:
    case Dtype::kInt32:
    case Dtype::kInt64:
      return {Kind::kSigned, bits};
    default:
      return {Kind::kFloat, bits};
  }
}

// numpy.promote_types.
Type promoted(Type a, Type b) {
  using Kind = Type::Kind;
  if (a.kind > b.kind) std::swap(a, b);
  if (a.kind == Kind::kBool) return b;
  if (a.kind == b.kind) return {a.kind, std::max(a.bits, b.bits)};
  if (b.kind == Kind::kFloat) return {Kind::kFloat, std::max(b.bits, std::min(2 * a.bits, 64))};
  // Unsigned with signed: a signed type that is wider than the unsigned one.
  if (a.bits < b.bits) return b;
  return a.bits == 64 ? Type{Kind::kFloat, 64} : Type{Kind::kSigned, 2 * a.bits};
}

double rounded_to_half(double value) {
  if (!std::isfinite(value) || value == 0) return value;
  const int exponent = std::max(std::ilogb(value), -14);
  const double step = std::ldexp(1.0, exponent - 10);
  const double rounded = std::nearbyint(value / step) * step;
  return std::fabs(rounded) > greatest_finite(Dtype::kFloat16) ? std::copysign(HUGE_VAL, value) : rounded;
}

template <typename T>
double relative(double a, double b) {
  T x = static_cast<T>(a), y = static_cast<T>(b);
  if (y == 0) {
    x += std::numeric_limits<T>::epsilon();
    y += std::numeric_limits<T>::epsilon();
  }
  return static_cast<double>(std::fabs((x - y) / y));
}

}  // namespace

double distance_of_scalars(Dtype of_a, double a, Dtype of_b, double b) {
  if (of_a == Dtype::kBool) return std::fabs(a - b);
  const Type type = promoted(type_of(of_a), type_of(of_b));
  if (type.kind == Type::Kind::kFloat) {
    if (type.bits == 64) return std::fabs(a - b);
    if (type.bits == 32) return static_cast<double>(std::fabs(static_cast<float>(a) - static_cast<float>(b)));
    return std::fabs(rounded_to_half(a - b));
  }
  const auto bits_of = [](double value) {
    return value < 0 ? ~static_cast<std::uint64_t>(-(value + 1)) : static_cast<std::uint64_t>(value);
  };
  const std::uint64_t difference = (bits_of(a) - bits_of(b)) << (64 - type.bits);
  if (type.kind == Type::Kind::kUnsigned) return static_cast<double>(difference >> (64 - type.bits));
  const auto narrow = static_cast<std::int64_t>(difference) >> (64 - type.bits);
  const double least = -std::ldexp(1.0, type.bits - 1);  // NumPy's abs does not change it
  return static_cast<double>(narrow) == least ? least : std::fabs(static_cast<double>(narrow));
}

double relative_of_elements(double a, double b, bool is_double) {
  return is_double ? relative<double>(a, b) : relative<float>(a, b);
}

double relative_of_scalars(double a, double b) {
  const auto is_large = [](double value) { return std::isfinite(value) && std::fabs(value) >= 3.4e38; };
  return relative_of_elements(a, b, is_large(a) || is_large(b));
}

bool is_relative_double(Dtype a, Dtype b) {
  const auto becomes_double = [](Dtype dtype) {
    return dtype == Dtype::kFloat64 || type_of(dtype).kind != Type::Kind::kFloat;
  };
  return becomes_double(a) || becomes_double(b);
}

}  // namespace tensorstat::msprobe
