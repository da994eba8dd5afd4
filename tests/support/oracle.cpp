#include "tests/support/oracle.hpp"

#include <zlib.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <map>

namespace oracle {
namespace {

using tensorstat::Category;
using tensorstat::Dtype;
using tensorstat::Value;
__extension__ using i128 = __int128;
__extension__ using u128 = unsigned __int128;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// floor(log2(q)) of a positive number
long exponent_of(const mpq_class& q) {
  const auto bits = [](const mpz_class& z) { return static_cast<long>(mpz_sizeinbase(z.get_mpz_t(), 2)); };
  const long guess = bits(q.get_num()) - bits(q.get_den());
  return q >= scaled(1, guess) ? guess : guess - 1;
}

// floor(q / 2^exponent)
mpz_class units(const mpq_class& q, long exponent) {
  const mpq_class shifted = q * scaled(1, -exponent);
  mpz_class result;
  mpz_fdiv_q(result.get_mpz_t(), shifted.get_num_mpz_t(), shifted.get_den_mpz_t());
  return result;
}

// The exponent of the unit in the last place of numbers from 2^exponent to 2^(exponent + 1).
long unit_at(long exponent, Ieee format) {
  return std::max<long>(exponent - format.fraction_bits, format.least_exponent());
}

double assembled(const mpz_class& significand, long unit, Ieee format) {
  if (significand == 0) return 0;
  const mpq_class value = scaled(significand, unit);
  if (value >= scaled(1, format.bias() + 1)) return kInfinity;
  return std::ldexp(significand.get_d(), static_cast<int>(unit));
}

// The sum of the elements with one exponent, before it goes into big numbers.
struct Bucket {
  i128 sum = 0;
  u128 squares = 0, sizes = 0, positives = 0, negatives = 0;
};

// The 8-bit floats as their authors define them (OCP 8-bit floating point, rev. 1.0; Noune et al., arXiv:2206.02915).
struct Float8 {
  int exponent_bits, fraction_bits, bias;
  bool is_ieee;       // Inf and NaN as in IEEE 754
  bool ones_are_nan;  // no Inf; the only NaN is all ones, with either sign
};
const Float8* float8_of(Dtype dtype) {
  static constexpr Float8 kE4m3fn{4, 3, 7, false, true}, kE5m2{5, 2, 15, true, false};
  static constexpr Float8 kE4m3fnuz{4, 3, 8, false, false}, kE5m2fnuz{5, 2, 16, false, false};
  switch (dtype) {
    case Dtype::kFloat8E4m3fn:
      return &kE4m3fn;
    case Dtype::kFloat8E5m2:
      return &kE5m2;
    case Dtype::kFloat8E4m3fnuz:
      return &kE4m3fnuz;
    case Dtype::kFloat8E5m2fnuz:
      return &kE5m2fnuz;
    default:
      return nullptr;
  }
}

template <typename Number>
void note_size(Facts& facts, Number size) {
  const auto* least = std::get_if<Number>(&facts.least_size);
  if (size != 0 && (least == nullptr || size < *least)) facts.least_size = size;
}

// Notes n casts of a finite |x| to each narrower format: rounds to units in the last place there, to nearest, ties to
// even.
void note_casts(Facts& facts, double size, std::uint64_t n = 1) {
  struct Target {
    int fraction_bits, least_exponent;  // the least positive value is 2^least_exponent
    double greatest;
  };
  static constexpr Target kTargets[] = {{3, -9, 448}, {2, -16, 57344}, {10, -24, 65504}, {7, -133, 0x1.fep127}};
  for (std::size_t i = 0; i < std::size(kTargets) && size != 0; ++i) {
    const Target& target = kTargets[i];
    const int unit = std::max(std::ilogb(size) - target.fraction_bits, target.least_exponent);
    const double cast = std::ldexp(std::nearbyint(std::ldexp(size, -unit)), unit);
    if (cast == 0) facts.lost[i] += n;
    if (cast > target.greatest) facts.beyond[i] += n;
  }
}

// a < b, with -0 below +0.
bool below(double a, double b) { return a < b || (a == 0 && b == 0 && std::signbit(a) && !std::signbit(b)); }

void note_first(Value& place, std::uint64_t index) {
  if (place == Value()) place = index;
}

// Notes the element at `index`, a float that is not NaN.
void note_extremes(Facts& facts, double value, std::uint64_t index) {
  const auto take = [&](Value& extreme, bool is_beyond) {
    if (is_beyond) extreme = value;
    return is_beyond;
  };
  const auto* most = std::get_if<double>(&facts.most);
  if (take(facts.most, most == nullptr || below(*most, value))) facts.most_at = index;
  const auto* least = std::get_if<double>(&facts.least);
  if (take(facts.least, least == nullptr || below(value, *least))) facts.least_at = index;
  if (std::isinf(value)) return note_first(facts.infinity_at, index);
  const auto* finite_most = std::get_if<double>(&facts.finite_most);
  take(facts.finite_most, finite_most == nullptr || below(*finite_most, value));
  const auto* finite_least = std::get_if<double>(&facts.finite_least);
  take(facts.finite_least, finite_least == nullptr || below(value, *finite_least));
}

// Element by element in binary64, which is exact for these dtypes.
void add_float8(Facts& facts, const Float8& format, std::span<const std::byte> bytes) {
  std::array<std::uint64_t, 256> codes{}, first{};
  for (std::size_t i = bytes.size(); i-- > 0;) {
    ++codes[std::to_integer<std::size_t>(bytes[i])];
    first[std::to_integer<std::size_t>(bytes[i])] = i;
  }
  std::map<std::uint64_t, double> in_order;  // the first index of each code that is not NaN
  for (unsigned code = 0; code < codes.size(); ++code) {
    if (codes[code] == 0) continue;
    const mpz_class n = codes[code];
    const bool negative = code >= 0x80;
    const unsigned magnitude = code & 0x7f, field = magnitude >> format.fraction_bits;
    const unsigned fraction = magnitude & ((1u << format.fraction_bits) - 1);
    const bool ones = field == (1u << format.exponent_bits) - 1;
    const bool is_nan = format.is_ieee ? ones && fraction != 0 : format.ones_are_nan ? magnitude == 0x7f : code == 0x80;
    if (is_nan) {
      facts.nans += codes[code];
      const auto* earlier = std::get_if<std::uint64_t>(&facts.nan_at);
      if (earlier == nullptr || first[code] < *earlier) facts.nan_at = first[code];
      continue;
    }
    const bool is_infinite = format.is_ieee && ones;
    const double significand = field == 0 ? fraction : fraction + (1u << format.fraction_bits);
    double value = is_infinite ? kInfinity
                               : std::ldexp(significand,
                                            static_cast<int>(std::max(field, 1u)) - format.bias - format.fraction_bits);
    if (negative) value = -value;
    if (is_infinite) {
      (negative ? facts.negative_infs : facts.positive_infs) += codes[code];
    } else {
      facts.sum += mpq_class(value) * n;
      facts.squares += mpq_class(value) * mpq_class(value) * n;
      facts.sizes += mpq_class(std::fabs(value)) * n;
      (value < 0 ? facts.negatives_sum : facts.positives) += mpq_class(value) * n;
      note_casts(facts, std::fabs(value), codes[code]);
    }
    if (value == 0) facts.zeros += codes[code];
    if (value == 0 && negative) facts.minus_zeros += codes[code];
    if (field == 0 && fraction != 0) facts.subnormals += codes[code];
    if (field != 0 && !is_infinite) facts.binades[std::ilogb(value)] += codes[code];
    note_size(facts, std::fabs(value));
    if (value < 0) facts.negatives += codes[code];
    in_order[first[code]] = value;
  }
  for (const auto& [index, value] : in_order) note_extremes(facts, value, index);
}

void add_floats(Facts& facts, Dtype dtype, std::span<const std::byte> bytes) {
  const Ieee format = format_of(dtype);
  const std::size_t size = bytes.size() / std::max<std::uint64_t>(facts.count, 1);
  const std::uint64_t top_exponent = (1u << format.exponent_bits) - 1;
  std::map<int, Bucket> buckets;
  for (std::size_t offset = 0; offset < bytes.size(); offset += size) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &bytes[offset], size);
    const bool negative = (bits >> (format.exponent_bits + format.fraction_bits)) != 0;
    const std::uint64_t field = (bits >> format.fraction_bits) & top_exponent;
    const std::uint64_t fraction = bits & ((std::uint64_t{1} << format.fraction_bits) - 1);
    if (field == top_exponent && fraction != 0) {
      ++facts.nans;
      note_first(facts.nan_at, offset / size);
      continue;
    }
    const std::uint64_t significand = field == 0 ? fraction : fraction + (std::uint64_t{1} << format.fraction_bits);
    const int exponent = format.least_exponent() + static_cast<int>(field == 0 ? 0 : field - 1);
    double value = kInfinity;
    if (field == top_exponent) {
      ++(negative ? facts.negative_infs : facts.positive_infs);
    } else {
      value = std::ldexp(static_cast<double>(significand), exponent);
      Bucket& bucket = buckets[exponent];
      bucket.sum += negative ? -static_cast<i128>(significand) : static_cast<i128>(significand);
      bucket.squares += static_cast<u128>(significand) * significand;
      bucket.sizes += significand;
      (negative ? bucket.negatives : bucket.positives) += significand;
      note_casts(facts, value);
    }
    if (negative) value = -value;
    facts.zeros += value == 0;
    facts.minus_zeros += value == 0 && negative;
    facts.subnormals += field == 0 && fraction != 0;
    if (field != 0 && field != top_exponent) ++facts.binades[std::ilogb(value)];
    note_size(facts, std::fabs(value));
    facts.negatives += value < 0;
    note_extremes(facts, value, offset / size);
  }
  const auto big = [](u128 value) {
    mpz_class result = static_cast<unsigned long>(value >> 64);
    result <<= 64;
    return mpz_class(result + static_cast<unsigned long>(value));
  };
  // All terms in one unit, so that the sums are integers.
  const long unit = format.least_exponent();
  mpz_class sum, squares, sizes, positives, negatives;
  for (const auto& [exponent, bucket] : buckets) {
    const auto above = static_cast<mp_bitcnt_t>(exponent - unit);
    const mpz_class part = big(bucket.sum < 0 ? -static_cast<u128>(bucket.sum) : static_cast<u128>(bucket.sum))
                           << above;
    bucket.sum < 0 ? sum -= part : sum += part;
    squares += big(bucket.squares) << (2 * above);
    sizes += big(bucket.sizes) << above;
    positives += big(bucket.positives) << above;
    negatives += big(bucket.negatives) << above;
  }
  facts.sum = scaled(sum, unit);
  facts.squares = scaled(squares, 2 * unit);
  facts.sizes = scaled(sizes, unit);
  facts.positives = scaled(positives, unit);
  facts.negatives_sum = -scaled(negatives, unit);
}

