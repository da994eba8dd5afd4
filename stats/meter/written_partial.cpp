// The serialised form of a partial: written by the names of its accumulators, read without trust.
#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <string>
#include <string_view>
#include <tensorstat/partial.hpp>

#include "stats/base/caught.hpp"
#include "stats/base/printable.hpp"
#include "stats/engine/accumulator_layout.hpp"
#include "stats/engine/cast_bounds.hpp"
#include "stats/engine/quantile_codes.hpp"
#include "stats/meter/written_records.hpp"

namespace tensorstat {
namespace {

// The header: magic, dtype, precision, two zero bytes, four bytes of the length of what follows. Then a record for each
// accumulator that the partial keeps. An accumulator's name is its row's id in precision/. What is not kept has no
// record. A new accumulator adds a name and changes nothing else, so the version (the magic's last two characters)
// stays. It increases if an accumulator's words change their meaning. 01 to 05 had no names.
constexpr std::string_view kWrittenMagic = "tstatp06";
constexpr std::size_t kWrittenVersionAt = 6, kWrittenDtypeAt = 8, kWrittenPrecisionAt = 9, kWrittenLengthAt = 12,
                      kWrittenHeaderBytes = 16;
// A bin: four bytes of place and eight of count.
constexpr std::size_t kBinBytes = 12;

enum class Accumulator : std::uint8_t { kField, kSum, kElement, kFingerprint, kIndex, kExponents, kCastScale, kBins };

struct WrittenRow {
  std::string_view name;
  Needs need;  // a partial has the record if it keeps any of these; kNothing: always
  Accumulator what;
  std::size_t number;  // among the rows of its list

