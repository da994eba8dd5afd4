#include "tests/support/pair_oracle.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "tests/support/oracle.hpp"

namespace oracle {
namespace {

using tensorstat::Dtype;
using tensorstat::PairStatistic;
using tensorstat::PairTolerance;
using tensorstat::Value;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr long kUnit = -1074;  // every number is an integer multiple of 2^kUnit

// The layout of a float. `last` is the code of the largest finite magnitude.
struct Fields {
  int bits, fraction_bits, bias;
  std::uint64_t last;
  bool has_infinity, lone_nan;
};
std::optional<Fields> fields_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFloat16:
      return Fields{16, 10, 15, 0x7bff, true, false};
    case Dtype::kBfloat16:
      return Fields{16, 7, 127, 0x7f7f, true, false};
    case Dtype::kFloat32:
      return Fields{32, 23, 127, 0x7f7fffff, true, false};
    case Dtype::kFloat64:
      return Fields{64, 52, 1023, 0x7fefffffffffffff, true, false};
    case Dtype::kFloat8E4m3fn:
      return Fields{8, 3, 7, 0x7e, false, false};
    case Dtype::kFloat8E5m2:
      return Fields{8, 2, 15, 0x7b, true, false};
    case Dtype::kFloat8E4m3fnuz:
      return Fields{8, 3, 8, 0x7f, false, true};
    case Dtype::kFloat8E5m2fnuz:
      return Fields{8, 2, 16, 0x7f, false, true};
    default:
      return std::nullopt;
  }
}

struct Number {
  std::uint64_t bits = 0;
  bool is_nan = false, is_infinite = false, is_negative = false;
  mpz_class units;         // signed
  std::uint64_t rank = 0;  // a float's position among the magnitudes of its dtype
};

template <typename Stored>
mpz_class whole(std::uint64_t bits) {
  const auto value = static_cast<Stored>(bits);
  mpz_class number = value < 0 ? static_cast<unsigned long>(-(value + 1)) : static_cast<unsigned long>(value);
  if (value < 0) number = -number - 1;
  return number << static_cast<unsigned long>(-kUnit);
}

Number number_at(Dtype dtype, std::span<const std::byte> bytes, std::size_t index) {
  Number x;
  const std::size_t size = tensorstat::size_bytes(dtype);
  std::memcpy(&x.bits, bytes.data() + index * size, size);
  if (const auto fields = fields_of(dtype)) {
    const std::uint64_t sign = std::uint64_t{1} << (fields->bits - 1);
    x.is_negative = (x.bits & sign) != 0;
    x.rank = x.bits & (sign - 1);
    x.is_infinite = fields->has_infinity && x.rank == fields->last + 1;
    x.is_nan = fields->lone_nan ? x.bits == sign : x.rank > fields->last && !x.is_infinite;
    if (x.is_nan || x.is_infinite) return x;
    const std::uint64_t one = std::uint64_t{1} << fields->fraction_bits, fraction = x.rank % one,
                        exponent = x.rank / one;
    mpz_class significand = static_cast<unsigned long>(exponent == 0 ? fraction : fraction + one);
    const long power = static_cast<long>(exponent == 0 ? 1 : exponent) - fields->bias - fields->fraction_bits;
    significand <<= static_cast<unsigned long>(power - kUnit);
    x.units = x.is_negative ? mpz_class(-significand) : significand;
    return x;
  }
  if (dtype == Dtype::kFloat8E8m0fnu) {  // powers of two; the least is one step above 0
    x.is_nan = x.bits == 255;
    x.rank = x.bits + 1;
    x.units = mpz_class(1) << static_cast<unsigned long>(static_cast<long>(x.bits) - 127 - kUnit);
    return x;
  }
  switch (dtype) {
    case Dtype::kBool:
      x.units = whole<std::uint8_t>(x.bits != 0);
      break;
    case Dtype::kInt8:
      x.units = whole<std::int8_t>(x.bits);
      break;
    case Dtype::kInt16:
      x.units = whole<std::int16_t>(x.bits);
      break;
    case Dtype::kInt32:
      x.units = whole<std::int32_t>(x.bits);
      break;
    case Dtype::kInt64:
      x.units = whole<std::int64_t>(x.bits);
      break;
    default:
      x.units = whole<std::uint64_t>(x.bits);
      break;
  }
  return x;
}

double rounded(const mpz_class& units) { return nearest(scaled(units, kUnit), kBinary64); }