template <typename Stored>
void add_integers(Facts& facts, std::span<const std::byte> bytes, bool is_bool) {
  using Wide = std::conditional_t<std::is_signed_v<Stored>, std::int64_t, std::uint64_t>;
  mpz_class sum, squares, sizes, positives, negatives, number;
  Wide most = 0, least = 0;
  for (std::size_t offset = 0; offset < bytes.size(); offset += sizeof(Stored)) {
    Stored stored;
    std::memcpy(&stored, &bytes[offset], sizeof stored);
    const Wide value = is_bool ? stored != 0 : static_cast<Wide>(stored);
    number = value;
    sum += number;
    squares += number * number;
    sizes += abs(number);
    (value < 0 ? negatives : positives) += number;
    note_size(facts, std::uint64_t{mpz_class(abs(number)).get_ui()});
    note_casts(facts, std::fabs(static_cast<double>(value)));
    if (value != 0) ++facts.binades[static_cast<int>(exponent_of(mpq_class(abs(number))))];
    facts.zeros += value == 0;
    facts.negatives += value < 0;
    const std::uint64_t index = offset / sizeof(Stored);
    if (offset == 0 || most < value) facts.most_at = index, most = value;
    if (offset == 0 || value < least) facts.least_at = index, least = value;
  }
  if (facts.count != 0) {
    facts.most = facts.finite_most = most;
    facts.least = facts.finite_least = least;
  }
  facts.sum = sum;
  facts.squares = squares;
  facts.sizes = sizes;
  facts.positives = positives;
  facts.negatives_sum = negatives;
}

