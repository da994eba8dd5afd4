#include "stats/engine/finish.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "precision/round.hpp"
#include "precision/scalars.hpp"
#include "stats/engine/accumulator_layout.hpp"
#include "stats/engine/quantile_codes.hpp"

namespace {
#include "precision/checksum.h"
}

namespace tensorstat {
namespace {

// The storage format of a float dtype, from its row in precision/dtypes.txt. The exponent field e of a normal value
// means 2^(e - bias). A field of all ones means Inf, if the dtype has Inf.
struct Stored {
  int mantissa_shift, bias;
  bool has_infinity, is_float;
};
constexpr Stored stored(Dtype dtype) {
  const precision::DtypeFacts& of = facts(dtype);
  return {of.mantissa_shift, 1 - of.mantissa_shift - of.first_unit - of.sum_exponent, of.has_inf, of.is_float};
}
#define ROW(id, ...) stored(Dtype::id),
constexpr Stored kStored[] = {TENSORSTAT_DTYPES(ROW)};
#undef ROW

constexpr precision::Format own_format(Dtype dtype) {
  const Stored& own = kStored[static_cast<int>(dtype)];
  return {own.mantissa_shift + 1, 1 - own.bias - own.mantissa_shift, own.bias};
}

// Converts a value of a shorter format, given by its bits without the sign, to binary64. Works on bits only:
// floating-point operations would lose subnormals if the caller has set flush-to-zero.
inline double widened(const Stored& format, std::uint64_t magnitude, bool negative) {
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
  return widened(kStored[static_cast<int>(dtype)], static_cast<std::uint64_t>(bits) << 1 >> 1, key < 0);
}

// a > b for numbers, also if the caller has set flush-to-zero, which compares subnormals as 0.
bool above(double a, double b) {
  const auto ordered = [](double value) {
    const auto magnitude = std::bit_cast<std::int64_t>(value) & std::numeric_limits<std::int64_t>::max();
    return std::signbit(value) ? -magnitude : magnitude;
  };
  return ordered(a) > ordered(b);
}

// `low`: the sum of squares is rounded to the dtype before the root is taken.
double root_of_own_sum(const precision::Exact& squares, const precision::Format& own) {
  const double sum = precision::round_quotient(squares, 1, own);
  if (std::isinf(sum)) return sum;
  // On bits, because flush-to-zero would lose a subnormal.
  const auto bits = std::bit_cast<std::uint64_t>(sum);
  const auto exponent = static_cast<int>(bits >> 52);
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
  const std::uint64_t mantissa = exponent == 0 ? fraction : fraction | std::uint64_t{1} << 52;
  const std::int64_t words[] = {static_cast<std::int64_t>(mantissa & 0xffffffff),
                                static_cast<std::int64_t>(mantissa >> 32)};
  return precision::round_root({words, std::max(exponent, 1) - 1075}, own);
}

// Reads the value of every category from a partial's words.
class Finished {
 public:
  Finished(const PartialView& partial, bool to_binary32)
      : partial_(partial),
        sums_(layout(partial.dtype).sums()),
        n_(word(PARTIAL_COUNT)),
        nans_(word(PARTIAL_NANS)),
        positive_infs_(word(PARTIAL_POSITIVE_INFS)),
        negative_infs_(word(PARTIAL_NEGATIVE_INFS)),
        finite_(n_ - nans_ - positive_infs_ - negative_infs_),
        own_(is_low(partial.dtype, partial.precision)),
        format_(own_          ? own_format(partial.dtype)
                : to_binary32 ? precision::kBinary32
                              : precision::kBinary64) {}

 private:
  // A number that becomes a Value.
  using Number = std::variant<std::monostate, std::uint64_t, std::int64_t, double>;
  static constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  // What a row's expression gives: a number, a Digest or a list; an optional one; or a function that writes the value.
  template <typename Given>
  [[gnu::always_inline]] static void put_value(Given&& given, Value* to) {
    if constexpr (std::invocable<Given&, Value*>) {
      given(to);
    } else if constexpr (requires { given.has_value(); }) {
      given.has_value() ? std::construct_at(to, *given) : std::construct_at(to);
    } else {
      std::construct_at(to, std::forward<Given>(given));
    }
  }

