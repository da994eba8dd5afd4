#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <tensorstat/pair.hpp>

#include "precision/scalars.hpp"
#include "stats/base/caught.hpp"
#include "stats/base/printable.hpp"
#include "stats/base/typed_name.hpp"
#include "stats/engine/pair_layout.hpp"
#include "stats/meter/written_records.hpp"

namespace {
#include "precision/exact.h"
#include "precision/keyed.h"
}  // namespace

namespace tensorstat {
namespace {

struct Row {
  std::string_view name;
  PairValueKind kind;
  std::string_view formula, special_rule;
};
#define ROW(id, name, kind, formula, special_rule) Row{name, PairValueKind::kind, formula, special_rule},
constexpr std::array kRows = {TENSORSTAT_PAIR_STATISTICS(ROW)};
#undef ROW

const Row& row(PairStatistic statistic) { return kRows[static_cast<std::size_t>(statistic)]; }

// The serialised form: magic with the version in its last two characters, both dtypes, scale, one zero byte, four
// bytes of the length of what follows the header, rtol, atol; then a record for each accumulator, named by its row's id
// in precision/pair/pair.h. Increase the version if an accumulator's words change their meaning.
constexpr std::string_view kMagic = "tstatq02";
constexpr std::size_t kVersionAt = 6, kDtypesAt = 8, kScaleAt = 10, kLengthAt = 12, kRtolAt = 16, kAtolAt = 24,
                      kHeaderBytes = 32;

struct PairRow {
  std::string_view name;
  std::size_t number;  // of the field, or behind these of the sum
};
constexpr auto kWrittenPairRows = [] {
  std::size_t number = 0;
#define ROW(id, ...) PairRow{#id, number++},
  std::array rows = {PAIR_FIELD_ROWS(ROW) PAIR_EXACT_ROWS(ROW, )};
#undef ROW
  std::ranges::sort(rows, {}, &PairRow::name);
  return rows;
}();
static_assert(std::ranges::adjacent_find(kWrittenPairRows, {}, &PairRow::name) == kWrittenPairRows.end());

template <typename Word>
std::span<Word> words_of(const PairRow& row, const PairLayout& layout, std::span<Word> words) {
  if (row.number < kPairFields.size()) return words.subspan(row.number, 1);
  const PairSum& sum = layout[row.number - kPairFields.size()];
  return words.subspan(sum.first, sum.count);
}

void carry_pair(Dtype a, Dtype b, std::span<std::int64_t> words) {
  for (const PairSum& sum : pair_layout(a, b)) carry_words(&words[sum.first], static_cast<int>(sum.count));
}

constexpr std::int64_t kInfinityBits = std::int64_t{0x7ff} << 52;

// Checks untrusted words: a text that says why no two tensors can have produced them; nullptr if they are valid.
const char* contradiction(const PairPartial& partial) {
  const auto words = partial.words();
  if (words[PAIR_COUNT] < 0) return "it counts 2^63 elements or more";
  for (std::size_t i = 0; i < kPairFields.size(); ++i) {
    const bool counts = kPairFields[i] == PairMerge::ADDITION;
    if (counts && (words[i] < 0 || words[i] > words[PAIR_COUNT])) return "its counts contradict each other";
    if (kPairFields[i] != PairMerge::KEY) continue;
    if ((words[i] == kNoPlace) != (words[i + 1] == kNoPlace))
      return "a greatest difference and its place contradict each other";
    if (words[i] != kNoPlace && (words[i] <= 0 || words[i] > kInfinityBits))
      return "a greatest difference is no number";
  }
  for (const std::size_t place : {PAIR_FIRST_UNEQUAL, PAIR_FIRST_OUTSIDE, PAIR_FARTHEST_AT, PAIR_RELATIVE_AT}) {
    if (words[place] >= 0) return "an index is 2^63 or more";
  }
  const std::int64_t peak = words[PAIR_PEAK];
  if (peak != kNoPlace && (peak < 0 || peak >= kInfinityBits)) return "its greatest magnitude is no number";
  if ((words[PAIR_UNEQUAL] == 0) != (words[PAIR_FIRST_UNEQUAL] == kNoPlace) ||
      (words[PAIR_OUTSIDE] == 0) != (words[PAIR_FIRST_OUTSIDE] == kNoPlace)) {
    return "a count and its first index contradict each other";
  }
  return nullptr;
}

// The last word of a sum of up to 2^63 elements is below this. A word can hold four times as much.
constexpr std::int64_t kMostLastWord = std::int64_t{1} << 60;

bool is_last_of_sum(const PairLayout& layout, std::size_t word) {
  return std::ranges::any_of(layout, [&](const PairSum& sum) { return word == sum.first + sum.count - 1; });
}

// Checks the sums likewise. Their carries are propagated.
const char* contradiction_of_sums(const PairPartial& partial) {
  const auto words = partial.words();
  const PairLayout& layout = pair_layout(partial.dtype_a(), partial.dtype_b());
  for (std::size_t i = kPairFields.size(); i < words.size(); ++i) {
    if (words[i] >= kMostLastWord || words[i] <= -kMostLastWord) return "a sum is beyond all tensors";
  }
  for (const std::size_t sum : {PAIR_SUM_SQUARES_A, PAIR_SUM_SQUARES_B, PAIR_SUM_DISTANCES}) {
    if (words[layout[sum].first + layout[sum].count - 1] < 0) return "a sum that cannot be negative is";
  }
  // The sums of (a - b)^2 and of (a + b)^2 cannot be negative either.
  const PairSum &a = layout[PAIR_SUM_SQUARES_A], &b = layout[PAIR_SUM_SQUARES_B], &products = layout[PAIR_SUM_PRODUCTS];
  for (const int sign : {-1, 1}) {
    std::int64_t carried = 0;
    for (std::size_t i = 0; i < products.count; ++i) {
      carried = (carried >> 32) + words[a.first + i] + words[b.first + i] + 2 * sign * words[products.first + i];
    }
    if (carried < 0) return "its products and squares contradict each other";
  }
  return nullptr;
}

}  // namespace

std::string_view name(PairStatistic statistic) { return row(statistic).name; }
std::string_view formula(PairStatistic statistic) { return row(statistic).formula; }
std::string_view special_rule(PairStatistic statistic) { return row(statistic).special_rule; }
PairValueKind kind(PairStatistic statistic) { return row(statistic).kind; }

std::optional<PairStatistic> pair_statistic(std::string_view name) {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (is_typed_name(name, kRows[i].name)) return static_cast<PairStatistic>(i);
  }
  return std::nullopt;
}

