#include "stats/engine/quantile_bins.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <new>
#include <numeric>
#include <utility>

#include "precision/generated/families.h"
#include "precision/scalars.hpp"
#include "stats/engine/accumulator_layout.hpp"
#include "stats/engine/code_counts.hpp"
#include "stats/engine/quantile_codes.hpp"

namespace {

#include "precision/codes.h"

#define PER_DTYPE "precision/lift/lift_code.h"
#include "precision/generated/each_dtype.h"
#define PER_DTYPE "precision/unpack_element.h"
#include "precision/generated/each_dtype.h"

}  // namespace

namespace tensorstat {

static_assert(kQuantiles == Needs{NEED_QUANTILES});

void BinCounter::open(Dtype dtype) {
  const std::uint32_t bins = coding(dtype).bins;
  dtype_ = dtype;
  bins_ = bins;
  // Sorting does not pay for float32 and bfloat16: usual data has few distinct codes.
  lists_ = bins > 1u << 8 && dtype != Dtype::kFloat32 && dtype != Dtype::kBfloat16;
  if (bins <= room_) return;
  const std::size_t groups = bins / kGroup;
  const std::size_t of_a_bin = 2 * sizeof *even_ + sizeof *wide_ + (sizeof *groups_ + sizeof *used_) / kGroup + 1;
  block_.reset(std::calloc(1, bins * of_a_bin + 2 * kMostListed * sizeof *listed_));
  room_ = block_ ? bins : 0;
  if (!block_) throw std::bad_alloc();
  wide_ = static_cast<std::uint64_t*>(block_.get());
  groups_ = reinterpret_cast<Group*>(wide_ + bins);
  even_ = reinterpret_cast<std::uint32_t*>(groups_ + groups);
  odd_ = even_ + bins;
  listed_ = odd_ + bins;
  used_ = reinterpret_cast<std::uint8_t*>(listed_ + 2 * kMostListed);
}

void BinCounter::expect(std::uint64_t elements) {
  if (lists_ && elements > kMostListed - listed_count_) stop_listing();
  constexpr std::uint64_t kMany = 4;  // elements for each bin; from here on, visiting all bins is cheaper than noting
                                      // the used ones
  if (elements < kMany * bins_ || !notes_use_) return;
  std::memset(used_, 1, bins_ / kGroup);
  notes_use_ = false;
  has_odd_ = true;
}

template <typename Bits, typename CodeOf>
void BinCounter::count_by(std::span<const std::byte> elements, const CodeOf& code_of) {
  const std::size_t count = elements.size() / sizeof(Bits);
  // Local copies: the compiler must assume that a write to a count changes the members.
  const std::byte* const from = elements.data();
  std::uint32_t *const even = even_, *const odd = odd_;
  std::uint8_t* const used = used_;
  const bool notes_use = notes_use_;
  const auto code_at = [=](std::size_t i) {
    Bits bits;
    std::memcpy(&bits, from + i * sizeof bits, sizeof bits);
    return code_of(bits);
  };
  const auto note = [=](std::uint32_t code) {
    ++even[code];
    used[code / kGroup] = 1;
  };
  // Scalar on purpose: codes computed in a vector would have to be extracted one by one.
  std::size_t i = 0;
  if (notes_use) {
    for (; i + 4 <= count; i += 4) {
      note(code_at(i));
      note(code_at(i + 1));
      note(code_at(i + 2));
      note(code_at(i + 3));
    }
  } else {
    for (; i + 4 <= count; i += 4) {
      ++even[code_at(i)];
      ++odd[code_at(i + 1)];
      ++even[code_at(i + 2)];
      ++odd[code_at(i + 3)];
    }
  }
  for (; i < count; ++i) note(code_at(i));
}

// For codes that take some work: computes many at once in vectors, then counts them.
template <typename Bits, typename CodeOf>
void BinCounter::count_made(std::span<const std::byte> elements, const CodeOf& code_of) {
  constexpr std::size_t kAtOnce = 512;
  std::array<std::uint16_t, kAtOnce> codes;
  std::array<Bits, kAtOnce> bits;
  while (!elements.empty()) {
    const std::size_t bytes = std::min(elements.size(), sizeof bits), count = bytes / sizeof(Bits);
    std::memcpy(bits.data(), elements.data(), bytes);
    for (std::size_t i = 0; i < count; ++i) codes[i] = static_cast<std::uint16_t>(code_of(bits[i]));
    count_by<std::uint16_t>(std::as_bytes(std::span(codes).first(count)), [](std::uint32_t code) { return code; });
    elements = elements.subspan(bytes);
  }
}

// The caller has checked that the list has room.
template <typename Bits, typename CodeOf>
void BinCounter::list(std::span<const std::byte> elements, const CodeOf& code_of) {
  std::uint32_t* const to = listed_ + listed_count_;
  const std::size_t count = elements.size() / sizeof(Bits);
  for (std::size_t i = 0; i < count; ++i) {
    Bits bits;
    std::memcpy(&bits, elements.data() + i * sizeof bits, sizeof bits);
    to[i] = code_of(bits);
  }
  listed_count_ += static_cast<std::uint32_t>(count);
}

void BinCounter::count_listed(std::span<const std::uint32_t> codes) {
  will_take(codes.size());
  count_by<std::uint32_t>(std::as_bytes(codes), [](std::uint32_t code) { return code; });
}

void BinCounter::stop_listing() {
  if (!std::exchange(lists_, false)) return;
  count_listed({listed_, std::exchange(listed_count_, 0)});
}

void BinCounter::count_packed(std::span<const std::byte> elements, std::uint64_t number) {
  using Unpack = std::uint16_t (*)(std::uint32_t code, std::uint32_t k);
#define ROW(id, name, ...) \
  [](std::uint32_t code, std::uint32_t k) { return static_cast<std::uint16_t>(dtype_##name::unpacked(code, k)); },
  static constexpr Unpack kUnpack[] = {TENSORSTAT_DTYPES(ROW)};
#undef ROW
  const Unpack unpack = kUnpack[static_cast<int>(dtype_)];
  for_each_in_codes(elements, number, elements_a_byte(dtype_),
                    [&](std::uint32_t byte, std::uint32_t k, std::uint64_t times) {
                      const std::uint32_t bin = unpack(byte, k);
                      even_[bin] += static_cast<std::uint32_t>(times);
                      used_[bin / kGroup] = 1;
                    });
}

template <typename Code>
void BinCounter::count_codes(std::span<const std::byte> elements) {
  using Bits = typename Code::Bits;
  if (lists_) return list<Bits>(elements, Code());
  if constexpr (Code::is_byte) {
    count_by<std::uint8_t>(elements, [](std::uint32_t code) { return code; });
  } else if constexpr (Code::takes_work) {
    count_made<Bits>(elements, Code());
  } else {
    count_by<Bits>(elements, Code());
  }
}

void BinCounter::count(std::span<const std::byte> elements, std::uint64_t number) {
  const std::uint64_t most_bytes = std::numeric_limits<std::uint32_t>::max() / 8 / elements_a_byte(dtype_) * 8;
  for (; elements.size() > most_bytes; elements = elements.subspan(most_bytes)) {
    const std::uint64_t some = elements_of(dtype_, most_bytes);
    count(elements.first(most_bytes), some);
    number -= some;
  }
  if (number > kMostListed - listed_count_) stop_listing();
  if (!lists_) will_take(number);
  if (is_packed(dtype_)) return count_packed(elements, number);
  switch (dtype_) {
#define ROW(id, name, ...) \
  case Dtype::id:          \
    return count_codes<dtype_##name::Code>(elements);
    TENSORSTAT_DTYPES(ROW)
#undef ROW
  }
}

void BinCounter::will_take(std::uint64_t elements) {
  if (elements > std::numeric_limits<std::uint32_t>::max() - narrow_elements_) widen();
  narrow_elements_ += elements;
}

void BinCounter::take_codes(std::span<const std::byte> codes) {
  const auto same = [](std::uint32_t code) { return code; };
  const std::uint64_t number = codes.size() / code_bytes(dtype_);
  if (number > kMostListed - listed_count_) stop_listing();
  if (!lists_) will_take(number);
  if (code_bytes(dtype_) == 2) return lists_ ? list<std::uint16_t>(codes, same) : count_by<std::uint16_t>(codes, same);
  lists_ ? list<std::uint32_t>(codes, same) : count_by<std::uint32_t>(codes, same);
}

void BinCounter::take_counts(std::span<const std::uint32_t> counts, std::uint64_t elements) {
  stop_listing();
  will_take(elements);
  for (std::uint32_t first = 0; first < bins_; first += kGroup) {
    std::uint32_t any = 0;
    for (std::uint32_t i = first; i < first + kGroup; ++i) any |= counts[i];
    if (any == 0) continue;
    used_[first / kGroup] = 1;
    for (std::uint32_t i = first; i < first + kGroup; ++i) even_[i] += counts[i];
  }
}

// Calls visit(first code of the group) for each group of these codes that may hold elements.
template <typename Visit>
void BinCounter::for_each_used(std::uint32_t first_code, std::uint32_t end_code, bool backwards,
                               const Visit& visit) const {
  constexpr std::uint32_t kWord = 8;
  const std::uint32_t first = first_code / kGroup, count = (end_code - first_code) / kGroup;
  for (std::uint32_t i = 0; i < count; i += kWord) {
    const std::uint32_t here = std::min(kWord, count - i), from = backwards ? first + count - i - here : first + i;
    std::uint64_t any = 0;
    std::memcpy(&any, used_ + from, here);
    if (any == 0) continue;
    for (std::uint32_t k = 0; k < here; ++k) {
      const std::uint32_t group = from + (backwards ? here - 1 - k : k);
      if (used_[group] != 0) visit(group * kGroup);
    }
  }
}

std::uint64_t BinCounter::at(std::uint32_t code) const {
  return std::uint64_t{even_[code]} + (has_odd_ ? odd_[code] : 0) + (has_wide_ ? wide_[code] : 0);
}

std::uint64_t BinCounter::in_group(std::uint32_t first_code) const {
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < kGroup; ++i) sum += even_[first_code + i];
  for (std::uint32_t i = 0; has_odd_ && i < kGroup; ++i) sum += odd_[first_code + i];
  for (std::uint32_t i = 0; has_wide_ && i < kGroup; ++i) sum += wide_[first_code + i];
  return sum;
}

void BinCounter::set(std::uint32_t code, std::uint64_t count) {
  if (!has_wide_ && count <= std::numeric_limits<std::uint32_t>::max()) {
    even_[code] = static_cast<std::uint32_t>(count);
  } else {
    even_[code] = 0;
    wide_[code] = count;
    has_wide_ = true;
  }
  odd_[code] = 0;
}

void BinCounter::widen() {
  has_wide_ = true;
  narrow_elements_ = 0;
  for_each_used(0, bins_, false, [this](std::uint32_t first) {
    for (std::uint32_t code = first; code < first + kGroup; ++code) {
      wide_[code] += std::uint64_t{even_[code]} + odd_[code];
      even_[code] = odd_[code] = 0;
    }
  });
}

void BinCounter::add(const BinCounter& other) {
  stop_listing();
  if (other.lists_) return count_listed({other.listed_, other.listed_count_});
  has_wide_ = true;
  other.for_each_used(0, bins_, false, [&](std::uint32_t first) {
    used_[first / kGroup] = 1;
    for (std::uint32_t code = first; code < first + kGroup; ++code) wide_[code] += other.at(code);
  });
}

std::uint32_t BinCounter::code_of_place(std::uint32_t place) const {
  const std::uint32_t half = bins_ / 2;
  switch (coding(dtype_).order) {
    case Order::kUnsigned:
      return place;
    case Order::kComplement:
      return place ^ half;
    case Order::kMagnitude:
      return place < half ? bins_ - 1 - place : place - half;
  }
  return place;
}

// close() for listed codes: a radix sort by place, first by the lower half of the bits, then by the upper half.
void BinCounter::close_list(std::span<const std::int64_t> words) {
  const Coding& how = coding(dtype_);
  const std::uint32_t half = bins_ / 2, low_bits = (std::bit_width(bins_ - 1) + 1u) / 2, low = (1u << low_bits) - 1;
  constexpr std::size_t kMostDigits = 1 << 10;
  std::array<std::uint32_t, kMostDigits> lower, upper;
  const std::span<std::uint32_t> digits[] = {std::span(lower).first(low + 1),
                                             std::span(upper).first(bins_ >> low_bits)};
  for (const auto& counts : digits) std::ranges::fill(counts, 0);
  std::uint32_t* const places = listed_;
  std::uint32_t* const between = listed_ + kMostListed;
  const std::uint32_t turned = how.order == Order::kUnsigned ? 0 : half;
  const std::uint32_t backwards = how.order == Order::kMagnitude ? half - 1 : 0;
  for (std::uint32_t i = 0; i < listed_count_; ++i) {
    const std::uint32_t code = places[i];
    places[i] = code ^ turned ^ (backwards & (0u - static_cast<std::uint32_t>((code & half) != 0)));
  }
  for (std::uint32_t i = 0; i < listed_count_; ++i) {
    ++lower[places[i] & low];
    ++upper[places[i] >> low_bits];
  }
  for (const auto& counts : digits) std::exclusive_scan(counts.begin(), counts.end(), counts.begin(), 0u);
  for (std::uint32_t i = 0; i < listed_count_; ++i) between[lower[places[i] & low]++] = places[i];
  for (std::uint32_t i = 0; i < listed_count_; ++i) places[upper[between[i] >> low_bits]++] = between[i];

  const Places all = places_of(dtype_);
  const std::span sorted(places, listed_count_);
  // Not std::ranges: clang 14 does not compile its subranges.
  const auto at_first = std::equal_range(sorted.begin(), sorted.end(), all.first);
  const auto at_last = std::equal_range(sorted.begin(), sorted.end(), all.last);
  listed_begin_ = static_cast<std::uint32_t>(at_first.first - sorted.begin());
  listed_end_ = static_cast<std::uint32_t>(at_last.second - sorted.begin());
  if (!how.mixes_infinity) return;
  const auto lowest = static_cast<std::uint32_t>(at_first.second - at_first.first);
  const auto highest = static_cast<std::uint32_t>(at_last.second - at_last.first);
  listed_begin_ += lowest - static_cast<std::uint32_t>(words[PARTIAL_NEGATIVE_INFS]);
  listed_end_ -= highest - static_cast<std::uint32_t>(words[PARTIAL_POSITIVE_INFS]);
}

void BinCounter::close(std::span<const std::int64_t> words) {
  if (lists_) return close_list(words);
  const Coding& how = coding(dtype_);
  const std::uint32_t half = bins_ / 2;
  const auto is_used = [this](std::uint32_t code) { return used_[code / kGroup] != 0; };
  if (how.mixes_infinity) {
    if (is_used(how.greatest)) set(how.greatest, static_cast<std::uint64_t>(words[PARTIAL_POSITIVE_INFS]));
    if (is_used(half + how.greatest)) {
      set(half + how.greatest, static_cast<std::uint64_t>(words[PARTIAL_NEGATIVE_INFS]));
    }
  }
  if (dtype_ == Dtype::kBool) {  // every byte other than 0 is true
    std::uint64_t ones = 0;
    for (std::uint32_t code = 1; code < bins_; ++code) {
      ones += at(code);
      set(code, 0);
    }
    set(1, ones);
    used_[0] = 1;
  }
  if (is_float(dtype_) && how.order == Order::kUnsigned) {
    for (std::uint32_t code = how.greatest + 1; code < bins_; ++code) set(code, 0);
  } else if (is_float(dtype_)) {  // NaN
    const auto drop = [&](std::uint32_t first, std::uint32_t end) {
      for (std::uint32_t code = first; code < end; ++code) {
        if (is_used(code)) {
          set(code, 0);
        } else {
          code |= kGroup - 1;  // the rest of its group is NaN, too
        }
      }
    };
    drop(how.greatest + 1, half);
    drop(half + how.greatest + 1, bins_);
    if (how.lacks_minus_zero) drop(half, half + 1);
  }

  group_count_ = 0;
  std::uint64_t below = 0;
  const auto enter = [&](std::uint32_t first_place, std::uint32_t first_code) {
    const std::uint64_t here = in_group(first_code);
    if (here == 0) return;
    groups_[group_count_++] = {first_place, below};
    below += here;
  };
  if (how.order == Order::kUnsigned) {
    for_each_used(0, bins_, false, [&](std::uint32_t code) { enter(code, code); });
    return;
  }
  const bool backwards = how.order == Order::kMagnitude;
  for_each_used(half, bins_, backwards,
                [&](std::uint32_t code) { enter(backwards ? bins_ - kGroup - code : code - half, code); });
  for_each_used(0, half, false, [&](std::uint32_t code) { enter(half + code, code); });
}

std::optional<std::uint32_t> BinCounter::place_of_rank(std::uint64_t rank) const {
  if (lists_)
    return rank - 1 < listed_end_ - listed_begin_ ? std::optional(listed_[listed_begin_ + rank - 1]) : std::nullopt;
  const std::span groups(groups_, group_count_);
  const auto after = std::ranges::lower_bound(groups, rank, {}, &Group::below);
  if (after == groups.begin()) return std::nullopt;
  const Group& group = *std::prev(after);
  std::uint64_t below = group.below;
  for (std::uint32_t place = group.first_place; place < group.first_place + kGroup; ++place) {
    below += at(code_of_place(place));
    if (below >= rank) return place;
  }
  return std::nullopt;
}

void BinCounter::append_to(std::vector<BinCount>& bins) const {
  for (std::uint32_t i = listed_begin_; lists_ && i < listed_end_; ++i) {
    const bool is_new = i == listed_begin_ || listed_[i] != listed_[i - 1];
    is_new ? bins.push_back({listed_[i], 1}) : void(++bins.back().count);
  }
  if (lists_) return;
  for (const Group& group : std::span(groups_, group_count_)) {
    for (std::uint32_t place = group.first_place; place < group.first_place + kGroup; ++place) {
      if (const std::uint64_t count = at(code_of_place(place)); count != 0) bins.push_back({place, count});
    }
  }
}

void BinCounter::clear() {
  listed_count_ = 0;
  if (lists_) return;
  for_each_used(0, bins_, false, [this](std::uint32_t first) {
    used_[first / kGroup] = 0;
    std::fill_n(even_ + first, kGroup, 0);
    if (has_odd_) std::fill_n(odd_ + first, kGroup, 0);
    if (has_wide_) std::fill_n(wide_ + first, kGroup, 0);
  });
  group_count_ = 0;
  has_odd_ = has_wide_ = false;
  notes_use_ = true;
  narrow_elements_ = 0;
}

std::optional<std::uint32_t> BinsView::place_of_rank(std::uint64_t rank) const {
  if (counter != nullptr) return counter->place_of_rank(rank);
  for (const BinCount& bin : kept) {
    if (bin.count >= rank) return bin.place;
    rank -= bin.count;
  }
  return std::nullopt;
}

void merge(std::vector<BinCount>& into, const BinsView& from) {
  std::vector<BinCount> listed;
  if (from.counter != nullptr) {
    listed.reserve(from.counter->most_bins());
    from.counter->append_to(listed);
  }
  const std::span<const BinCount> more = from.counter != nullptr ? listed : from.kept;
  if (std::ranges::includes(into, more, {}, &BinCount::place, &BinCount::place)) {
    auto at = into.begin();
    for (const BinCount& bin : more) {
      at = std::ranges::find(at, into.end(), bin.place, &BinCount::place);
      at->count += bin.count;
    }
    return;
  }
  std::vector<BinCount> sum;
  sum.reserve(into.size() + more.size());
  auto at = into.begin();
  for (const BinCount& bin : more) {
    for (; at != into.end() && at->place < bin.place; ++at) sum.push_back(*at);
    sum.push_back(bin);
    if (at != into.end() && at->place == bin.place) sum.back().count += (at++)->count;
  }
  sum.insert(sum.end(), at, into.end());
  sum.shrink_to_fit();
  into = std::move(sum);
}

}  // namespace tensorstat