// The code of the magnitude, for numbers that the format can represent.
template <typename Format, typename Code>
std::uint64_t rank_as(const Number& x) {
  return std::bit_cast<Code>(static_cast<Format>(std::fabs(rounded(x.units))));
}

std::uint64_t steps(Dtype dtype_a, const Number& a, Dtype dtype_b, const Number& b) {
  std::uint64_t of_a = a.rank, of_b = b.rank;
  if (dtype_a != dtype_b) {
    const bool wide = dtype_a == Dtype::kFloat64 || dtype_b == Dtype::kFloat64;
    of_a = wide ? rank_as<double, std::uint64_t>(a) : rank_as<float, std::uint32_t>(a);
    of_b = wide ? rank_as<double, std::uint64_t>(b) : rank_as<float, std::uint32_t>(b);
  }
  if (a.is_negative != b.is_negative) return of_a + of_b;
  return std::max(of_a, of_b) - std::min(of_a, of_b);
}

// For roots that binary64 cannot hold exactly: adds the logarithms of the significand and of the power of 2.
double log10_of_root(const mpq_class& square) {
  const double root = nearest_root(square, kBinary64);
  if (square == 0 || std::isnormal(root)) return std::log10(root);
  const long half = (static_cast<long>(mpz_sizeinbase(square.get_num_mpz_t(), 2)) -
                     static_cast<long>(mpz_sizeinbase(square.get_den_mpz_t(), 2))) /
                    2;
  const mpz_class power = mpz_class(1) << static_cast<unsigned long>(std::labs(2 * half));
  int exponent = 0;
  const double near_1 = nearest_root(half > 0 ? mpq_class(square / power) : mpq_class(square * power), kBinary64);
  const double significand = 2 * std::frexp(near_1, &exponent);
  return std::log10(significand) + static_cast<double>(half + exponent - 1) * std::log10(2.0);
}

// The greatest value so far and its first index. 0 is ignored.
struct Greatest {
  double value = 0;
  Value index = {};
  void take(double candidate, std::uint64_t position) {
    if (candidate > value) *this = {candidate, position};
  }
};

}  // namespace

