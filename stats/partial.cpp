#include <tensorstat/partial.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "precision/families.h"
#include "precision/formats.h"
#include "precision/partial.h"
#include "precision/round.hpp"

namespace tensorstat {
namespace {

// Partials of 1.0 may be read by any 1.x.
constexpr std::array<char, 8> kMagic = {'t', 's', 't', 'a', 't', 'p', '0', '1'};

#define ROW(id, name, column, need) need,
constexpr Needs kCategoryNeeds[] = {TENSORSTAT_CATEGORIES(ROW)};
#undef ROW

struct Layout {
  std::size_t sum_words, square_words;
  int sum_exponent;
  std::size_t squares() const { return PARTIAL_SUM + sum_words; }
  std::size_t words() const { return squares() + square_words; }
};
#define LAYOUT(family) {CAT(SUM_WORDS_, family), CAT(SQUARE_WORDS_, family), CAT(SUM_EXPONENT_, family)},
#define ROW(id, name, ...) LAYOUT(FAMILY_OF(name))
constexpr Layout kLayouts[] = {TENSORSTAT_DTYPES(ROW)};
#undef ROW

const Layout& layout(Dtype dtype) { return kLayouts[static_cast<int>(dtype)]; }

const precision::Format& own_format(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFloat16: return precision::kBinary16;
    case Dtype::kBfloat16: return precision::kBfloat16;
    case Dtype::kFloat32: return precision::kBinary32;
    default: return precision::kBinary64;
  }
}

// The value whose order-preserving key this is.
Value value_of_key(Dtype dtype, std::int64_t key) {
  const std::int64_t bits = key < 0 ? key ^ std::numeric_limits<std::int64_t>::max() : key;
  switch (dtype) {
    case Dtype::kFloat64:
      return std::bit_cast<double>(bits);
    case Dtype::kFloat32:
    case Dtype::kBfloat16:
    case Dtype::kFloat16: {
      const precision::Format& format = own_format(dtype);
      const int mantissa_shift = format.significant_bits - 1;
      const std::int64_t magnitude = bits & std::numeric_limits<std::int64_t>::max();
      const std::int64_t infinity = static_cast<std::int64_t>(2 * format.greatest_exponent + 1) << mantissa_shift;
      double value = std::numeric_limits<double>::infinity();
      if (magnitude < infinity) {
        const auto exponent = static_cast<int>(magnitude >> mantissa_shift);
        const std::int64_t fraction = magnitude & ((std::int64_t{1} << mantissa_shift) - 1);
        const std::int64_t mantissa = exponent == 0 ? fraction : fraction | std::int64_t{1} << mantissa_shift;
        value = std::ldexp(static_cast<double>(mantissa), format.least_exponent + (exponent == 0 ? 0 : exponent - 1));
      }
      return key < 0 ? -value : value;
    }
    case Dtype::kUint64:
      return static_cast<std::uint64_t>(key) ^ std::uint64_t{1} << 63;
    case Dtype::kBool:
    case Dtype::kUint8:
    case Dtype::kUint16:
    case Dtype::kUint32:
      return static_cast<std::uint64_t>(key);
    default:
      return key;
  }
}

// a > b, of numbers; a caller's flush-to-zero, which takes subnormals for 0, has no say.
bool above(double a, double b) {
  const auto ordered = [](double value) {
    const auto magnitude = std::bit_cast<std::int64_t>(value) & std::numeric_limits<std::int64_t>::max();
    return std::signbit(value) ? -magnitude : magnitude;
  };
  return ordered(a) > ordered(b);
}

// `low`: the sum of squares is itself a value of the dtype before its root is taken.
double root_of_own_sum(const precision::Exact& squares, const precision::Format& own) {
  const double sum = precision::round_quotient(squares, 1, own);
  if (std::isinf(sum)) return sum;
  // By its bits: a caller's flush-to-zero would lose a subnormal.
  const auto bits = std::bit_cast<std::uint64_t>(sum);
  const auto exponent = static_cast<int>(bits >> 52);
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
  const std::uint64_t mantissa = exponent == 0 ? fraction : fraction | std::uint64_t{1} << 52;
  const std::int64_t words[] = {static_cast<std::int64_t>(mantissa & 0xffffffff),
                                static_cast<std::int64_t>(mantissa >> 32)};
  return precision::round_root({words, std::max(exponent, 1) - 1075}, own);
}

void put(std::vector<std::byte>& bytes, std::uint64_t value) {
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<std::byte>(value >> (8 * i)));
}

std::uint64_t get(std::span<const std::byte> bytes, std::size_t index) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 8; ++i) value |= static_cast<std::uint64_t>(bytes[8 * index + i]) << (8 * i);
  return value;
}