// The greater of the two absolute values.
Value farther(const Value& most, const Value& least) {
  if (const auto* top = std::get_if<double>(&most)) {
    return std::max(std::fabs(*top), std::fabs(std::get<double>(least)));
  }
  const auto* top = std::get_if<std::int64_t>(&most);
  if (top == nullptr) return most;
  const mpz_class a = abs(mpz_class(*top)), b = abs(mpz_class(std::get<std::int64_t>(least)));
  return std::uint64_t{mpz_class(a > b ? a : b).get_ui()};
}

mpq_class number_of(const Value& value) {
  const auto* real = std::get_if<double>(&value);
  return real != nullptr ? mpq_class(*real) : mpq_class(static_cast<unsigned long>(std::get<std::uint64_t>(value)));
}

}  // namespace

Ieee format_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFloat16:
      return kBinary16;
    case Dtype::kBfloat16:
      return kBfloat16;
    case Dtype::kFloat32:
      return kBinary32;
    default:
      return kBinary64;
  }
}

mpq_class scaled(const mpz_class& number, long exponent) {
  const mpz_class power = mpz_class(1) << static_cast<mp_bitcnt_t>(std::abs(exponent));
  mpq_class result = exponent < 0 ? mpq_class(number, power) : mpq_class(number * power);
  result.canonicalize();
  return result;
}