void clear_pair(std::span<std::int64_t> words) {
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = empty_pair_word(i);
}

void merge_pair(Dtype a, Dtype b, std::span<std::int64_t> into, std::span<const std::int64_t> from) {
  for (std::size_t i = 0; i < into.size(); ++i) {
    switch (i < kPairFields.size() ? kPairFields[i] : PairMerge::ADDITION) {
      case PairMerge::ADDITION:
        into[i] += from[i];
        break;
      case PairMerge::MAXIMUM:
        into[i] = std::max(into[i], from[i]);
        break;
      case PairMerge::KEY:
        raise_keyed(&into[i], from[i], from[i + 1]);
        break;
      case PairMerge::AT:
        break;  // merged with its key
    }
  }
  carry_pair(a, b, into);
}

bool PairTolerance::is_valid() const {
  const auto is_bound = [](double number) { return std::isfinite(number) && number >= 0; };
  return is_bound(rtol) && is_bound(atol);
}

PairPartial::PairPartial(Dtype a, Dtype b, const PairTolerance& tolerance)
    : a_(a), b_(b), tolerance_(tolerance), words_(pair_words(a, b)) {
  clear_pair(words_);
}

Status PairPartial::merge(const PairPartial& other) try {
  if (a_ != other.a_ || b_ != other.b_ || tolerance_ != other.tolerance_) {
    return Error{Code::kInvalid, "cannot merge two pairs of tensors: dtypes and tolerance must agree"};
  }
  const PairLayout& layout = pair_layout(a_, b_);
  for (std::size_t i = 0; i < words_.size(); ++i) {
    if (empty_pair_word(i) != 0) continue;
    const bool fits = is_last_of_sum(layout, i) ? fit_one_word(words_[i], other.words_[i], kMostLastWord / 2 - 2)
                                                : fit_one_word(words_[i], other.words_[i]);
    if (!fits) {
      return Error{Code::kInvalid,
                   "cannot merge two pairs of tensors: the combined counts exceed what a partial can hold"};
    }
  }
  merge_pair(a_, b_, words_, other.words_);
  return {};
} catch (...) {
  return caught();
}