  // The terms that the catalog's rows are written in, here and below.
  std::uint64_t count() const { return n_; }
  std::uint64_t nans() const { return nans_; }
  std::uint64_t positive_infs() const { return positive_infs_; }
  std::uint64_t negative_infs() const { return negative_infs_; }
  std::uint64_t finite_count() const { return finite_; }
  std::uint64_t zeros() const { return word(PARTIAL_ZEROS); }
  std::uint64_t negatives() const { return word(PARTIAL_NEGATIVES); }
  static std::monostate nothing() { return {}; }

  // Keys of the extrema.
  std::int64_t highest() const { return partial_.words[PARTIAL_HIGHEST]; }
  std::int64_t lowest() const { return ~partial_.words[PARTIAL_LOWEST]; }
  auto extremum(std::int64_t key) const {
    return [this, key](Value* to) { put_extremum(key, to); };
  }
  auto finite_extremum(std::int64_t key) const {
    return [this, key](Value* to) { finite_ == 0 ? void(std::construct_at(to)) : put_key(key, to); };
  }
  auto first_of(std::initializer_list<std::size_t> indices) const {
    std::int64_t complement = std::numeric_limits<std::int64_t>::min();
    for (const std::size_t at : indices) complement = std::max(complement, index(at));
    return [complement](Value* to) { put_index(complement, to); };
  }
  auto absmax() const {
    return [this](Value* to) { put_absmax(to); };
  }
  auto absmin() const {
    return [this](Value* to) { put_absmin(to); };
  }
  auto dynamic_range() const {
    return [this](Value* to) { put_dynamic_range(to); };
  }
  auto quantile_of(std::uint32_t thousandths) const {
    return [this, thousandths](Value* to) { put_quantile(thousandths, to); };
  }

  std::uint64_t word(std::size_t field) const { return static_cast<std::uint64_t>(partial_.words[field]); }

  // Reads a word of precision/elements.h.
  std::uint64_t element(std::size_t which) const { return word(first_element(partial_.dtype) + which); }

  // ~index of a row of precision/indices.h, by its INDEX_AT_; the least integer if there is none.
  std::int64_t index(std::size_t at) const { return partial_.words[first_index(partial_.dtype) + at]; }

  static void put_index(std::int64_t first, Value* to) {
    if (first == std::numeric_limits<std::int64_t>::min()) {
      std::construct_at(to);
    } else {
      std::construct_at(to, static_cast<std::uint64_t>(~first));
    }
  }

  precision::Exact exact(std::size_t which) const {
    const Accumulator& sum = sums_[which];
    return {sum.of(partial_.words), sum.exponent};
  }

  template <typename To>
  void put_extremum(std::int64_t key, To* to) const {
    if (n_ == 0) {
      std::construct_at(to);
    } else if (nans_ != 0) {
      std::construct_at(to, kNan);
    } else {
      put_key(key, to);
    }
  }

  // The element with this order-preserving key.
  template <typename To>
  void put_key(std::int64_t key, To* to) const {
    const Dtype dtype = partial_.dtype;
    if (kStored[static_cast<int>(dtype)].is_float) {
      std::construct_at(to, float_of_key(dtype, key));
    } else if (dtype == Dtype::kUint64) {
      std::construct_at(to, static_cast<std::uint64_t>(key) ^ std::uint64_t{1} << 63);
    } else if (is_signed_integer(dtype)) {
      std::construct_at(to, key);
    } else {
      std::construct_at(to, static_cast<std::uint64_t>(key));
    }
  }

  // Over the elements that are not NaN. The first and the last are the extrema; all others are clamped to these.
  [[gnu::noinline]] void put_quantile(std::uint32_t thousandths, Value* to) const {
    constexpr std::uint64_t kWhole = kMostThousandths;
    const std::uint64_t n = n_ - nans_;
    // ceil(n * thousandths / kWhole) without overflow.
    const std::uint64_t rounded_up = (n % kWhole * thousandths + kWhole - 1) / kWhole;
    const std::uint64_t rank = std::max<std::uint64_t>(n / kWhole * thousandths + rounded_up, 1);
    const std::int64_t lowest = ~partial_.words[PARTIAL_LOWEST], highest = partial_.words[PARTIAL_HIGHEST];
    const auto place = n == 0 ? std::nullopt : partial_.bins.place_of_rank(rank);
    if (!place || lowest > highest) return std::construct_at(to), void();
    if (rank == 1 || rank == n) return put_key(rank == 1 ? lowest : highest, to);
    put_key(std::clamp(middle_of(partial_.dtype, *place), lowest, highest), to);
  }

