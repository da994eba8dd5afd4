#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string>
#include <tensorstat/pair.hpp>

#include "stats/core/base/caught.hpp"
#include "stats/core/base/float_environment.hpp"
#include "stats/core/base/typed_name.hpp"
#include "stats/core/engine/pair_layout.hpp"
#include "stats/core/meter/written_form.hpp"

namespace tensorstat {
namespace {

struct Row {
  std::string_view name;
  PairValueKind kind;
  std::string_view formula, special_rule;
};
#define ROW(id, name, kind, formula, special_rule, value) Row{name, PairValueKind::kind, formula, special_rule},
constexpr std::array kRows = {TENSORSTAT_PAIR_STATISTICS(ROW)};
#undef ROW

const Row& row(PairStatistic statistic) { return kRows[static_cast<std::size_t>(statistic)]; }

// The header's own bytes: both dtypes, scale, a zero byte; behind the length rtol and atol.
constexpr WrittenForm kPairForm{"tstatq02", 32, "compare its tensors"};
constexpr std::size_t kDtypesAt = 8, kScaleAt = 10, kRtolAt = 16, kAtolAt = 24;

constexpr std::int64_t kInfinityBits = std::int64_t{0x7ff} << 52;

// Checks untrusted words: a text that says why no two tensors can have produced them; nullptr if they are valid.
const char* contradiction(const PairPartial& partial) {
  const auto words = partial.words();
  if (words[PAIR_COUNT] < 0) return "it counts 2^63 elements or more";
  for (const Accumulator& field : pair_layout(partial.dtype_a(), partial.dtype_b()).all().first(PAIR_FIELDS)) {
    const std::int64_t word = words[field.first];
    if (field.rule == MergeRule::ADDITION && (word < 0 || word > words[PAIR_COUNT])) {
      return "its counts contradict each other";
    }
  }
  for (const std::size_t key : {PAIR_FARTHEST, PAIR_RELATIVE}) {
    if ((words[key] == kEmptyMaximum) != (words[key + 1] == kEmptyMaximum)) {
      return "a greatest difference and its place contradict each other";
    }
    if (words[key] != kEmptyMaximum && (words[key] <= 0 || words[key] > kInfinityBits)) {
      return "a greatest difference is no number";
    }
  }
  for (const std::size_t place : {PAIR_FIRST_UNEQUAL, PAIR_FIRST_OUTSIDE, PAIR_FARTHEST_AT, PAIR_RELATIVE_AT}) {
    if (words[place] >= 0) return "an index is 2^63 or more";
  }
  const std::int64_t peak = words[PAIR_PEAK];
  if (peak != kEmptyMaximum && (peak < 0 || peak >= kInfinityBits)) return "its greatest magnitude is no number";
  if ((words[PAIR_UNEQUAL] == 0) != (words[PAIR_FIRST_UNEQUAL] == kEmptyMaximum) ||
      (words[PAIR_OUTSIDE] == 0) != (words[PAIR_FIRST_OUTSIDE] == kEmptyMaximum)) {
    return "a count and its first index contradict each other";
  }
  return nullptr;
}

// The last word of a sum of up to 2^63 elements is below this. A word can hold four times as much.
constexpr std::int64_t kMostLastWord = std::int64_t{1} << 60;

// Checks the sums likewise. Their carries are propagated.
const char* contradiction_of_sums(const PairPartial& partial) {
  const auto words = partial.words();
  const auto sums = pair_layout(partial.dtype_a(), partial.dtype_b()).sums();
  for (std::size_t i = PAIR_FIELDS; i < words.size(); ++i) {
    if (words[i] >= kMostLastWord || words[i] <= -kMostLastWord) return "a sum is beyond all tensors";
  }
  for (const std::size_t sum : {PAIR_SUM_SQUARES_A, PAIR_SUM_SQUARES_B, PAIR_SUM_DISTANCES}) {
    if (sums[sum].of(words).back() < 0) return "a sum that cannot be negative is";
  }
  // The sums of (a - b)^2 and of (a + b)^2 cannot be negative either.
  const auto a = sums[PAIR_SUM_SQUARES_A].of(words), b = sums[PAIR_SUM_SQUARES_B].of(words);
  const auto products = sums[PAIR_SUM_PRODUCTS].of(words);
  for (const int sign : {-1, 1}) {
    std::int64_t carried = 0;
    for (std::size_t i = 0; i < products.size(); ++i) {
      carried = (carried >> 32) + a[i] + b[i] + 2 * sign * products[i];
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

bool PairTolerance::is_valid() const {
  const FloatEnvironment ieee;
  const auto is_bound = [](double number) { return std::isfinite(number) && number >= 0; };
  return is_bound(rtol) && is_bound(atol);
}

PairPartial::PairPartial(Dtype a, Dtype b, const PairTolerance& tolerance)
    : a_(a), b_(b), tolerance_(tolerance), words_(pair_words(a, b)) {
  clear(pair_layout(a, b), words_);
}

Status PairPartial::merge(const PairPartial& other) try {
  const FloatEnvironment ieee;
  if (a_ != other.a_ || b_ != other.b_ || tolerance_ != other.tolerance_) {
    return Error{Code::kInvalid, "cannot merge two pairs of tensors: dtypes and tolerance must agree"};
  }
  const PartialLayout& layout = pair_layout(a_, b_);
  if (!fit_together(layout, words_, other.words_, kMostLastWord / 2 - 2)) {
    return Error{Code::kInvalid,
                 "cannot merge two pairs of tensors: the combined counts exceed what a partial can hold"};
  }
  tensorstat::merge(layout, words_, other.words_);
  return {};
} catch (...) {
  return caught();
}

std::vector<std::byte> PairPartial::serialize() const try {
  const FloatEnvironment ieee;
  std::array<std::byte, kPairForm.header_bytes> header{};
  header[kDtypesAt] = static_cast<std::byte>(a_);
  header[kDtypesAt + 1] = static_cast<std::byte>(b_);
  header[kScaleAt] = static_cast<std::byte>(tolerance_.scale);
  put_number(std::span(header).subspan(kRtolAt), std::bit_cast<std::uint64_t>(tolerance_.rtol));
  put_number(std::span(header).subspan(kAtolAt), std::bit_cast<std::uint64_t>(tolerance_.atol));
  return write_form(kPairForm, header, pair_layout(a_, b_), kNothing, words_);
} catch (const std::bad_alloc&) {
  return {};
}

Result<PairPartial> PairPartial::parse(std::span<const std::byte> bytes) try {
  const FloatEnvironment ieee;
  const auto refuse = [](std::string_view why) {
    return Error{Code::kInvalid, "not a pair's partial: " + std::string(why)};
  };
  if (const auto why = fault_of_header(kPairForm, bytes); !why.empty()) return refuse(why);
  const auto a = std::to_integer<int>(bytes[kDtypesAt]), b = std::to_integer<int>(bytes[kDtypesAt + 1]);
  const auto scale = std::to_integer<int>(bytes[kScaleAt]);
  const auto is_known = [](int dtype) { return dtype < kDtypeCount && !is_complex(static_cast<Dtype>(dtype)); };
  if (!is_known(a) || !is_known(b)) return refuse("a dtype is unknown");
  if (scale > 1) return refuse("its scale is unknown");
  const PairTolerance tolerance{std::bit_cast<double>(get_number<std::uint64_t>(bytes.subspan(kRtolAt))),
                                std::bit_cast<double>(get_number<std::uint64_t>(bytes.subspan(kAtolAt))),
                                static_cast<PairTolerance::Scale>(scale)};
  if (!tolerance.is_valid()) return refuse("its tolerance is negative or not finite");
  PairPartial partial(static_cast<Dtype>(a), static_cast<Dtype>(b), tolerance);
  const PartialLayout& layout = pair_layout(partial.a_, partial.b_);
  std::vector<WrittenRecord> records;
  Needs needs;
  if (const auto why = find_records(bytes.subspan(kPairForm.header_bytes), layout, {}, &records, &needs); !why.empty())
    return refuse(why);
  if (const auto why = read_words(records, layout, needs, partial.words_); !why.empty()) return refuse(why);
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
