// The serialised form of a partial: written by the names of its accumulators, read without trust.
#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <string_view>
#include <tensorstat/partial.hpp>
#include <vector>

#include "stats/core/base/caught.hpp"
#include "stats/core/base/float_environment.hpp"
#include "stats/core/engine/accumulator_layout.hpp"
#include "stats/core/engine/cast_bounds.hpp"
#include "stats/core/engine/quantile_codes.hpp"
#include "stats/core/meter/written_form.hpp"

namespace tensorstat {
namespace {

// The header's own bytes: dtype, precision, two zero bytes. Forms 01 to 05 had no names.
constexpr WrittenForm kForm{"tstatp06", 16, "fold its tensors"};
constexpr std::size_t kDtypeAt = 8, kPrecisionAt = 9;

// Beside the words: the scale of casts, and the bins, each four bytes of place and eight of count.
constexpr BesideWords kBins{"BINS", kQuantiles}, kCastScale{"CAST_SCALE", kNothing}, kBeside[] = {kBins, kCastScale};
constexpr std::size_t kBinBytes = 12;

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
  for (const Accumulator& sum : layout(dtype).sums()) {
    const bool is_kept = (needs & sum.need) != 0, is_negative = is_kept && words[sum.first + sum.count - 1] < 0;
    if (is_negative && sum.need != kSum) return "a sum that cannot be negative is";
  }
  // An index exists exactly if its count is not 0.
  const std::uint64_t numbers = word(PARTIAL_COUNT) - word(PARTIAL_NANS);
  const std::uint64_t ordered = is_complex(dtype) ? 0 : numbers;
  const std::uint64_t has[] = {word(PARTIAL_NANS), word(PARTIAL_POSITIVE_INFS) + negative_infs, ordered, ordered};
  static_assert(std::size(has) == INDEX_WORDS / 2);
  for (std::size_t i = 0; (needs & kIndices) != 0 && i < std::size(has); ++i) {
    const std::int64_t key = words[first_index(dtype) + 2 * i], complement = words[first_index(dtype) + 2 * i + 1];
    if ((complement != kEmptyMaximum) != (has[i] != 0)) return "an index and its count contradict each other";
    if (complement >= 0 || (complement == kEmptyMaximum && key != kEmptyMaximum)) return "an index makes no sense";
  }
  if (const std::size_t crc32 = first_fingerprint(dtype) + FINGERPRINT_WORD_CRC32; crc32 < words.size()) {
    if (static_cast<std::uint64_t>(words[crc32]) >> 32 != 0) return "its crc32 has more than 32 bits";
    if (word(PARTIAL_COUNT) == 0 && (words[crc32] | words[crc32 + 1]) != 0) return "it has a checksum of no elements";
  }
  for (const Accumulator& each : layout(dtype).behind_sums()) {
    if (each.rule != MergeRule::ADDITION || !each.is_kept(needs)) continue;
    for (const std::int64_t some : each.of(words)) {
      if (static_cast<std::uint64_t>(some) > word(PARTIAL_COUNT)) return "its counts contradict each other";
    }
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

std::string read_bins(std::span<const WrittenRecord> records, std::vector<BinCount>& bins) {
  const WrittenRecord* record = find_record(records, kBins.name);
  if (record == nullptr) return lacks(kBins.name);
  if (record->payload.size() % kBinBytes != 0) return wrong_length(kBins.name);
  bins.resize(record->payload.size() / kBinBytes);
  for (std::size_t i = 0; i < bins.size(); ++i) {
    const auto bin = record->payload.subspan(kBinBytes * i, kBinBytes);
    bins[i] = {get_number<std::uint32_t>(bin), get_number<std::uint64_t>(bin.subspan(4))};
  }
  return {};
}

std::string read_cast_scale(std::span<const WrittenRecord> records, Needs needs, double& cast_scale) {
  const WrittenRecord* record = find_record(records, kCastScale.name);
  if ((needs & kCasts) == 0) return record == nullptr ? "" : "it has 'CAST_SCALE' without casts";
  if (record == nullptr) return lacks(kCastScale.name);
  if (record->payload.size() != sizeof cast_scale) return wrong_length(kCastScale.name);
  cast_scale = std::bit_cast<double>(get_number<std::uint64_t>(record->payload));
  return is_cast_scale(cast_scale) ? "" : "the scale of its casts is no finite number above 0";
}

}  // namespace

std::vector<std::byte> Partial::serialize() const try {
  const FloatEnvironment ieee;
  std::array<std::byte, kForm.header_bytes> header{};
  header[kDtypeAt] = static_cast<std::byte>(dtype_);
  header[kPrecisionAt] = static_cast<std::byte>(precision_);
  std::vector<std::byte> bins(kBinBytes * bins_.size());
  for (std::size_t i = 0; i < bins_.size(); ++i) {
    put_number(std::span(bins).subspan(kBinBytes * i), bins_[i].place);
    put_number(std::span(bins).subspan(kBinBytes * i + 4), bins_[i].count);
  }
  std::array<std::byte, sizeof cast_scale_> cast_scale;
  put_number(std::span(cast_scale), std::bit_cast<std::uint64_t>(cast_scale_));
  std::vector<WrittenRecord> beside;
  if ((needs_ & kQuantiles) != 0) beside.push_back({kBins.name, bins});
  if ((needs_ & kCasts) != 0) beside.push_back({kCastScale.name, cast_scale});
  return write_form(kForm, header, layout(dtype_), needs_, words(), beside);
} catch (const std::bad_alloc&) {
  return {};
}

Result<Partial> Partial::parse(std::span<const std::byte> bytes) try {
  const FloatEnvironment ieee;
  const auto refuse = [](std::string_view why) { return Error{Code::kInvalid, "not a partial: " + std::string(why)}; };
  if (const auto why = fault_of_header(kForm, bytes); !why.empty()) return refuse(why);
  const auto dtype = std::to_integer<int>(bytes[kDtypeAt]), precision = std::to_integer<int>(bytes[kPrecisionAt]);
  if (dtype >= kDtypeCount) return refuse("its dtype is unknown");
  if (precision > 1) return refuse("its precision is unknown");
  const PartialLayout& words = layout(static_cast<Dtype>(dtype));
  std::vector<WrittenRecord> records;
  Needs needs;
  if (const auto why = find_records(bytes.subspan(kForm.header_bytes), words, kBeside, &records, &needs); !why.empty())
    return refuse(why);
  if (needs != kept(static_cast<Dtype>(dtype), needs)) return refuse("it keeps what its dtype does not have");
  Partial partial(static_cast<Dtype>(dtype), static_cast<Precision>(precision), needs);
  if (const auto why = read_words(records, words, needs, partial.words()); !why.empty()) return refuse(why);
  if (const auto why = read_cast_scale(records, needs, partial.cast_scale_); !why.empty()) return refuse(why);
  if (const char* why = contradiction(partial.dtype_, needs, partial.words())) return refuse(why);
  if ((needs & kQuantiles) != 0) {
    if (const auto why = read_bins(records, partial.bins_); !why.empty()) return refuse(why);
    if (const char* why = contradiction(partial.dtype_, needs, partial.words(), partial.bins_)) return refuse(why);
  }
  const auto canonical = partial.serialize();
  if (canonical.empty()) return out_of_memory();
  if (!std::ranges::equal(canonical, bytes)) return refuse("it is not in canonical form");
  return partial;
} catch (...) {
  return caught();
}

}  // namespace tensorstat