std::array<Value, tensorstat::kPairStatisticCount> pair_answers(Dtype dtype_a, std::span<const std::byte> of_a,
                                                                Dtype dtype_b, std::span<const std::byte> of_b,
                                                                const PairTolerance& tolerance,
                                                                std::uint64_t first_index) {
  const std::uint64_t count = of_a.size() / tensorstat::size_bytes(dtype_a);
  std::uint64_t unequal = 0, outside = 0, under_1000th = 0, under_200th = 0, most_steps = 0;
  std::uint64_t both_nan = 0, same_inf = 0, nan_alone = 0, inf_alone = 0;
  Value first_unequal, first_outside;
  Greatest farthest, relative;
  mpz_class products, squares_a, squares_b, squared, distances, peak;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t index = first_index + i;
    const Number a = number_at(dtype_a, of_a, i), b = number_at(dtype_b, of_b, i);
    bool is_equal, is_within;
    if (a.is_nan || b.is_nan || a.is_infinite || b.is_infinite) {
      is_equal = is_within =
          (a.is_nan && b.is_nan) || (a.is_infinite && b.is_infinite && a.is_negative == b.is_negative);
      (a.is_nan || b.is_nan ? (is_equal ? both_nan : nan_alone) : is_equal ? same_inf : inf_alone) += 1;
      under_1000th += is_equal;
      under_200th += is_equal;
      if (!is_equal) {
        farthest.take(kInfinity, index);
        relative.take(kInfinity, index);
      }
    } else {
      const mpz_class apart = abs(mpz_class(a.units - b.units)), size_a = abs(a.units), size_b = abs(b.units);
      products += a.units * b.units;
      squares_a += a.units * a.units;
      squares_b += b.units * b.units;
      squared += apart * apart;
      distances += apart;
      if (size_b > peak) peak = size_b;
      is_equal = apart == 0;
      const double d = rounded(apart), s_b = rounded(size_b), s_a = rounded(size_a);
      const double scale = tolerance.scale == PairTolerance::Scale::kGreater ? std::max(s_a, s_b) : s_b;
      const double share = tolerance.rtol * scale, bound = tolerance.atol + share;
      is_within = d <= bound;
      farthest.take(d, index);
      if (d != 0) relative.take(d / scale, index);
      const auto is_under = [&](int part) {
        return std::isfinite(d) && (d == 0 || mpq_class(d) * part < mpq_class(s_b));
      };
      under_1000th += is_under(1000);
      under_200th += is_under(200);
      most_steps = std::max(most_steps, steps(dtype_a, a, dtype_b, b));
    }
    if (dtype_a == dtype_b ? a.bits != b.bits : !is_equal) {
      if (unequal++ == 0) first_unequal = index;
    }
    if (!is_within && outside++ == 0) first_outside = index;
  }

  const auto is_float = [](Dtype dtype) { return fields_of(dtype) || dtype == Dtype::kFloat8E8m0fnu; };
  const bool is_alone = nan_alone + inf_alone != 0, has_steps = is_float(dtype_a) && is_float(dtype_b);
  const mpz_class n = static_cast<unsigned long>(count);
  const auto share = [&](std::uint64_t part) {
    return count == 0 ? Value() : Value(nearest(mpq_class(static_cast<unsigned long>(part)) / n, kBinary64));
  };
  const auto ratio = [](const mpz_class& above, const mpz_class& below) {
    mpq_class quotient(above, below);
    quotient.canonicalize();
    return quotient;
  };
  const auto value = [&](PairStatistic statistic) -> Value {
    switch (statistic) {
      case PairStatistic::kCosine: {
        if (count == 0) return {};
        if (is_alone) return std::numeric_limits<double>::quiet_NaN();
        if (squares_a == 0 || squares_b == 0) return squares_a == squares_b ? Value(1.0) : Value();
        const double size = nearest_root(ratio(products * products, squares_a * squares_b), kBinary64);
        return products < 0 ? -size : size;
      }
      case PairStatistic::kEuclidean:
        return is_alone ? kInfinity : nearest_root(scaled(squared, 2 * kUnit), kBinary64);
      case PairStatistic::kRmse:
        if (count == 0) return {};
        return is_alone ? kInfinity : nearest_root(scaled(squared, 2 * kUnit) / n, kBinary64);
      case PairStatistic::kRelativeL2:
        if (is_alone) return kInfinity;
        if (squares_b == 0) return squared == 0 ? 0.0 : kInfinity;
        return nearest_root(ratio(squared, squares_b), kBinary64);
      case PairStatistic::kSnr:
        if (count == 0) return {};
        if (is_alone) return -kInfinity;
        return squared == 0 ? kInfinity : 20 * log10_of_root(ratio(squares_b, squared));
      case PairStatistic::kPsnr: {
        if (count == 0) return {};
        if (is_alone) return -kInfinity;
        if (squared == 0) return kInfinity;
        return 20 * (std::log10(rounded(peak)) - log10_of_root(scaled(squared, 2 * kUnit) / n));
      }
      case PairStatistic::kMeanAbsDiff:
        if (count == 0) return {};
        return is_alone ? kInfinity : nearest(scaled(distances, kUnit) / n, kBinary64);
      case PairStatistic::kMaxAbsDiff:
        return count == 0 ? Value() : Value(farthest.value);
      case PairStatistic::kMaxAbsDiffIndex:
        return farthest.index;
      case PairStatistic::kMaxRelDiff:
        return count == 0 ? Value() : Value(relative.value);
      case PairStatistic::kMaxRelDiffIndex:
        return relative.index;
      case PairStatistic::kMaxUlp:
        return count == 0 || !has_steps ? Value() : Value(most_steps);
      case PairStatistic::kCount:
        return count;
      case PairStatistic::kUnequalCount:
        return unequal;
      case PairStatistic::kFirstUnequalIndex:
        return first_unequal;
      case PairStatistic::kWithinCount:
        return count - outside;
      case PairStatistic::kOutsideCount:
        return outside;
      case PairStatistic::kFirstOutsideIndex:
        return first_outside;
      case PairStatistic::kUnder1000th:
        return share(under_1000th);
      case PairStatistic::kUnder200th:
        return share(under_200th);
      case PairStatistic::kBothNanCount:
        return both_nan;
      case PairStatistic::kSameInfCount:
        return same_inf;
      case PairStatistic::kNanAloneCount:
        return nan_alone;
      case PairStatistic::kInfAloneCount:
        return inf_alone;
    }
    return {};
  };
  std::array<Value, tensorstat::kPairStatisticCount> values;
  for (int i = 0; i < tensorstat::kPairStatisticCount; ++i) {
    values[static_cast<std::size_t>(i)] = value(static_cast<PairStatistic>(i));
  }
  return values;
}

}  // namespace oracle
