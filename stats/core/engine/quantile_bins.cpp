#include "stats/core/engine/quantile_bins.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "precision/generated/families.h"
#include "precision/scalars.hpp"
#include "stats/core/engine/accumulator_layout.hpp"
#include "stats/core/engine/code_counts.hpp"
#include "stats/core/engine/quantile_codes.hpp"

namespace {

#include "precision/codes.h"

#define PER_DTYPE "precision/lift/lift_code.h"
#include "precision/generated/each_dtype.h"
#define PER_DTYPE "precision/unpack_element.h"
#include "precision/generated/each_dtype.h"

}  // namespace

namespace tensorstat {

static_assert(kQuantiles == Needs{NEED_QUANTILES});

namespace {

// For values that are codes already.
struct SameCode {
  std::uint32_t operator()(std::uint32_t code) const { return code; }
};

}  // namespace

void BinCounter::open(Dtype dtype) {
  dtype_ = dtype;
  // Sorting does not pay for float32 and bfloat16: usual data has few distinct codes.
  lists_ = coding(dtype).bins > 1u << 8 && dtype != Dtype::kFloat32 && dtype != Dtype::kBfloat16;
  histogram_.open(dtype);
  if (lists_) list_.allocate();
}

void BinCounter::expect(std::uint64_t elements) {
  if (lists_ && !list_.has_room(elements)) stop_listing();
  histogram_.expect(elements);
}

void BinCounter::stop_listing() {
  if (!std::exchange(lists_, false)) return;
  histogram_.count<std::uint32_t>(std::as_bytes(list_.codes()), SameCode());
  list_.clear();
}

void BinCounter::count_packed(std::span<const std::byte> elements, std::uint64_t number) {
  using Unpack = std::uint16_t (*)(std::uint32_t code, std::uint32_t k);
#define ROW(id, name, ...) \
  [](std::uint32_t code, std::uint32_t k) { return static_cast<std::uint16_t>(dtype_##name::unpacked(code, k)); },
  static constexpr Unpack kUnpack[] = {TENSORSTAT_DTYPES(ROW)};
#undef ROW
  const Unpack unpack = kUnpack[static_cast<int>(dtype_)];
  for_each_in_codes(
      elements, number, elements_a_byte(dtype_),
      [&](std::uint32_t byte, std::uint32_t k, std::uint64_t times) { histogram_.add(unpack(byte, k), times); });
}

template <typename Code>
void BinCounter::count_codes(std::span<const std::byte> elements) {
  using Bits = typename Code::Bits;
  if (lists_) {
    list_.append<Bits>(elements, Code());
  } else if constexpr (Code::is_byte) {
    histogram_.count<std::uint8_t>(elements, SameCode());
  } else if constexpr (Code::takes_work) {
    histogram_.count_in_vectors<Bits>(elements, Code());
  } else {
    histogram_.count<Bits>(elements, Code());
  }
}

void BinCounter::count(std::span<const std::byte> elements, std::uint64_t number) {
  const std::uint64_t most_bytes = std::numeric_limits<std::uint32_t>::max() / 8 / elements_a_byte(dtype_) * 8;
  for (; elements.size() > most_bytes; elements = elements.subspan(most_bytes)) {
    const std::uint64_t some = elements_of(dtype_, most_bytes);
    count(elements.first(most_bytes), some);
    number -= some;
  }
  if (!list_.has_room(number)) stop_listing();
  if (is_packed(dtype_)) return count_packed(elements, number);
  switch (dtype_) {
#define ROW(id, name, ...) \
  case Dtype::id:          \
    return count_codes<dtype_##name::Code>(elements);
    TENSORSTAT_DTYPES(ROW)
#undef ROW
  }
}

void BinCounter::take_codes(std::span<const std::byte> codes) {
  if (!list_.has_room(codes.size() / code_bytes(dtype_))) stop_listing();
  const bool is_short = code_bytes(dtype_) == 2;
  if (lists_) {
    is_short ? list_.append<std::uint16_t>(codes, SameCode()) : list_.append<std::uint32_t>(codes, SameCode());
  } else {
    is_short ? histogram_.count<std::uint16_t>(codes, SameCode()) : histogram_.count<std::uint32_t>(codes, SameCode());
  }
}

void BinCounter::take_counts(std::span<const std::uint32_t> counts, std::uint64_t elements) {
  stop_listing();
  histogram_.add(counts, elements);
}

void BinCounter::add(const BinCounter& other) {
  stop_listing();
  if (other.lists_) {
    histogram_.count<std::uint32_t>(std::as_bytes(other.list_.codes()), SameCode());
  } else {
    histogram_.add(other.histogram_);
  }
}

void BinCounter::close(std::span<const std::int64_t> words) {
  lists_ ? list_.sort(dtype_, words) : histogram_.close(words);
}

std::optional<std::uint32_t> BinCounter::place_of_rank(std::uint64_t rank) const {
  return lists_ ? list_.place_of_rank(rank) : histogram_.place_of_rank(rank);
}

void BinCounter::append_to(std::vector<BinCount>& bins) const {
  lists_ ? list_.append_to(bins) : histogram_.append_to(bins);
}

std::size_t BinCounter::most_bins() const { return lists_ ? list_.most_bins() : histogram_.most_bins(); }

void BinCounter::clear() { lists_ ? list_.clear() : histogram_.clear(); }

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
    auto cursor = into.begin();
    for (const BinCount& bin : more) {
      cursor = std::ranges::find(cursor, into.end(), bin.place, &BinCount::place);
      cursor->count += bin.count;
    }
    return;
  }
  std::vector<BinCount> sum;
  sum.reserve(into.size() + more.size());
  auto cursor = into.begin();
  for (const BinCount& bin : more) {
    for (; cursor != into.end() && cursor->place < bin.place; ++cursor) sum.push_back(*cursor);
    sum.push_back(bin);
    if (cursor != into.end() && cursor->place == bin.place) sum.back().count += (cursor++)->count;
  }
  sum.insert(sum.end(), cursor, into.end());
  sum.shrink_to_fit();
  into = std::move(sum);
}

}  // namespace tensorstat