// What no tensor could have left in these words; nullptr where there is nothing.
const char* contradiction(Needs needs, std::span<const std::int64_t> words) {
  const auto word = [&](int field) { return static_cast<std::uint64_t>(words[static_cast<std::size_t>(field)]); };
  const bool signs = (needs & kSigns) != 0;
  const std::uint64_t negative_infs = word(PARTIAL_NEGATIVE_INFS);
  const std::uint64_t negatives = signs ? word(PARTIAL_NEGATIVES) : negative_infs;
  if (negatives < negative_infs) return "fewer elements are below zero than are -Inf";
  std::uint64_t left = word(PARTIAL_COUNT);
  if (words[PARTIAL_COUNT] < 0) return "it counts 2^63 elements or more";
  for (const std::uint64_t some : {word(PARTIAL_NANS), word(PARTIAL_ZEROS), negatives, word(PARTIAL_POSITIVE_INFS)}) {
    if (some > left) return "its counts contradict each other";
    left -= some;
  }
  const bool has_numbers = word(PARTIAL_COUNT) != word(PARTIAL_NANS);
  if ((needs & kExtrema) != 0 && has_numbers && words[PARTIAL_HIGHEST] < ~words[PARTIAL_LOWEST]) {
    return "its maximum is below its minimum";
  }
  return words.back() < 0 ? "its sum of squares is negative" : nullptr;
}

}  // namespace

Needs needs(Category category) { return kCategoryNeeds[static_cast<int>(category)]; }

Needs needs(const Categories& categories, Precision precision) {
  Needs all = kNothing;
  for (const Category category : categories) all |= needs(category);
  // The mean in `low` is kept within the data, so it wants to know their range.
  if (precision == Precision::kLow && (all & kSum) != 0) all |= kExtrema;
  return all;
}

std::size_t partial_words(Dtype dtype) { return layout(dtype).words(); }

void carry(Dtype dtype, std::span<std::int64_t> words) {
  const Layout& l = layout(dtype);
  const auto settle = [](std::span<std::int64_t> sum) {
    for (std::size_t i = 0; i + 1 < sum.size(); ++i) {
      // Bytes that are no partial may hold any word, and wrap.
      sum[i + 1] = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum[i + 1]) +
                                             static_cast<std::uint64_t>(sum[i] >> 32));
      sum[i] &= 0xffffffff;
    }
  };
  settle(words.subspan(PARTIAL_SUM, l.sum_words));
  settle(words.subspan(l.squares(), l.square_words));
}

void clear(std::span<std::int64_t> words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    words[i] = i < PARTIAL_MERGED_BY_MAXIMUM ? std::numeric_limits<std::int64_t>::min() : 0;
  }
}

void merge(Dtype dtype, std::span<std::int64_t> into, std::span<const std::int64_t> from) {
  for (std::size_t i = 0; i < into.size(); ++i) {
    into[i] = i < PARTIAL_MERGED_BY_MAXIMUM ? std::max(into[i], from[i]) : into[i] + from[i];
  }
  carry(dtype, into);
}

Partial::Partial(Dtype dtype, Precision precision, Needs needs)
    : dtype_(dtype), precision_(precision), needs_(needs), words_(partial_words(dtype)) {
  clear(words_);
}

std::uint64_t Partial::count() const { return static_cast<std::uint64_t>(words_[PARTIAL_COUNT]); }

Status Partial::merge(const Partial& other) {
  if (dtype_ != other.dtype_ || precision_ != other.precision_ || needs_ != other.needs_) {
    return Error{Code::kInvalid, "cannot merge a partial of " + std::string(name(other.dtype_)) + " (" +
                                     std::string(name(other.precision_)) + ") into one of " +
                                     std::string(name(dtype_)) + " (" + std::string(name(precision_)) +
                                     "): dtype, precision and categories must agree"};
  }
  // No tensors add up to this; bytes that were never one may.
  constexpr std::int64_t kMostOfHalf = (std::int64_t{1} << 62) - (std::int64_t{1} << 32);
  for (std::size_t i = PARTIAL_MERGED_BY_MAXIMUM; i < words_.size(); ++i) {
    const std::int64_t half = words_[i] / 2 + other.words_[i] / 2;
    if (half > kMostOfHalf || half < -kMostOfHalf) {
      return Error{Code::kInvalid, "cannot merge two partials: together they hold more than a partial can"};
    }
  }
  tensorstat::merge(dtype_, words_, other.words_);
  return {};
}

Value Partial::finish(Category category) const { return finish_rounded(category, false); }
Value Partial::finish_binary32(Category category) const { return finish_rounded(category, true); }