double nearest(const mpq_class& exact, Ieee format) {
  if (exact == 0) return 0;
  if (exact < 0) return -nearest(-exact, format);
  const long unit = unit_at(exponent_of(exact), format);
  mpz_class floor = units(exact, unit);
  const int to_middle = cmp(exact, scaled(2 * floor + 1, unit - 1));
  if (to_middle > 0 || (to_middle == 0 && mpz_odd_p(floor.get_mpz_t()))) ++floor;
  return assembled(floor, unit, format);
}

// log2(q) = log(q) / log(2), and log(q) = 2 artanh((q - 1) / (q + 1)) = 2 (z + z^3 / 3 + z^5 / 5 ...).
mpq_class log2(const mpq_class& number) {
  constexpr int kBits = 320;
  const auto log = [](const mpq_class& q) {
    const mpf_class z(mpq_class((q - 1) / (q + 1)), kBits), square = z * z, least = mpf_class(1, kBits) >> kBits;
    mpf_class sum(0, kBits);
    unsigned long i = 1;
    for (mpf_class power = z; power > least; power *= square, i += 2) sum += power / i;
    return mpf_class(2 * sum, kBits);
  };
  static const mpf_class log_of_2 = log(2);
  const long whole = exponent_of(number);
  return mpq_class(mpf_class(whole + log(number * scaled(1, -whole)) / log_of_2, kBits));
}

double nearest_root(const mpq_class& exact, Ieee format) {
  if (exact == 0) return 0;
  const long exponent = exponent_of(exact);
  const long unit = unit_at(exponent >= 0 ? exponent / 2 : (exponent - 1) / 2, format);
  mpz_class floor = sqrt(units(exact, 2 * unit));
  const mpz_class middle = 2 * floor + 1;
  const int to_middle = cmp(exact, scaled(middle * middle, 2 * unit - 2));
  if (to_middle > 0 || (to_middle == 0 && mpz_odd_p(floor.get_mpz_t()))) ++floor;
  return assembled(floor, unit, format);
}