  bool is_in(Needs needs) const { return need == kNothing || (needs & need) != 0; }
};

constexpr auto kWrittenRows = [] {
  std::size_t field = 0, sum = 0, element = 0, fingerprint = 0, index = 0;
#define FIELD(id, merge, need) WrittenRow{#id, NEED_##need, Accumulator::kField, field++},
#define SUM(id, words, power, need, ...) WrittenRow{#id, NEED_##need, Accumulator::kSum, sum++},
#define ELEMENT(id, merge, need, ...) WrittenRow{#id, NEED_##need, Accumulator::kElement, element++},
#define FINGERPRINT(id, name) WrittenRow{#id, NEED_##id, Accumulator::kFingerprint, fingerprint++},
#define INDEX(id, ...) WrittenRow{"AT_" #id, kIndices, Accumulator::kIndex, index++},
  std::array rows = {FIELD_ROWS(FIELD) EXACT_ROWS(SUM) ELEMENT_ROWS(ELEMENT, ) FINGERPRINT_ROWS(FINGERPRINT)
                         INDEX_ROWS(INDEX, ) WrittenRow{"EXPONENTS", kExponents, Accumulator::kExponents, 0},
                     WrittenRow{"CAST_SCALE", kCasts, Accumulator::kCastScale, 0},
                     WrittenRow{"BINS", kQuantiles, Accumulator::kBins, 0}};
#undef FIELD
#undef SUM
#undef ELEMENT
#undef FINGERPRINT
#undef INDEX
  std::ranges::sort(rows, {}, &WrittenRow::name);
  return rows;
}();
static_assert(std::ranges::adjacent_find(kWrittenRows, {}, &WrittenRow::name) == kWrittenRows.end());

// The words of an accumulator; none for the cast scale and the bins, which are not among the words.
template <typename Word>
std::span<Word> words_of(const WrittenRow& row, Dtype dtype, std::span<Word> words) {
  switch (row.what) {
    case Accumulator::kField:
      return words.subspan(row.number, 1);
    case Accumulator::kSum:
      return words.subspan(layout(dtype)[row.number].first, layout(dtype)[row.number].count);
    case Accumulator::kElement:
      return words.subspan(first_element(dtype) + row.number, 1);
    case Accumulator::kFingerprint:
      return words.subspan(first_fingerprint(dtype) + row.number, 1);
    case Accumulator::kIndex:
      return words.subspan(first_index(dtype) + 2 * row.number, 2);
    case Accumulator::kExponents:
      return words.subspan(first_exponent(dtype), exponent_words(dtype));
    default:
      return {};
  }
}

// The second word of a pair of precision/indices.h, if there is no element.
constexpr std::int64_t kNoWrittenIndex = std::numeric_limits<std::int64_t>::min();

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
    if ((at != kNoWrittenIndex) != (has[i] != 0)) return "an index and its count contradict each other";
    if (at >= 0 || (at == kNoWrittenIndex && key != kNoWrittenIndex)) return "an index makes no sense";
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

// Reads the records of `rest` into `partial`, which keeps what they say: a text that says what is wrong, or "".
std::string read_records(std::span<const std::byte> rest, Partial& partial, double& cast_scale) {
  constexpr const char* kScaleAlone = "it has 'CAST_SCALE' without casts";  // all other records are what is kept
  for (const WrittenRow& row : kWrittenRows) {
    if (!row.is_in(partial.needs())) continue;
    const auto record = take_record(rest);
    if (!record || record->name > row.name) return "it lacks '" + std::string(row.name) + "'";
    if (record->name != row.name) return kScaleAlone;
    const auto words = words_of(row, partial.dtype(), partial.words());
    const std::size_t bytes = row.what == Accumulator::kCastScale ? 8 : 8 * words.size();
    const bool is_bins = row.what == Accumulator::kBins;
    if (is_bins ? record->payload.size() % kBinBytes != 0 : record->payload.size() != bytes) {
      return "'" + std::string(row.name) + "' has the wrong length for its dtype";
    }
    get_words(record->payload, words);
    if (row.what == Accumulator::kCastScale) cast_scale = std::bit_cast<double>(get_word(record->payload));
    if (!is_bins) continue;
    partial.bins().resize(record->payload.size() / kBinBytes);
    for (std::size_t i = 0; i < partial.bins().size(); ++i) {
      const auto bin = record->payload.subspan(kBinBytes * i, kBinBytes);
      partial.bins()[i] = {static_cast<std::uint32_t>(get_word(bin)), get_word(bin.subspan(4))};
    }
  }
  return rest.empty() ? "" : kScaleAlone;
}

}  // namespace

std::vector<std::byte> Partial::serialize() const try {
  std::vector<std::int64_t> carried(words().begin(), words().end());
  carry(dtype_, carried);
  std::vector<std::byte> bytes(kWrittenHeaderBytes);
  bytes.reserve(8 * carried.size() + kBinBytes * bins_.size() + 1024);
  std::ranges::copy(std::as_bytes(std::span(kWrittenMagic)), bytes.begin());
  bytes[kWrittenDtypeAt] = static_cast<std::byte>(dtype_);
  bytes[kWrittenPrecisionAt] = static_cast<std::byte>(precision_);
  for (const WrittenRow& row : kWrittenRows) {
    if (!row.is_in(needs_)) continue;
    if (row.what == Accumulator::kCastScale) {
      put_word(add_record(bytes, row.name, std::size_t{8}), std::bit_cast<std::uint64_t>(cast_scale_));
    } else if (row.what == Accumulator::kBins) {
      const auto payload = add_record(bytes, row.name, kBinBytes * bins_.size());
      for (std::size_t i = 0; i < bins_.size(); ++i) {
        const auto bin = payload.subspan(kBinBytes * i, kBinBytes);
        for (std::size_t k = 0; k < 4; ++k) bin[k] = static_cast<std::byte>(bins_[i].place >> (8 * k));
        put_word(bin.subspan(4), bins_[i].count);
      }
    } else {
      add_record(bytes, row.name, words_of(row, dtype_, std::span<const std::int64_t>(carried)));
    }
  }
  put_length(std::span(bytes).subspan(kWrittenLengthAt), bytes.size() - kWrittenHeaderBytes);
  return bytes;
} catch (const std::bad_alloc&) {
  return {};
}

Result<Partial> Partial::parse(std::span<const std::byte> bytes) try {
  const auto refuse = [](std::string_view why) { return Error{Code::kInvalid, "not a partial: " + std::string(why)}; };
  if (bytes.size() < kWrittenHeaderBytes) return refuse("shorter than its header of 16 bytes");
  const std::string_view magic(reinterpret_cast<const char*>(bytes.data()), kWrittenMagic.size());
  if (!magic.starts_with(kWrittenMagic.substr(0, kWrittenVersionAt))) return refuse("does not begin with \"tstatp06\"");
  if (magic != kWrittenMagic)
    return refuse("of another version of the library (not 06): fold its tensors again with this one");
  const auto dtype = std::to_integer<int>(bytes[kWrittenDtypeAt]);
  const auto precision = std::to_integer<int>(bytes[kWrittenPrecisionAt]);
  if (bytes.size() - kWrittenHeaderBytes != get_length(bytes.subspan(kWrittenLengthAt))) {
    return refuse("its length is not what its header says");
  }
  if (dtype >= kDtypeCount) return refuse("its dtype is unknown");
  if (precision > 1) return refuse("its precision is unknown");
  const auto records = bytes.subspan(kWrittenHeaderBytes);
  Needs needs = kNothing;
  std::string_view before;
  for (auto rest = records; !rest.empty();) {
    const auto record = take_record(rest);
    if (!record) return refuse("it ends within a record");
    const auto row = std::ranges::lower_bound(kWrittenRows, record->name, {}, &WrittenRow::name);
    if (row == kWrittenRows.end() || row->name != record->name) {
      return refuse(refusal_of_name(record->name));
    }
    if (record->name <= before) return refuse("the names of its accumulators do not ascend");
    before = record->name;
    if (row->what != Accumulator::kCastScale) needs |= row->need;
  }
  if (needs != kept(static_cast<Dtype>(dtype), needs)) return refuse("it keeps what its dtype does not have");
  Partial partial(static_cast<Dtype>(dtype), static_cast<Precision>(precision), needs);
  if (const std::string why = read_records(records, partial, partial.cast_scale_); !why.empty()) return refuse(why);
  if (!is_cast_scale(partial.cast_scale_)) return refuse("the scale of its casts is no finite number above 0");
  if (const char* why = contradiction(partial.dtype_, partial.needs_, partial.words())) return refuse(why);
  if ((needs & kQuantiles) != 0) {
    const char* why = contradiction(partial.dtype_, partial.needs_, partial.words(), partial.bins_);
    if (why != nullptr) return refuse(why);
  }
  const auto canonical = partial.serialize();
  if (canonical.empty()) return out_of_memory();
  if (!std::ranges::equal(canonical, bytes)) return refuse("it is not in canonical form");
  return partial;
} catch (...) {
  return caught();
}

}  // namespace tensorstat