std::vector<std::byte> PairPartial::serialize() const try {
  std::vector<std::int64_t> canonical = words_;
  carry_pair(a_, b_, canonical);
  std::vector<std::byte> bytes(kHeaderBytes);
  const std::span all(bytes);
  std::ranges::copy(std::as_bytes(std::span(kMagic)), bytes.begin());
  bytes[kDtypesAt] = static_cast<std::byte>(a_);
  bytes[kDtypesAt + 1] = static_cast<std::byte>(b_);
  bytes[kScaleAt] = static_cast<std::byte>(tolerance_.scale);
  put_word(all.subspan(kRtolAt), std::bit_cast<std::uint64_t>(tolerance_.rtol));
  put_word(all.subspan(kAtolAt), std::bit_cast<std::uint64_t>(tolerance_.atol));
  for (const PairRow& row : kWrittenPairRows) {
    add_record(bytes, row.name, words_of(row, pair_layout(a_, b_), std::span<const std::int64_t>(canonical)));
  }
  put_length(std::span(bytes).subspan(kLengthAt), bytes.size() - kHeaderBytes);
  return bytes;
} catch (const std::bad_alloc&) {
  return {};
}

Result<PairPartial> PairPartial::parse(std::span<const std::byte> bytes) try {
  const auto refuse = [](std::string_view why) {
    return Error{Code::kInvalid, "not a pair's partial: " + std::string(why)};
  };
  if (bytes.size() < kHeaderBytes) return refuse("shorter than its header of 32 bytes");
  const std::string_view magic(reinterpret_cast<const char*>(bytes.data()), kMagic.size());
  if (!magic.starts_with(kMagic.substr(0, kVersionAt))) return refuse("does not begin with \"tstatq02\"");
  if (magic != kMagic)
    return refuse("of another version of the library (not 02): compare its tensors again with this one");
  if (bytes.size() - kHeaderBytes != get_length(bytes.subspan(kLengthAt))) {
    return refuse("its length is not what its header says");
  }
  const auto a = std::to_integer<int>(bytes[kDtypesAt]), b = std::to_integer<int>(bytes[kDtypesAt + 1]);
  const auto scale = std::to_integer<int>(bytes[kScaleAt]);
  const auto is_known = [](int dtype) { return dtype < kDtypeCount && !is_complex(static_cast<Dtype>(dtype)); };
  if (!is_known(a) || !is_known(b)) return refuse("a dtype is unknown");
  if (scale > 1) return refuse("its scale is unknown");
  const PairTolerance tolerance{std::bit_cast<double>(get_word(bytes.subspan(kRtolAt))),
                                std::bit_cast<double>(get_word(bytes.subspan(kAtolAt))),
                                static_cast<PairTolerance::Scale>(scale)};
  if (!tolerance.is_valid()) return refuse("its tolerance is negative or not finite");
  PairPartial partial(static_cast<Dtype>(a), static_cast<Dtype>(b), tolerance);
  auto rest = bytes.subspan(kHeaderBytes);
  for (auto all = rest; !all.empty();) {
    const auto record = take_record(all);
    if (!record) return refuse("it ends within a record");
    if (std::ranges::find(kWrittenPairRows, record->name, &PairRow::name) == kWrittenPairRows.end()) {
      return refuse(refusal_of_name(record->name));
    }
  }
  const PairLayout& layout = pair_layout(partial.a_, partial.b_);
  for (const PairRow& row : kWrittenPairRows) {
    const auto record = take_record(rest);
    if (!record || record->name > row.name) return refuse("it lacks '" + std::string(row.name) + "'");
    if (record->name != row.name) return refuse("the names of its accumulators do not ascend");
    const auto words = words_of(row, layout, std::span(partial.words_));
    if (record->payload.size() != 8 * words.size()) {
      return refuse("'" + std::string(row.name) + "' has the wrong length for its dtypes");
    }
    get_words(record->payload, words);
  }
  if (const char* why = contradiction(partial)) return refuse(why);
  const auto canonical = partial.serialize();
  if (canonical.empty()) return out_of_memory();
  if (!std::ranges::equal(canonical, bytes)) return refuse("it is not in canonical form");
  if (const char* why = contradiction_of_sums(partial)) return refuse(why);
  return partial;
} catch (...) {
  return caught();
}

}  // namespace tensorstat