namespace {

// OCP's e8m0: the value of a code is 2^(code - 127); 255 is NaN.
void add_scales(Facts& facts, std::span<const std::byte> bytes) {
  std::array<mpz_class, 256> codes;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const int code = std::to_integer<int>(bytes[i]);
    if (code == 255) {
      ++facts.nans;
      note_first(facts.nan_at, i);
      continue;
    }
    ++codes[static_cast<std::size_t>(code)];
    const double value = std::ldexp(1.0, code - 127);
    ++facts.binades[code - 127];
    note_size(facts, value);
    note_casts(facts, value);
    note_extremes(facts, value, i);
  }
  for (int code = 0; code < 255; ++code) {
    const mpz_class& n = codes[static_cast<std::size_t>(code)];
    facts.sum += scaled(n, code - 127);
    facts.squares += scaled(n, 2 * (code - 127));
  }
  facts.sizes = facts.positives = facts.sum;
}

// The values of OCP's e2m1, indexed by code.
constexpr double kFloat4[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6};

}  // namespace

Facts facts_of_packed(Dtype dtype, std::span<const std::byte> bytes, std::uint64_t count) {
  const unsigned bits = dtype == Dtype::kUint1 ? 1 : 4;
  std::vector<std::byte> wide;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto byte = std::to_integer<unsigned>(bytes[i * bits / 8]);
    const unsigned code = bits == 1 ? byte >> (7 - i % 8) & 1 : i % 2 == 0 ? byte & 15 : byte >> 4;
    wide.push_back(static_cast<std::byte>(dtype == Dtype::kInt4 && code > 7 ? code + 240 : code));
  }
  Facts result;
  if (dtype == Dtype::kFloat4E2m1fn) {
    result.count = count;
    for (std::uint64_t i = 0; i < count; ++i) {
      const double value = kFloat4[std::to_integer<std::size_t>(wide[i])];
      const bool is_negative = std::signbit(value);
      result.zeros += value == 0;
      result.minus_zeros += value == 0 && is_negative;
      result.negatives += value < 0;
      result.subnormals += std::fabs(value) == 0.5;
      if (std::fabs(value) >= 1) ++result.binades[std::ilogb(value)];
      result.sum += mpq_class(value);
      result.squares += mpq_class(value * value);
      result.sizes += mpq_class(std::fabs(value));
      (value < 0 ? result.negatives_sum : result.positives) += mpq_class(value);
      note_size(result, std::fabs(value));
      note_casts(result, std::fabs(value));
      note_extremes(result, value, i);
    }
  } else {
    result = facts(dtype == Dtype::kInt4 ? Dtype::kInt8 : Dtype::kUint8, wide);
  }
  const Facts stored = facts(Dtype::kUint8, bytes.first((count * bits + 7) / 8));
  result.crc32 = stored.crc32;
  result.xor64 = stored.xor64;
  return result;
}

Facts facts(Dtype dtype, std::span<const std::byte> bytes) {
  Facts result;
  result.crc32 = static_cast<std::uint32_t>(::crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    result.xor64 ^= static_cast<std::uint64_t>(std::to_integer<unsigned char>(bytes[i])) << (8 * (i % 8));
  }
  const auto take = [&]<typename Stored>(Stored) {
    result.count = bytes.size() / sizeof(Stored);
    add_integers<Stored>(result, bytes, dtype == Dtype::kBool);
  };
  switch (dtype) {
    case Dtype::kBool:
      take(std::uint8_t{});
      break;
    case Dtype::kInt8:
      take(std::int8_t{});
      break;
    case Dtype::kInt16:
      take(std::int16_t{});
      break;
    case Dtype::kInt32:
      take(std::int32_t{});
      break;
    case Dtype::kInt64:
      take(std::int64_t{});
      break;
    case Dtype::kUint8:
      take(std::uint8_t{});
      break;
    case Dtype::kUint16:
      take(std::uint16_t{});
      break;
    case Dtype::kUint32:
      take(std::uint32_t{});
      break;
    case Dtype::kUint64:
      take(std::uint64_t{});
      break;
    case Dtype::kFloat8E8m0fnu:
      result.count = bytes.size();
      add_scales(result, bytes);
      break;
    default: {
      if (const Float8* float8 = float8_of(dtype)) {
        result.count = bytes.size();
        add_float8(result, *float8, bytes);
        break;
      }
      const Ieee format = format_of(dtype);
      result.count = bytes.size() / static_cast<std::size_t>((1 + format.exponent_bits + format.fraction_bits) / 8);
      add_floats(result, dtype, bytes);
    }
  }
  return result;
}

