#include "stats/core/engine/code_histogram.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

#include "precision/partial.h"
#include "stats/core/engine/quantile_codes.hpp"

namespace tensorstat {

void CodeHistogram::open(Dtype dtype) {
  const std::uint32_t codes = coding(dtype).bins;
  dtype_ = dtype;
  codes_ = codes;
  if (codes <= room_) return;
  const std::size_t groups = codes / kGroup;
  const std::size_t bytes = codes * (2 * sizeof *even_ + sizeof *wide_) + groups * (sizeof *groups_ + sizeof *used_);
  block_.reset(std::calloc(1, bytes));
  room_ = block_ ? codes : 0;
  if (!block_) throw std::bad_alloc();
  wide_ = static_cast<std::uint64_t*>(block_.get());
  groups_ = reinterpret_cast<Group*>(wide_ + codes);
  even_ = reinterpret_cast<std::uint32_t*>(groups_ + groups);
  odd_ = even_ + codes;
  used_ = reinterpret_cast<std::uint8_t*>(odd_ + codes);
}

void CodeHistogram::expect(std::uint64_t elements) {
  constexpr std::uint64_t kMany = 4;  // elements for each code; from here on, visiting all codes is cheaper than noting
                                      // the used ones
  if (elements < kMany * codes_ || is_dense_) return;
  std::memset(used_, 1, codes_ / kGroup);
  is_dense_ = true;
}

void CodeHistogram::add(std::uint32_t code, std::uint64_t times) {
  will_take(times);
  even_[code] += static_cast<std::uint32_t>(times);
  used_[code / kGroup] = 1;
}

void CodeHistogram::add(std::span<const std::uint32_t> counts, std::uint64_t elements) {
  will_take(elements);
  for (std::uint32_t first = 0; first < codes_; first += kGroup) {
    std::uint32_t any = 0;
    for (std::uint32_t i = first; i < first + kGroup; ++i) any |= counts[i];
    if (any == 0) continue;
    used_[first / kGroup] = 1;
    for (std::uint32_t i = first; i < first + kGroup; ++i) even_[i] += counts[i];
  }
}

void CodeHistogram::add(const CodeHistogram& other) {
  has_wide_ = true;
  other.for_each_used(0, codes_, false, [&](std::uint32_t first) {
    used_[first / kGroup] = 1;
    for (std::uint32_t code = first; code < first + kGroup; ++code) wide_[code] += other.at(code);
  });
}

// Calls visit(first code of the group) for each group of these codes that may hold elements.
template <typename Visit>
void CodeHistogram::for_each_used(std::uint32_t first_code, std::uint32_t end_code, bool backwards,
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

std::uint64_t CodeHistogram::at(std::uint32_t code) const {
  return std::uint64_t{even_[code]} + (is_dense_ ? odd_[code] : 0) + (has_wide_ ? wide_[code] : 0);
}

std::uint64_t CodeHistogram::in_group(std::uint32_t first_code) const {
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < kGroup; ++i) sum += even_[first_code + i];
  for (std::uint32_t i = 0; is_dense_ && i < kGroup; ++i) sum += odd_[first_code + i];
  for (std::uint32_t i = 0; has_wide_ && i < kGroup; ++i) sum += wide_[first_code + i];
  return sum;
}

void CodeHistogram::set(std::uint32_t code, std::uint64_t count) {
  if (!has_wide_ && count <= std::numeric_limits<std::uint32_t>::max()) {
    even_[code] = static_cast<std::uint32_t>(count);
  } else {
    even_[code] = 0;
    wide_[code] = count;
    has_wide_ = true;
  }
  if (is_dense_) odd_[code] = 0;
}

void CodeHistogram::widen() {
  has_wide_ = true;
  narrow_elements_ = 0;
  for_each_used(0, codes_, false, [this](std::uint32_t first) {
    for (std::uint32_t code = first; code < first + kGroup; ++code) {
      wide_[code] += std::uint64_t{even_[code]} + odd_[code];
      even_[code] = odd_[code] = 0;
    }
  });
}

std::uint32_t CodeHistogram::code_of_place(std::uint32_t place) const {
  const std::uint32_t half = codes_ / 2;
  switch (coding(dtype_).order) {
    case Order::kUnsigned:
      return place;
    case Order::kComplement:
      return place ^ half;
    case Order::kMagnitude:
      return place < half ? codes_ - 1 - place : place - half;
  }
  return place;
}

// Each byte other than 0 is true.
void CodeHistogram::merge_bools() {
  std::uint64_t ones = 0;
  for (std::uint32_t code = 1; code < codes_; ++code) {
    ones += at(code);
    set(code, 0);
  }
  set(1, ones);
  used_[0] = 1;
}

void CodeHistogram::drop_nan() {
  const Coding& how = coding(dtype_);
  const std::uint32_t half = codes_ / 2;
  if (how.order == Order::kUnsigned) {
    for (std::uint32_t code = how.greatest + 1; code < codes_; ++code) set(code, 0);
    return;
  }
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
  drop(half + how.greatest + 1, codes_);
  if (how.lacks_minus_zero) drop(half, half + 1);
}

void CodeHistogram::order_groups() {
  const Coding& how = coding(dtype_);
  const std::uint32_t half = codes_ / 2;
  group_count_ = 0;
  std::uint64_t below = 0;
  const auto enter = [&](std::uint32_t first_place, std::uint32_t first_code) {
    const std::uint64_t here = in_group(first_code);
    if (here == 0) return;
    groups_[group_count_++] = {first_place, below};
    below += here;
  };
  if (how.order == Order::kUnsigned) {
    for_each_used(0, codes_, false, [&](std::uint32_t code) { enter(code, code); });
    return;
  }
  const bool backwards = how.order == Order::kMagnitude;
  for_each_used(half, codes_, backwards,
                [&](std::uint32_t code) { enter(backwards ? codes_ - kGroup - code : code - half, code); });
  for_each_used(0, half, false, [&](std::uint32_t code) { enter(half + code, code); });
}

void CodeHistogram::close(std::span<const std::int64_t> words) {
  const Coding& how = coding(dtype_);
  if (how.mixes_infinity) {
    const std::uint32_t positive = how.greatest, negative = codes_ / 2 + how.greatest;
    if (is_used(positive)) set(positive, static_cast<std::uint64_t>(words[PARTIAL_POSITIVE_INFS]));
    if (is_used(negative)) set(negative, static_cast<std::uint64_t>(words[PARTIAL_NEGATIVE_INFS]));
  }
  if (dtype_ == Dtype::kBool) merge_bools();
  if (is_float(dtype_)) drop_nan();
  order_groups();
}

std::optional<std::uint32_t> CodeHistogram::place_of_rank(std::uint64_t rank) const {
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

void CodeHistogram::append_to(std::vector<BinCount>& bins) const {
  for (const Group& group : std::span(groups_, group_count_)) {
    for (std::uint32_t place = group.first_place; place < group.first_place + kGroup; ++place) {
      if (const std::uint64_t count = at(code_of_place(place)); count != 0) bins.push_back({place, count});
    }
  }
}

void CodeHistogram::clear() {
  for_each_used(0, codes_, false, [this](std::uint32_t first) {
    used_[first / kGroup] = 0;
    std::fill_n(even_ + first, kGroup, 0);
    if (is_dense_) std::fill_n(odd_ + first, kGroup, 0);
    if (has_wide_) std::fill_n(wide_ + first, kGroup, 0);
  });
  group_count_ = 0;
  is_dense_ = has_wide_ = false;
  narrow_elements_ = 0;
}

}  // namespace tensorstat
