#include "stats/compare/elements.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

namespace tensorstat {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

__extension__ using Whole = __int128;  // holds every 64-bit integer, signed or not

// The floats that C++ has no type for. IEEE: the greatest exponent is Inf and NaN. fn: only all bits set is NaN, and
// there is no Inf. fnuz: only the sign alone is NaN, and there is no Inf (Micikevicius et al. 2022; Noune et al. 2022).
enum class Special { kIeee, kFn, kFnuz };
struct SmallFloat {
  int bits, mantissa, bias;
  Special special;
};

constexpr std::optional<SmallFloat> small_float(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFloat16: return SmallFloat{16, 10, 15, Special::kIeee};
    case Dtype::kBfloat16: return SmallFloat{16, 7, 127, Special::kIeee};
    case Dtype::kFloat8E4m3fn: return SmallFloat{8, 3, 7, Special::kFn};
    case Dtype::kFloat8E5m2: return SmallFloat{8, 2, 15, Special::kIeee};
    case Dtype::kFloat8E4m3fnuz: return SmallFloat{8, 3, 8, Special::kFnuz};
    case Dtype::kFloat8E5m2fnuz: return SmallFloat{8, 2, 16, Special::kFnuz};
    default: return std::nullopt;
  }
}

float decoded(const SmallFloat& format, std::uint32_t code) {
  const std::uint32_t sign_bit = 1u << (format.bits - 1), magnitude = code & (sign_bit - 1);
  const std::uint32_t fraction = magnitude & ((1u << format.mantissa) - 1), exponent = magnitude >> format.mantissa;
  const std::uint32_t greatest = (sign_bit - 1) >> format.mantissa;
  const float sign = (code & sign_bit) != 0 ? -1.0f : 1.0f;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  if (format.special == Special::kFnuz && code == sign_bit) return nan;
  if (format.special == Special::kFn && magnitude == sign_bit - 1) return nan;
  if (format.special == Special::kIeee && exponent == greatest) {
    return fraction != 0 ? nan : sign * std::numeric_limits<float>::infinity();
  }
  const std::uint32_t significand = exponent == 0 ? fraction : fraction | 1u << format.mantissa;
  const int power = static_cast<int>(std::max(exponent, 1u)) - format.bias - format.mantissa;
  return sign * std::ldexp(static_cast<float>(significand), power);
}

// The values of all codes.
std::vector<float> table_of(Dtype dtype) {
  const SmallFloat format = *small_float(dtype);
  std::vector<float> table(std::size_t{1} << format.bits);
  for (std::uint32_t code = 0; code < table.size(); ++code) table[code] = decoded(format, code);
  return table;
}

template <typename T>
T loaded(const std::byte* from, std::size_t index) {
  T value;
  std::memcpy(&value, from + index * sizeof value, sizeof value);
  return value;
}

// Calls `each` with a function that gives the value of element i as a Whole or as a double; both are exact.
template <typename Each>
void with_values(Dtype dtype, const std::byte* from, const Each& each) {
  const auto plain = [&]<typename Held, typename T>(Held, T) {
    each([from](std::size_t i) { return static_cast<Held>(loaded<T>(from, i)); });
  };
  switch (dtype) {
    case Dtype::kBool: return plain(double(), std::uint8_t());
    case Dtype::kInt8: return plain(double(), std::int8_t());
    case Dtype::kInt16: return plain(double(), std::int16_t());
    case Dtype::kInt32: return plain(double(), std::int32_t());
    case Dtype::kInt64: return plain(Whole(), std::int64_t());
    case Dtype::kUint8: return plain(double(), std::uint8_t());
    case Dtype::kUint16: return plain(double(), std::uint16_t());
    case Dtype::kUint32: return plain(double(), std::uint32_t());
    case Dtype::kUint64: return plain(Whole(), std::uint64_t());
    case Dtype::kFloat32: return plain(double(), float());
    case Dtype::kFloat64: return plain(double(), double());
    default: break;
  }
  thread_local std::array<std::vector<float>, kDtypeCount> tables;
  std::vector<float>& table = tables[static_cast<std::size_t>(dtype)];
  if (table.empty()) table = table_of(dtype);
  const float* values = table.data();
  if (size_bytes(dtype) == 1) {
    each([=](std::size_t i) { return static_cast<double>(values[loaded<std::uint8_t>(from, i)]); });
  } else {
    each([=](std::size_t i) { return static_cast<double>(values[loaded<std::uint16_t>(from, i)]); });
  }
}

// |a - b|, where neither is NaN nor Inf.
double distance(double a, double b) { return std::fabs(a - b); }
double distance(Whole a, Whole b) { return static_cast<double>(a > b ? a - b : b - a); }
double distance(double a, Whole b) {
  return static_cast<double>(std::fabs(static_cast<long double>(a) - static_cast<long double>(b)));
}
double distance(Whole a, double b) { return distance(b, a); }

bool is_finite(double value) { return std::isfinite(value); }
bool is_finite(Whole) { return true; }

template <typename A, typename B>
bool is_same(A a, B b) {
  if constexpr (std::is_same_v<A, B>) {
    return a == b || (a != a && b != b);
  } else {
    return distance(a, b) == 0;
  }
}

}  // namespace

void ElementComparison::add(std::span<const std::byte> a, std::span<const std::byte> b) {
  const std::size_t size_a = size_bytes(a_), size_b = size_bytes(b_), count = a.size() / size_a;
  const std::uint64_t before = found_.count;
  found_.count += count;
  if (a_ == b_ && std::memcmp(a.data(), b.data(), a.size()) == 0) return;
  with_values(a_, a.data(), [&](const auto& of_a) {
    with_values(b_, b.data(), [&](const auto& of_b) {
      for (std::size_t i = 0; i < count; ++i) {
        const auto x = of_a(i);
        const auto y = of_b(i);
        const bool is_equal = a_ == b_ ? std::memcmp(a.data() + i * size_a, b.data() + i * size_b, size_a) == 0 : is_same(x, y);
        if (is_equal) continue;
        ++found_.unequal_count;
        if (!found_.first_unequal) found_.first_unequal = before + i;
        if (is_same(x, y)) continue;  // NaN of other bits, -0 and 0
        const bool is_number = is_finite(x) && is_finite(y);
        const double apart = is_number ? distance(x, y) : kInfinity;
        const double scale = std::max(std::fabs(static_cast<double>(x)), std::fabs(static_cast<double>(y)));
        if (!found_.max_abs_at || apart > found_.max_abs) {
          found_.max_abs = apart;
          found_.max_abs_at = before + i;
        }
        found_.max_rel = std::max(found_.max_rel, is_number ? apart / scale : kInfinity);
        if (is_number && apart <= tolerance_.atol + tolerance_.rtol * scale) continue;
        ++found_.outside_count;
        if (!found_.first_outside) found_.first_outside = before + i;
      }
    });
  });
}

Judgement ElementComparison::judgement() const {
  if (found_.unequal_count == 0 && a_ == b_) return {};
  if (found_.outside_count == 0) return {Verdict::kWithin, found_.max_rel, ""};
  return {Verdict::kDifferent, found_.max_rel,
          std::to_string(found_.outside_count) + " of " + std::to_string(found_.count) + " elements, first at " +
              std::to_string(*found_.first_outside)};
}

}  // namespace tensorstat
