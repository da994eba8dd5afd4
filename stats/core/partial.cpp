#include <tensorstat/partial.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>

#include "stats/core/caught.hpp"
#include "stats/core/finish.hpp"
#include "stats/core/accumulator_layout.hpp"

namespace tensorstat {
namespace {

// Partials of 1.0 may be read by any 1.x.
constexpr std::array<char, 8> kMagic = {'t', 's', 't', 'a', 't', 'p', '0', '1'};

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

Needs needs(const Categories& categories, Precision precision) {
  Needs all = kNothing;
  for (const Category category : categories) all |= needs(category);
  // The mean in `low` is kept within the data, so it wants to know their range.
  if (precision == Precision::kLow && (all & kSum) != 0) all |= kExtrema;
  return all;
}

std::size_t partial_words(Dtype dtype) { return layout(dtype).words(); }

void carry(Dtype dtype, std::span<std::int64_t> words) {
  const AccumulatorLayout& l = layout(dtype);
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
  std::ranges::fill(words.first(PARTIAL_MERGED_BY_MAXIMUM), std::numeric_limits<std::int64_t>::min());
  std::ranges::fill(words.subspan(PARTIAL_MERGED_BY_MAXIMUM), 0);
}

void merge(Dtype dtype, std::span<std::int64_t> into, std::span<const std::int64_t> from) {
  for (std::size_t i = 0; i < into.size(); ++i) {
    into[i] = i < PARTIAL_MERGED_BY_MAXIMUM ? std::max(into[i], from[i]) : into[i] + from[i];
  }
  carry(dtype, into);
}

Partial::Partial(Dtype dtype, Precision precision, Needs needs)
    : dtype_(dtype), precision_(precision), needs_(needs), word_count_(static_cast<std::uint32_t>(partial_words(dtype))) {
  static_assert(layout(Dtype::kFloat32).words() == std::tuple_size_v<decltype(few_)>);
  if (word_count_ > few_.size()) many_.resize(word_count_);
  clear(words());
}

std::uint64_t Partial::count() const { return static_cast<std::uint64_t>(words()[PARTIAL_COUNT]); }

Status Partial::merge(const Partial& other) try {
  if (dtype_ != other.dtype_ || precision_ != other.precision_ || needs_ != other.needs_) {
    return Error{Code::kInvalid, "cannot merge a partial of " + std::string(name(other.dtype_)) + " (" +
                                     std::string(name(other.precision_)) + ") into one of " +
                                     std::string(name(dtype_)) + " (" + std::string(name(precision_)) +
                                     "): dtype, precision and categories must agree"};
  }
  // No tensors add up to this; bytes that were never one may.
  constexpr std::int64_t kMostOfHalf = (std::int64_t{1} << 62) - (std::int64_t{1} << 32);
  for (std::size_t i = PARTIAL_MERGED_BY_MAXIMUM; i < words().size(); ++i) {
    const std::int64_t half = words()[i] / 2 + other.words()[i] / 2;
    if (half > kMostOfHalf || half < -kMostOfHalf) {
      return Error{Code::kInvalid, "cannot merge two partials: together they hold more than a partial can"};
    }
  }
  tensorstat::merge(dtype_, words(), other.words());
  return {};
} catch (...) {
  return caught();
}

Value Partial::finish(Category category) const {
  return tensorstat::finish({dtype_, precision_, needs_, words()}, category);
}
Value Partial::finish_binary32(Category category) const {
  return tensorstat::finish({dtype_, precision_, needs_, words()}, category, true);
}

std::vector<std::byte> Partial::serialize() const try {
  std::vector<std::int64_t> canonical(words().begin(), words().end());
  carry(dtype_, canonical);
  // What was not asked for may have been kept or not, as suited the engine.
  const auto blank = [&](Needs need, std::size_t first, std::size_t count, std::int64_t value) {
    if ((needs_ & need) == 0) std::fill_n(canonical.begin() + static_cast<std::ptrdiff_t>(first), count, value);
  };
  const AccumulatorLayout& l = layout(dtype_);
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
} catch (const std::bad_alloc&) {
  return {};
}

Result<Partial> Partial::parse(std::span<const std::byte> bytes) try {
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
  if (bytes.size() != 16 + 8 * partial.words().size()) return refuse("its length is not that of its dtype");
  for (std::size_t i = 0; i < partial.words().size(); ++i) {
    partial.words()[i] = static_cast<std::int64_t>(get(bytes.subspan(16), i));
  }
  if (const char* why = contradiction(partial.needs_, partial.words())) return refuse(why);
  const auto canonical = partial.serialize();
  if (canonical.empty()) return out_of_memory();
  if (!std::ranges::equal(canonical, bytes)) return refuse("its sums are not in canonical form");
  return partial;
} catch (...) {
  return caught();
}

}  // namespace tensorstat