  // The extremum of the finite elements. Integers and bool are always finite.
  std::int64_t finite_highest() const {
    return partial_.words[is_float(partial_.dtype) ? first_element(partial_.dtype) + ELEMENT_WORD_FINITE_HIGHEST
                                                   : std::size_t{PARTIAL_HIGHEST}];
  }
  std::int64_t finite_lowest() const {
    return ~partial_.words[is_float(partial_.dtype) ? first_element(partial_.dtype) + ELEMENT_WORD_FINITE_LOWEST
                                                    : std::size_t{PARTIAL_LOWEST}];
  }

  std::optional<double> avg() const {
    if (n_ == 0) return std::nullopt;
    if (nans_ != 0 || (positive_infs_ != 0 && negative_infs_ != 0)) return kNan;
    if (positive_infs_ != 0) return kInfinity;
    if (negative_infs_ != 0) return -kInfinity;
    return mean(n_, highest(), lowest());
  }
  std::optional<double> finite_avg() const {
    if (finite_ == 0) return std::nullopt;
    return mean(finite_, finite_highest(), finite_lowest());
  }

  // The mean of `count` elements. `highest` and `lowest` are the keys of their extrema.
  double mean(std::uint64_t count, std::int64_t highest, std::int64_t lowest) const {
    const double avg = precision::round_quotient(exact(EXACT_SUM), count, format_);
    if (!own_) return avg;
    // Rounded tile sums may put the quotient one ulp outside of the data's range; a mean lies inside.
    const double most = float_of_key(partial_.dtype, highest), least = float_of_key(partial_.dtype, lowest);
    return above(avg, most) ? most : above(least, avg) ? least : avg;
  }

  double l2norm() const {
    if (nans_ != 0) return kNan;
    return positive_infs_ != 0 || negative_infs_ != 0 ? kInfinity : finite_l2norm();
  }
  double finite_l2norm() const {
    if (word(PARTIAL_OVERFLOWS) != 0) return kInfinity;
    const precision::Exact squares = exact(EXACT_SQUARES);
    return own_ ? root_of_own_sum(squares, format_) : precision::round_root(squares, format_);
  }

  // A linear sum (precision/sums.h). Its factors say what the infinities add.
  double linear_sum(std::size_t which) const {
    const Accumulator& sum = sums_[which];
    const bool up = (sum.above > 0 && positive_infs_ != 0) || (sum.below < 0 && negative_infs_ != 0);
    const bool down = sum.below > 0 && negative_infs_ != 0;
    if (nans_ != 0 || (up && down)) return kNan;
    if (up || down) return up ? kInfinity : -kInfinity;
    return precision::round_quotient(exact(which), 1, format_);
  }
  double l1norm() const { return linear_sum(EXACT_ABSOLUTE); }

  // Half the sum of |x| and x, which are 2x and 0 on the two sides of 0.
  double sum_of_positives() const {
    if (nans_ != 0) return kNan;
    if (positive_infs_ != 0) return kInfinity;
    const double half = half_sum([](std::uint64_t sum, std::uint64_t size) { return sum + size; });
    return half < 0 ? 0 : half;  // only where sums were rounded, in `low`
  }
  // And half of x - |x|.
  double sum_of_negatives() const {
    if (nans_ != 0) return kNan;
    if (negative_infs_ != 0) return -kInfinity;
    const double half = half_sum([](std::uint64_t sum, std::uint64_t size) { return sum - size; });
    return half > 0 ? 0 : half;
  }
  // Of words in any state of carry, each below 2^62. Those that never were a tensor's wrap.
  template <typename Of>
  double half_sum(const Of& of) const {
    const precision::Exact sum = exact(EXACT_SUM), sizes = exact(EXACT_ABSOLUTE);
    std::array<std::int64_t, precision::kMostExactWords> words;
    for (std::size_t i = 0; i < sum.words.size(); ++i) {
      words[i] = static_cast<std::int64_t>(
          of(static_cast<std::uint64_t>(sum.words[i]), static_cast<std::uint64_t>(sizes.words[i])));
    }
    return precision::round_quotient({std::span(words).first(sum.words.size()), sum.exponent - 1}, 1, format_);
  }

  std::optional<double> deviation(precision::Deviation which) const {
    if (n_ == 0) return std::nullopt;
    if (nans_ != 0 || positive_infs_ != 0 || negative_infs_ != 0) return kNan;
    if (word(PARTIAL_OVERFLOWS) != 0) return kInfinity;
    return precision::round_deviation(exact(EXACT_SUM), exact(EXACT_SQUARES), n_, format_, which);
  }

