#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <limits>
#include <string_view>
#include <tensorstat/partial.hpp>
#include <tuple>

#include "precision/scalars.hpp"
#include "stats/base/caught.hpp"
#include "stats/engine/accumulator_layout.hpp"
#include "stats/engine/cast_bounds.hpp"
#include "stats/engine/finish.hpp"
#include "stats/engine/quantile_bins.hpp"
#include "stats/engine/quantile_codes.hpp"
#include "stats/meter/written_words.hpp"

namespace {
#include "precision/checksum.h"
#include "precision/exact.h"
#include "precision/keyed.h"
}  // namespace

namespace tensorstat {
namespace {

// The last two characters are the version of the serialised form: 01 had needs of 8 bits, 02 had no casts before the
// indices, 03 no fingerprints there, 04 no cast scale. Increase it whenever the accumulators' fields, or the order of
// dtypes or needs, change. Not if dtypes and needs are only added at the end: an older library refuses these as
// unknown.
constexpr std::string_view kMagic = "tstatp05";
constexpr std::size_t kVersionAt = 6;
// The header: magic, dtype, precision, two zero bytes, four bytes of needs. Then the words; the cast scale, a binary64,
// if casts are among the needs; the non-empty bins, if kQuantiles is: four bytes of place and eight of count each.
constexpr std::size_t kDtypeAt = 8, kPrecisionAt = 9, kNeedsAt = 12, kHeaderBytes = 16;
constexpr std::size_t kBinBytes = 12;

// The second word of a pair of precision/indices.h is ~index, or this if there is no element.
constexpr std::int64_t kNoIndex = std::numeric_limits<std::int64_t>::min();

// Checks untrusted words: a text that says why no tensor can have produced them; nullptr if they are valid.
const char* contradiction(Dtype dtype, Needs needs, std::span<const std::int64_t> words) {
  const auto word = [&](int field) { return static_cast<std::uint64_t>(words[static_cast<std::size_t>(field)]); };
  const bool signs = (needs & kSigns) != 0;
  const std::uint64_t negative_infs = word(PARTIAL_NEGATIVE_INFS);
  const std::uint64_t negatives = signs ? word(PARTIAL_NEGATIVES) : negative_infs;
  if (is_complex(dtype) && negatives != 0) return "complex elements have no sign";
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
  // A key has no more bits than an element.
  const std::size_t first = first_element(dtype);
  for (const std::size_t word : {std::size_t{PARTIAL_HIGHEST}, std::size_t{PARTIAL_LOWEST},
                                 first + ELEMENT_WORD_FINITE_HIGHEST, first + ELEMENT_WORD_FINITE_LOWEST}) {
    if (!is_float(dtype) || word >= words.size() || words[word] == kEmptyMaximum) continue;
    const std::int64_t beyond = words[word] >> (key_bits(dtype) - 1);
    if (beyond != 0 && beyond != -1) return "an extremum is no element of its dtype";
  }
  for (const ExactSum& sum : layout(dtype)) {
    const bool is_kept = (needs & sum.need) != 0, is_negative = is_kept && words[sum.first + sum.count - 1] < 0;
    if (is_negative && sum.need != kSum) return "a sum that cannot be negative is";
  }
  // An index exists exactly if its count is not 0.
  const std::uint64_t numbers = word(PARTIAL_COUNT) - word(PARTIAL_NANS);
  const std::uint64_t ordered = is_complex(dtype) ? 0 : numbers;
  const std::uint64_t has[] = {word(PARTIAL_NANS), word(PARTIAL_POSITIVE_INFS) + negative_infs, ordered, ordered};
  static_assert(std::size(has) == INDEX_WORDS / 2);
  for (std::size_t i = 0; (needs & kIndices) != 0 && i < std::size(has); ++i) {
    const std::int64_t key = words[first_index(dtype) + 2 * i], at = words[first_index(dtype) + 2 * i + 1];
    if ((at != kNoIndex) != (has[i] != 0)) return "an index and its count contradict each other";
    if (at >= 0 || (at == kNoIndex && key != kNoIndex)) return "an index makes no sense";
  }
  if (const std::size_t crc32 = first_fingerprint(dtype) + FINGERPRINT_WORD_CRC32; crc32 < words.size()) {
    if (static_cast<std::uint64_t>(words[crc32]) >> 32 != 0) return "its crc32 has more than 32 bits";
    if (word(PARTIAL_COUNT) == 0 && (words[crc32] | words[crc32 + 1]) != 0) return "it has a checksum of no elements";
  }
  for (std::size_t i = first_element(dtype); i < words.size(); ++i) {
    if (is_fingerprint(dtype, i)) continue;
    const bool is_kept = (needs & need_of(dtype, i)) != 0 && !merges_by_maximum(dtype, i);
    if (is_kept && static_cast<std::uint64_t>(words[i]) > word(PARTIAL_COUNT))
      return "its counts contradict each other";
  }
  if ((needs & kExponents) != 0) {
    // The counts by exponent add up to all elements. Zeros are in the first one; NaN and Inf share one.
    const auto counts = words.subspan(first_exponent(dtype));
    std::uint64_t without = word(PARTIAL_COUNT);
    for (const std::int64_t each : counts) {
      if (static_cast<std::uint64_t>(each) > without) return "its counts contradict each other";
      without -= static_cast<std::uint64_t>(each);
    }
    const std::uint64_t specials = word(PARTIAL_NANS) + word(PARTIAL_POSITIVE_INFS) + negative_infs;
    const bool has_zeros = static_cast<std::uint64_t>(counts[0]) >= (signs ? word(PARTIAL_ZEROS) : 0);
    if (without != 0 || !has_zeros || static_cast<std::uint64_t>(counts[special_exponent(dtype)]) < specials) {
      return "its counts contradict each other";
    }
  }
  return nullptr;
}

// Whether an element of the dtype can have this key.
bool is_key(Dtype dtype, std::int64_t key) {
  const int bits = key_bits(dtype);
  if (bits == 64) return true;
  if (place_of(dtype, 0) == 0) return key >> bits == 0;  // unsigned
  return key >> (bits - 1) == 0 || key >> (bits - 1) == -1;
}

// Checks the bins likewise.
const char* contradiction(Dtype dtype, Needs needs, std::span<const std::int64_t> words,
                          std::span<const BinCount> bins) {
  std::uint64_t left = static_cast<std::uint64_t>(words[PARTIAL_COUNT] - words[PARTIAL_NANS]);
  for (std::size_t i = 0; i < bins.size(); ++i) {
    if (i != 0 && bins[i].place <= bins[i - 1].place) return "its bins are out of order";
    if (bins[i].count == 0 || bins[i].count > left) return "its counts contradict each other";
    left -= bins[i].count;
  }
  if (left != 0) return "its counts contradict each other";
  const Places all = places_of(dtype);
  if (!bins.empty() && (bins.front().place < all.first || bins.back().place > all.last)) {
    return "a bin is of no element of its dtype";
  }
  if ((needs & kExtrema) == 0) return nullptr;
  const std::int64_t highest = words[PARTIAL_HIGHEST], lowest = words[PARTIAL_LOWEST];
  const bool agree = bins.empty() ? highest == kEmptyMaximum && lowest == kEmptyMaximum
                                  : is_key(dtype, highest) && place_of(dtype, highest) == bins.back().place &&
                                        is_key(dtype, ~lowest) && place_of(dtype, ~lowest) == bins.front().place;
  return agree ? nullptr : "its bins and its extrema contradict each other";
}

}  // namespace

Needs needs(const Categories& categories, Precision precision) {
  Needs all = kNothing;
  for (const Category category : categories) all |= needs(category);
  // In `low` the mean is clamped to the range of the data, so it needs the extrema.
  if (precision == Precision::kLow && (all & kSum) != 0) all |= kExtrema;
  return all;
}

std::size_t partial_words(Dtype dtype, Needs needs) { return word_count(dtype, kept(dtype, needs)); }

void carry(Dtype dtype, std::span<std::int64_t> words) {
  for (const ExactSum& sum : layout(dtype)) {
    if (sum.first < words.size()) carry_words(&words[sum.first], static_cast<int>(sum.count));
  }
}

void clear(Dtype dtype, std::span<std::int64_t> words) {
  for_each_word(
      dtype, words.size(), [&](std::size_t i) { words[i] = kEmptyMaximum; }, [&](std::size_t i) { words[i] = 0; });
}

namespace {

// Moves the words of precision/fingerprints.h of a part to the byte at which it begins in the whole.
void move_fingerprints(std::int64_t* words, std::uint64_t first_byte) {
  words[FINGERPRINT_WORD_CRC32] =
      crc_moved(static_cast<std::uint32_t>(words[FINGERPRINT_WORD_CRC32]), crc_back, first_byte);
  words[FINGERPRINT_WORD_XOR64] =
      static_cast<std::int64_t>(xor_moved(static_cast<std::uint64_t>(words[FINGERPRINT_WORD_XOR64]), first_byte));
}

}  // namespace

void merge(Dtype dtype, std::span<std::int64_t> into, std::span<const std::int64_t> from, std::uint64_t first) {
  const std::size_t fingerprints = std::min(first_fingerprint(dtype), into.size());
  const std::size_t pairs = std::min(first_index(dtype), into.size());
  const std::size_t exponents = std::min(first_exponent(dtype), into.size());
  for_each_word(
      dtype, fingerprints, [&](std::size_t i) { into[i] = std::max(into[i], from[i]); },
      [&](std::size_t i) { into[i] += from[i]; });
  if (fingerprints != pairs) {
    std::array<std::int64_t, FINGERPRINT_WORDS> moved;
    std::ranges::copy(from.subspan(fingerprints, FINGERPRINT_WORDS), moved.begin());
    move_fingerprints(moved.data(), bytes_of(dtype, first));
    for (std::size_t i = 0; i < moved.size(); ++i) into[fingerprints + i] ^= moved[i];
  }
  for (std::size_t i = exponents; i < into.size(); ++i) into[i] += from[i];
  for (std::size_t i = pairs; i < exponents; i += 2) {
    if (from[i + 1] != kNoIndex) raise_keyed(&into[i], from[i], from[i + 1] - static_cast<std::int64_t>(first));
  }
  carry(dtype, into);
}

namespace {

std::string shown_scale(double scale) {
  char text[32];
  return std::string(text, std::to_chars(text, std::end(text), scale).ptr);
}

}  // namespace

Partial::Partial(Dtype dtype, Precision precision, Needs needs, double cast_scale)
    : dtype_(dtype),
      precision_(precision),
      needs_(kept(dtype, needs)),
      word_count_(static_cast<std::uint32_t>(word_count(dtype, needs_))),
      cast_scale_((needs_ & kCasts) != 0 ? cast_scale : 1) {
  static_assert(word_count(Dtype::kFloat32, kNothing) == std::tuple_size_v<decltype(few_)>);
  if (word_count_ > few_.size()) many_.resize(word_count_);
  clear(dtype, words());
}

std::uint64_t Partial::count() const { return static_cast<std::uint64_t>(words()[PARTIAL_COUNT]); }

Status Partial::merge(const Partial& other) try {
  if (cast_scale_ != other.cast_scale_) {
    return Error{Code::kInvalid, "cannot merge a partial whose casts are counted at a scale of " +
                                     shown_scale(other.cast_scale_) + " into one of " + shown_scale(cast_scale_)};
  }
  if (dtype_ != other.dtype_ || precision_ != other.precision_ || needs_ != other.needs_) {
    return Error{Code::kInvalid, "cannot merge a partial of " + std::string(name(other.dtype_)) + " (" +
                                     std::string(name(other.precision_)) + ") into one of " +
                                     std::string(name(dtype_)) + " (" + std::string(name(precision_)) +
                                     "): dtype, precision and categories must agree"};
  }
  for (std::size_t i = 0; i < words().size(); ++i) {
    if (is_fingerprint(dtype_, i) || merges_by_maximum(dtype_, i)) continue;
    if (!fit_one_word(words()[i], other.words()[i])) {
      return Error{Code::kInvalid, "cannot merge two partials: the combined counts exceed what a partial can hold"};
    }
  }
  if ((needs_ & kQuantiles) != 0) tensorstat::merge(bins_, {.kept = other.bins_});
  tensorstat::merge(dtype_, words(), other.words());
  return {};
} catch (...) {
  return caught();
}

Status Partial::move_to(std::uint64_t first) try {
  if (first % elements_a_byte(dtype_) != 0 && (needs_ & kFingerprints) != 0) {
    return Error{Code::kInvalid, "cannot move a partial of " + std::string(name(dtype_)) +
                                     " with checksums to element " + std::to_string(first) + ": there no byte begins"};
  }
  if (Status status = move_indices(first); !status) return status;
  if (words().size() > first_fingerprint(dtype_)) {
    move_fingerprints(&words()[first_fingerprint(dtype_)], bytes_of(dtype_, first));
  }
  return {};
} catch (...) {
  return caught();
}

Status Partial::move_indices(std::uint64_t first) {
  if ((needs_ & kIndices) == 0) return {};
  const auto indices = words().subspan(first_index(dtype_), INDEX_WORDS);
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  for (std::size_t i = 1; i < indices.size(); i += 2) {
    if (indices[i] == kNoIndex || first <= kMost - static_cast<std::uint64_t>(~indices[i])) continue;
    return Error{Code::kInvalid,
                 "cannot move a partial to element " + std::to_string(first) + ": an index would reach 2^63"};
  }
  for (std::size_t i = 1; i < indices.size(); i += 2) {
    if (indices[i] != kNoIndex) indices[i] -= static_cast<std::int64_t>(first);
  }
  return {};
}

Value Partial::finish(Category category) const {
  return tensorstat::finish({dtype_, precision_, needs_, words(), {.kept = bins_}}, category);
}
Value Partial::finish_binary32(Category category) const {
  return tensorstat::finish({dtype_, precision_, needs_, words(), {.kept = bins_}}, category, true);
}

std::vector<std::byte> Partial::serialize() const try {
  std::vector<std::int64_t> canonical(words().begin(), words().end());
  carry(dtype_, canonical);
  // Engines may or may not have filled words that were not needed. Make them canonical.
  for (std::size_t i = 0; i < canonical.size(); ++i) {
    const Needs need = need_of(dtype_, i);
    if (need != kNothing && (needs_ & need) == 0) canonical[i] = empty_word(dtype_, i);
  }
  const bool has_scale = (needs_ & kCasts) != 0;
  const std::size_t words_end = kHeaderBytes + 8 * canonical.size() + (has_scale ? 8 : 0);
  std::vector<std::byte> bytes(words_end + kBinBytes * bins_.size());
  if (has_scale) put_word(std::span(bytes).subspan(words_end - 8), std::bit_cast<std::uint64_t>(cast_scale_));
  std::ranges::copy(std::as_bytes(std::span(kMagic)), bytes.begin());
  bytes[kDtypeAt] = static_cast<std::byte>(dtype_);
  bytes[kPrecisionAt] = static_cast<std::byte>(precision_);
  for (std::size_t i = 0; i < 4; ++i) bytes[kNeedsAt + i] = static_cast<std::byte>(needs_ >> (8 * i));
  for (std::size_t i = 0; i < canonical.size(); ++i) {
    put_word(std::span(bytes).subspan(kHeaderBytes + 8 * i), static_cast<std::uint64_t>(canonical[i]));
  }
  for (std::size_t i = 0; i < bins_.size(); ++i) {
    const auto bin = std::span(bytes).subspan(words_end + kBinBytes * i, kBinBytes);
    for (std::size_t k = 0; k < 4; ++k) bin[k] = static_cast<std::byte>(bins_[i].place >> (8 * k));
    put_word(bin.subspan(4), bins_[i].count);
  }
  return bytes;
} catch (const std::bad_alloc&) {
  return {};
}

Result<Partial> Partial::parse(std::span<const std::byte> bytes) try {
  const auto refuse = [](const char* why) { return Error{Code::kInvalid, std::string("not a partial: ") + why}; };
  if (bytes.size() < kHeaderBytes) return refuse("shorter than its header of 16 bytes");
  const std::string_view magic(reinterpret_cast<const char*>(bytes.data()), kMagic.size());
  if (!magic.starts_with(kMagic.substr(0, kVersionAt))) return refuse("does not begin with \"tstatp05\"");
  if (magic != kMagic)
    return refuse("of another version of the library (not 05): fold its tensors again with this one");
  const auto dtype = std::to_integer<int>(bytes[kDtypeAt]), precision = std::to_integer<int>(bytes[kPrecisionAt]);
  const auto needs = static_cast<Needs>(get_word(bytes.subspan(8)) >> 32);
  if (dtype >= kDtypeCount) return refuse("its dtype is unknown");
  if (precision > 1) return refuse("its precision is unknown");
  const Needs known = Needs{NEED_ALL} | kQuantiles;
  if (needs != kept(static_cast<Dtype>(dtype), needs & known)) return refuse("what it keeps is unknown");
  Partial partial(static_cast<Dtype>(dtype), static_cast<Precision>(precision), needs);
  const bool has_scale = (needs & kCasts) != 0;
  const std::size_t words_end = kHeaderBytes + 8 * partial.words().size() + (has_scale ? 8 : 0);
  const std::size_t most_bytes = (needs & kQuantiles) != 0 ? std::numeric_limits<std::size_t>::max() : words_end;
  if (bytes.size() < words_end || bytes.size() > most_bytes || (bytes.size() - words_end) % kBinBytes != 0) {
    return refuse("its length is not that of its dtype");
  }
  for (std::size_t i = 0; i < partial.words().size(); ++i) {
    partial.words()[i] = static_cast<std::int64_t>(get_word(bytes.subspan(kHeaderBytes + 8 * i)));
  }
  if (has_scale) partial.cast_scale_ = std::bit_cast<double>(get_word(bytes.subspan(words_end - 8)));
  if (!is_cast_scale(partial.cast_scale_)) return refuse("the scale of its casts is no finite number above 0");
  if (const char* why = contradiction(partial.dtype_, partial.needs_, partial.words())) return refuse(why);
  if ((needs & kQuantiles) != 0) {
    partial.bins_.resize((bytes.size() - words_end) / kBinBytes);
    for (std::size_t i = 0; i < partial.bins_.size(); ++i) {
      const auto bin = bytes.subspan(words_end + kBinBytes * i, kBinBytes);
      partial.bins_[i] = {static_cast<std::uint32_t>(get_word(bin)), get_word(bin.subspan(4))};
    }
    const char* why = contradiction(partial.dtype_, partial.needs_, partial.words(), partial.bins_);
    if (why != nullptr) return refuse(why);
  }
  const auto canonical = partial.serialize();
  if (canonical.empty()) return out_of_memory();
  if (!std::ranges::equal(canonical, bytes)) return refuse("its sums are not in canonical form");
  return partial;
} catch (...) {
  return caught();
}

}  // namespace tensorstat