namespace {

// A digest from the number's hexadecimal digits.
tensorstat::Digest digest(std::uint64_t number, int digits) {
  char text[17];
  std::snprintf(text, sizeof text, "%0*llx", digits, static_cast<unsigned long long>(number));
  return *tensorstat::Digest::from(text);
}

}  // namespace

std::array<Value, tensorstat::kCategoryCount> answers(const Facts& facts, Ieee format) {
  std::array<Value, tensorstat::kCategoryCount> values;
  const auto answer = [&](Category category) -> Value& { return values[static_cast<std::size_t>(category)]; };
  const bool infinite = facts.positive_infs + facts.negative_infs != 0;
  if (facts.count != 0) {
    answer(Category::kMax) = facts.nans != 0 ? Value(kNan) : facts.most;
    answer(Category::kMin) = facts.nans != 0 ? Value(kNan) : facts.least;
    if (facts.nans != 0 || (facts.positive_infs != 0 && facts.negative_infs != 0)) {
      answer(Category::kAvg) = kNan;
    } else if (infinite) {
      answer(Category::kAvg) = facts.positive_infs != 0 ? kInfinity : -kInfinity;
    } else {
      answer(Category::kAvg) = nearest(facts.sum / mpz_class(facts.count), format);
    }
  }
  answer(Category::kL2norm) = facts.nans != 0 ? kNan : infinite ? kInfinity : nearest_root(facts.squares, format);
  answer(Category::kL1norm) = facts.nans != 0 ? kNan : infinite ? kInfinity : nearest(facts.sizes, format);
  answer(Category::kSumOfPositives) = facts.nans != 0            ? kNan
                                      : facts.positive_infs != 0 ? kInfinity
                                                                 : nearest(facts.positives, format);
  answer(Category::kSumOfNegatives) = facts.nans != 0            ? kNan
                                      : facts.negative_infs != 0 ? -kInfinity
                                                                 : nearest(facts.negatives_sum, format);
  const mpz_class n = facts.count;
  if (facts.count != 0) {
    const bool finite = facts.nans == 0 && !infinite;
    const mpq_class variance = (n * facts.squares - facts.sum * facts.sum) / (n * n);
    answer(Category::kVar) = finite ? nearest(variance, format) : kNan;
    answer(Category::kStd) = finite ? nearest_root(variance, format) : kNan;
    answer(Category::kRms) = facts.nans != 0 ? kNan : infinite ? kInfinity : nearest_root(facts.squares / n, format);
    answer(Category::kAbsmax) = facts.nans != 0 ? Value(kNan) : farther(facts.most, facts.least);
    answer(Category::kSparsity) = nearest(mpq_class(facts.zeros) / n, format);
  }
  const std::uint64_t finite = facts.count - facts.nans - facts.positive_infs - facts.negative_infs;
  answer(Category::kFiniteCount) = finite;
  answer(Category::kFiniteMax) = facts.finite_most;
  answer(Category::kFiniteMin) = facts.finite_least;
  if (finite != 0) answer(Category::kFiniteAvg) = nearest(facts.sum / mpz_class(finite), format);
  answer(Category::kFiniteL2norm) = nearest_root(facts.squares, format);
  answer(Category::kFirstNanIndex) = facts.nan_at;
  answer(Category::kFirstInfIndex) = facts.infinity_at;
  const auto* nan_at = std::get_if<std::uint64_t>(&facts.nan_at);
  const auto* infinity_at = std::get_if<std::uint64_t>(&facts.infinity_at);
  const bool infinity_is_earlier = nan_at == nullptr || (infinity_at != nullptr && *infinity_at < *nan_at);
  answer(Category::kFirstBadIndex) = infinity_is_earlier ? facts.infinity_at : facts.nan_at;
  answer(Category::kArgmax) = facts.nans != 0 ? facts.nan_at : facts.most_at;
  answer(Category::kArgmin) = facts.nans != 0 ? facts.nan_at : facts.least_at;
  answer(Category::kAbsmin) = facts.nans != 0 ? Value(kNan) : facts.least_size;
  if (facts.nans != 0) {
    answer(Category::kDynamicRange) = kNan;
  } else if (facts.least_size != Value()) {
    const Value most = farther(facts.most, facts.least);
    answer(Category::kDynamicRange) =
        infinite ? kInfinity : nearest(log2(number_of(most) / number_of(facts.least_size)), format);
  }
  answer(Category::kSubnormalCount) = facts.subnormals;
  answer(Category::kMinusZeroCount) = facts.minus_zeros;
  constexpr std::pair<Category, Category> kCasts[] = {{Category::kE4m3fnUnderflow, Category::kE4m3fnOverflow},
                                                      {Category::kE5m2Underflow, Category::kE5m2Overflow},
                                                      {Category::kFloat16Underflow, Category::kFloat16Overflow},
                                                      {Category::kBfloat16Underflow, Category::kBfloat16Overflow}};
  for (std::size_t i = 0; i < std::size(kCasts); ++i) {
    answer(kCasts[i].first) = facts.lost[i];
    answer(kCasts[i].second) = facts.beyond[i];
  }
  tensorstat::ExponentCounts exponents{
      facts.zeros, facts.subnormals, facts.positive_infs + facts.negative_infs, facts.nans, {}};
  for (const auto& [exponent, count] : facts.binades) exponents.binades.push_back({exponent, count});
  answer(Category::kExponents) = tensorstat::Exponents(std::move(exponents));
  answer(Category::kCrc32) = digest(facts.crc32, 8);
  answer(Category::kXor64) = digest(facts.xor64, 16);
  answer(Category::kCount) = facts.count;
  answer(Category::kNanCount) = facts.nans;
  answer(Category::kPositiveInfCount) = facts.positive_infs;
  answer(Category::kNegativeInfCount) = facts.negative_infs;
  answer(Category::kZeroCount) = facts.zeros;
  answer(Category::kNegativeZeroCount) = facts.negatives;
  answer(Category::kPositiveZeroCount) = facts.count - facts.nans - facts.zeros - facts.negatives;
  return values;
}

bool same(const Value& a, const Value& b) {
  const auto* x = std::get_if<double>(&a);
  const auto* y = std::get_if<double>(&b);
  if (x == nullptr || y == nullptr) return a == b;
  return std::isnan(*x) ? std::isnan(*y) : std::bit_cast<std::uint64_t>(*x) == std::bit_cast<std::uint64_t>(*y);
}

std::string shown(const Value& value) {
  char text[64];
  if (const auto* number = std::get_if<double>(&value)) {
    std::snprintf(text, sizeof text, "%a (%.17g)", *number, *number);
  } else if (const auto* counted = std::get_if<std::uint64_t>(&value)) {
    std::snprintf(text, sizeof text, "%llu", static_cast<unsigned long long>(*counted));
  } else if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    std::snprintf(text, sizeof text, "%lld", static_cast<long long>(*integer));
  } else if (const auto* digest = std::get_if<tensorstat::Digest>(&value)) {
    return to_string(*digest);
  } else if (const auto* exponents = std::get_if<tensorstat::Exponents>(&value)) {
    return to_string(*exponents);
  } else {
    return "none";
  }
  return text;
}

}  // namespace oracle