Value Partial::finish_rounded(Category category, bool to_binary32) const {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Layout& l = layout(dtype_);
  const auto word = [&](int field) { return static_cast<std::uint64_t>(words_[static_cast<std::size_t>(field)]); };
  const std::uint64_t n = count(), nans = word(PARTIAL_NANS);
  const std::uint64_t positive_infs = word(PARTIAL_POSITIVE_INFS), negative_infs = word(PARTIAL_NEGATIVE_INFS);
  const bool own = precision_ == Precision::kLow && is_float(dtype_);
  const precision::Format& format =
      own ? own_format(dtype_) : to_binary32 ? precision::kBinary32 : precision::kBinary64;
  const precision::Exact sum{std::span(words_).subspan(PARTIAL_SUM, l.sum_words), l.sum_exponent};
  const precision::Exact squares{std::span(words_).subspan(l.squares(), l.square_words), 2 * l.sum_exponent};

  if ((tensorstat::needs(category) & ~needs_) != 0) return {};
  switch (category) {
    case Category::kMax:
    case Category::kMin:
      if (n == 0) return {};
      if (nans != 0) return kNan;
      return value_of_key(dtype_, category == Category::kMax ? words_[PARTIAL_HIGHEST] : ~words_[PARTIAL_LOWEST]);
    case Category::kAvg: {
      if (n == 0) return {};
      if (nans != 0 || (positive_infs != 0 && negative_infs != 0)) return kNan;
      if (positive_infs != 0) return kInfinity;
      if (negative_infs != 0) return -kInfinity;
      const double avg = precision::round_quotient(sum, n, format);
      if (!own) return avg;
      // Rounded tile sums may leave the data's range by an ulp; a mean does not.
      const double most = std::get<double>(value_of_key(dtype_, words_[PARTIAL_HIGHEST]));
      const double least = std::get<double>(value_of_key(dtype_, ~words_[PARTIAL_LOWEST]));
      return above(avg, most) ? most : above(least, avg) ? least : avg;
    }
    case Category::kL2norm:
      if (nans != 0) return kNan;
      if (positive_infs != 0 || negative_infs != 0 || word(PARTIAL_OVERFLOWS) != 0) return kInfinity;
      return own ? root_of_own_sum(squares, format) : precision::round_root(squares, format);
    case Category::kCount: return n;
    case Category::kNegativeZeroCount: return word(PARTIAL_NEGATIVES);
    case Category::kPositiveZeroCount: return n - nans - word(PARTIAL_ZEROS) - word(PARTIAL_NEGATIVES);
    case Category::kNanCount: return nans;
    case Category::kNegativeInfCount: return negative_infs;
    case Category::kPositiveInfCount: return positive_infs;
    case Category::kZeroCount: return word(PARTIAL_ZEROS);
    case Category::kMd5:
    case Category::kHash: return {};
  }
  return {};
}

std::vector<std::byte> Partial::serialize() const {
  std::vector<std::int64_t> canonical = words_;
  carry(dtype_, canonical);
  // What was not asked for may have been kept or not, as suited the engine.
  const auto blank = [&](Needs need, std::size_t first, std::size_t count, std::int64_t value) {
    if ((needs_ & need) == 0) std::fill_n(canonical.begin() + static_cast<std::ptrdiff_t>(first), count, value);
  };
  const Layout& l = layout(dtype_);
  blank(kExtrema, PARTIAL_HIGHEST, PARTIAL_MERGED_BY_MAXIMUM, std::numeric_limits<std::int64_t>::min());
  blank(kSigns, PARTIAL_ZEROS, 2, 0);
  blank(kSum, PARTIAL_SUM, l.sum_words, 0);
  blank(kSquares, l.squares(), l.square_words, 0);
  blank(kSquares, PARTIAL_OVERFLOWS, 1, 0);
  std::vector<std::byte> bytes;
  bytes.reserve(16 + 8 * canonical.size());
  for (const char c : kMagic) bytes.push_back(static_cast<std::byte>(c));
  bytes.push_back(static_cast<std::byte>(dtype_));
  bytes.push_back(static_cast<std::byte>(precision_));
  bytes.push_back(static_cast<std::byte>(needs_));
  bytes.resize(16);
  for (const std::int64_t word : canonical) put(bytes, static_cast<std::uint64_t>(word));
  return bytes;
}

Result<Partial> Partial::parse(std::span<const std::byte> bytes) {
  const auto refuse = [](const char* why) { return Error{Code::kInvalid, std::string("not a partial: ") + why}; };
  if (bytes.size() < 16) return refuse("shorter than its header of 16 bytes");
  for (std::size_t i = 0; i < kMagic.size(); ++i) {
    if (bytes[i] != static_cast<std::byte>(kMagic[i])) return refuse("does not begin with \"tstatp01\"");
  }
  const auto dtype = std::to_integer<int>(bytes[8]), precision = std::to_integer<int>(bytes[9]);
  if (dtype >= kDtypeCount) return refuse("its dtype is unknown");
  if (precision > 1) return refuse("its precision is unknown");
  if (std::to_integer<Needs>(bytes[10]) >= kMd5Digest) return refuse("what it keeps is unknown");
  Partial partial(static_cast<Dtype>(dtype), static_cast<Precision>(precision), std::to_integer<Needs>(bytes[10]));
  if (bytes.size() != 16 + 8 * partial.words_.size()) return refuse("its length is not that of its dtype");
  for (std::size_t i = 0; i < partial.words_.size(); ++i) {
    partial.words_[i] = static_cast<std::int64_t>(get(bytes.subspan(16), i));
  }
  if (const char* why = contradiction(partial.needs_, partial.words_)) return refuse(why);
  if (partial.serialize() != std::vector(bytes.begin(), bytes.end())) return refuse("its sums are not in canonical form");
  return partial;
}

}  // namespace tensorstat