  std::optional<double> rms() const {
    if (n_ == 0) return std::nullopt;
    if (nans_ != 0) return kNan;
    if (positive_infs_ != 0 || negative_infs_ != 0 || word(PARTIAL_OVERFLOWS) != 0) return kInfinity;
    return precision::round_root_of_quotient(exact(EXACT_SQUARES), n_, format_);
  }

  // absmax: the size of the extremum that is farther from 0.
  template <typename To>
  void put_absmax(To* to) const {
    Number most, least;
    put_extremum(partial_.words[PARTIAL_HIGHEST], &most);
    put_extremum(~partial_.words[PARTIAL_LOWEST], &least);
    if (const auto* top = std::get_if<double>(&most)) {
      const double a = std::fabs(*top), b = std::fabs(std::get<double>(least));
      std::construct_at(to, above(a, b) ? a : b);
    } else if (const auto* signed_top = std::get_if<std::int64_t>(&most)) {
      const auto size = [](std::int64_t x) {
        return x < 0 ? 0 - static_cast<std::uint64_t>(x) : static_cast<std::uint64_t>(x);
      };
      std::construct_at(to, std::max(size(*signed_top), size(std::get<std::int64_t>(least))));
    } else {
      std::visit([to](auto number) { std::construct_at(to, number); }, most);  // unsigned, or nothing
    }
  }

  // The key is half the range of the dtype's unsigned bits, less the size.
  bool has_least_size() const {
    return element(ELEMENT_WORD_LEAST_SIZE) != static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::min());
  }
  std::uint64_t least_size() const {
    const int bits = key_bits(partial_.dtype);
    return ((std::uint64_t{1} << (bits - 1)) - element(ELEMENT_WORD_LEAST_SIZE)) & (~std::uint64_t{0} >> (64 - bits));
  }

  void put_absmin(Value* to) const {
    if (nans_ != 0) {
      std::construct_at(to, kNan);
    } else if (!has_least_size()) {
      std::construct_at(to);
    } else if (is_float(partial_.dtype)) {
      std::construct_at(to, float_of_key(partial_.dtype, static_cast<std::int64_t>(least_size())));
    } else {
      std::construct_at(to, least_size());
    }
  }

  void put_dynamic_range(Value* to) const {
    const precision::Size most = larger_size(partial_.words[PARTIAL_HIGHEST], ~partial_.words[PARTIAL_LOWEST]);
    if (nans_ != 0) {
      std::construct_at(to, kNan);
    } else if (!has_least_size() || n_ == 0 || most.significand == 0) {
      std::construct_at(to);  // the last two cases occur only for parsed bytes that were no partial
    } else if (positive_infs_ != 0 || negative_infs_ != 0) {
      std::construct_at(to, kInfinity);
    } else {
      const bool is_real = is_float(partial_.dtype);
      const auto size = least_size();
      const precision::Size least =
          is_real ? size_of(float_of_key(partial_.dtype, static_cast<std::int64_t>(size))) : precision::Size{size, 0};
      std::construct_at(to, precision::round_log2(most, least, own_ ? precision::kBinary64 : format_));
    }
  }

  // Of the element with this key or that one, whichever is farther from 0.
  precision::Size larger_size(std::int64_t key, std::int64_t other) const {
    if (is_float(partial_.dtype)) {
      const double a = std::fabs(float_of_key(partial_.dtype, key)), b = std::fabs(float_of_key(partial_.dtype, other));
      return size_of(above(a, b) ? a : b);
    }
    const auto size = [this](std::int64_t x) {
      const auto bits = static_cast<std::uint64_t>(x);
      return partial_.dtype == Dtype::kUint64 ? bits ^ std::uint64_t{1} << 63 : x < 0 ? 0 - bits : bits;
    };
    return {std::max(size(key), size(other)), 0};
  }

  // For a number without a sign.
  static precision::Size size_of(double real) {
    const auto bits = std::bit_cast<std::uint64_t>(real);
    const auto exponent = static_cast<int>(bits >> 52);
    const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
    return {exponent == 0 ? fraction : fraction | std::uint64_t{1} << 52, std::max(exponent, 1) - 1075};
  }

  std::uint64_t fingerprint(std::size_t which) const { return word(first_fingerprint(partial_.dtype) + which); }

  // A CRC starts with all ones, which are advanced by n bytes, and is inverted at the end.
  std::uint32_t crc32() const {
    const auto held = static_cast<std::uint32_t>(fingerprint(FINGERPRINT_WORD_CRC32));
    return ~crc_moved(~held, crc_on, bytes_of(partial_.dtype, n_));
  }

  // A digest of the number's bytes, highest first, so that its digits are the number's digits.
  template <typename Number>
  static Digest digest(Number number) {
    std::array<std::byte, sizeof number> bytes;
    for (std::size_t i = bytes.size(); i-- != 0; number >>= 7, number >>= 1) bytes[i] = static_cast<std::byte>(number);
    return Digest(bytes);
  }

  Exponents exponents() const {
    const auto counts = partial_.words.subspan(first_exponent(partial_.dtype));
    const auto count = [&](std::size_t i) { return static_cast<std::uint64_t>(counts[i]); };
    ExponentCounts found;
    found.zero = word(PARTIAL_ZEROS);
    found.subnormal = count(0) - found.zero;
    found.inf = positive_infs_ + negative_infs_;
    found.nan = nans_;
    const int bias = is_float(partial_.dtype) ? kStored[static_cast<int>(partial_.dtype)].bias : 1;
    for (std::size_t i = 1; i < counts.size(); ++i) {
      const std::uint64_t finite = count(i) - (i == special_exponent(partial_.dtype) ? found.inf + found.nan : 0);
      if (finite != 0) found.binades.push_back({static_cast<int>(i) - bias, finite});
    }
    return Exponents(std::move(found));
  }

  // `some` of all elements. Not a sum of elements, so `low` has the same value as `high`.
  std::optional<double> share(std::uint64_t some) const {
    if (n_ == 0) return std::nullopt;
    const std::int64_t words[] = {static_cast<std::int64_t>(some & 0xffffffff), static_cast<std::int64_t>(some >> 32)};
    return precision::round_quotient({words, 0}, n_, own_ ? precision::kBinary64 : format_);
  }

 public:
  // What the partial keeps, or nothing where that is a digest, into a value that need not have been constructed: where
  // it is to stay, as copying one that has just been written in parts waits for the parts. The catalog's rows say what
  // it is.
  [[gnu::always_inline]] void put(Category category, Value* to) const {
    using enum precision::Deviation;
#define ROW(id, name, column, kind, in_all, of_complex, needs, formula, nan_rule, value) return put_value(value, to);
    if (is_quantile(category)) TENSORSTAT_QUANTILE(ROW)
#undef ROW
#define ROW(id, name, column, kind, in_all, of_complex, needs, formula, nan_rule, value) \
  case Category::id:                                                                     \
    return put_value(value, to);
    switch (category) { TENSORSTAT_CATEGORIES(ROW) }
#undef ROW
  }

 private:
  const PartialView& partial_;
  const std::span<const Accumulator> sums_;
  const std::uint64_t n_, nans_, positive_infs_, negative_infs_, finite_;
  const bool own_;  // sums are in the dtype's own arithmetic (`low`)
  const precision::Format format_;
};

// put() is called only here, so that it is inlined into the loop. A call for each value took 6 % more instructions for
// a small tensor.
void put_all(const Finished& finished, std::span<const Category> categories, Value* values) {
  for (const Category category : categories) finished.put(category, values++);
}

// For categories that the partial may not keep, or that complex elements do not have.
void put_kept(PartialView partial, bool to_binary32, std::span<const Category> categories, Value* values) {
  partial.needs = kept(partial.dtype, partial.needs);
  const Finished finished(partial, to_binary32);
  for (const Category& category : categories) {
    const bool is_kept = (needs(category) & ~partial.needs) == 0 && has(partial.dtype, category);
    if (is_kept) {
      put_all(finished, {&category, 1}, values);
    } else {
      std::construct_at(values);
    }
    ++values;
  }
}

}  // namespace

Value finish(const PartialView& partial, Category category, bool to_binary32) {
  Value value;
  put_kept(partial, to_binary32, {&category, 1}, &value);
  return value;
}

void finish(const PartialView& partial, std::span<const Category> categories, Value* values) {
  if (is_complex(partial.dtype)) return put_kept(partial, false, categories, values);
  put_all(Finished(partial, false), categories, values);
}

}  // namespace tensorstat
