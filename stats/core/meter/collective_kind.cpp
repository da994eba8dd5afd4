#include "stats/core/meter/collective_kind.hpp"

#include <algorithm>

#include "precision/scalars.hpp"
#include "stats/core/base/fnv1a.hpp"

namespace {
#include "precision/exact.h"
}  // namespace

namespace tensorstat {
namespace {

// Whether a carry would change nothing, as in what a fold gives. In a carry each word waits for the one before, so this
// is faster.
bool is_carried(const std::int64_t* words, std::uint32_t count) {
  std::uint64_t above = 0;
  for (std::uint32_t i = 0; i + 1 < count; ++i) above |= static_cast<std::uint64_t>(words[i]) >> 32;
  return above == 0;
}

}  // namespace

Collective::Kind::Kind(const Partial& partial, int bits_a_word)
    : empty(partial.dtype(), partial.precision(), partial.needs(), partial.cast_scale()),
      is_gathered(partial.precision() == Precision::kLow || (partial.needs() & kQuantiles) != 0),
      bits_a_word_(bits_a_word),
      // The written form names the dtype, the precision, the accumulators and the scale.
      hash_(fnv1a(kFnv1aOfNothing, empty.serialize())) {
  if (is_gathered) return;
  for (const Accumulator& each : layout(partial.dtype()).all()) {
    if (each.first >= partial.words().size()) break;
    if (!each.is_kept(partial.needs())) continue;
    const Travel travel = each.rule == MergeRule::ADDITION  ? Travel::kSum
                          : each.rule == MergeRule::MAXIMUM ? Travel::kMaximum
                          : each.rule == MergeRule::KEYED   ? Travel::kKey
                          : each.need == kCrc32             ? Travel::kCrc32
                                                            : Travel::kXor64;
    if (each.is_sum) exact_sums_.push_back({static_cast<std::uint32_t>(sum_words), each.count});
    switch (travel) {
      case Travel::kMaximum:
        largest_words += each.count;
        break;
      case Travel::kSum:
        sum_words += each.count;
        break;
      case Travel::kCrc32:
        sum_words += words_of_bits(32);
        break;
      case Travel::kXor64:
        sum_words += words_of_bits(64);
        break;
      case Travel::kKey:
        largest_words += 1;
        break;
    }
    const bool follows = !runs_.empty() && runs_.back().travel == travel && travel <= Travel::kSum &&
                         runs_.back().first + runs_.back().count == each.first;
    if (follows) {
      runs_.back().count += each.count;
    } else {
      runs_.push_back({travel, each.first, each.count});
    }
  }
}

bool Collective::Kind::is_of(const Partial& partial) const {
  return empty.dtype() == partial.dtype() && empty.precision() == partial.precision() &&
         empty.needs() == partial.needs() && empty.cast_scale() == partial.cast_scale();
}

std::uint64_t Collective::Kind::added_to(std::uint64_t key) const {
  return fnv1a(key, std::as_bytes(std::span(&hash_, 1)));
}

std::size_t Collective::Kind::words_of_bits(int bits) const {
  return static_cast<std::size_t>((bits + bits_a_word_ - 1) / bits_a_word_);
}

// Bits of a checksum, so far apart in a word that the sum of all ranks has room. The lowest bit of each sum is the
// parity.
void Collective::Kind::push_bits(std::int64_t*& words, std::uint64_t value, int bits) const {
  const int apart = 63 / bits_a_word_;
  for (int bit = 0; bit < bits; bit += bits_a_word_) {
    std::int64_t word = 0;
    for (int i = 0; i < bits_a_word_ && bit + i < bits; ++i) {
      word |= static_cast<std::int64_t>(value >> (bit + i) & 1) << (i * apart);
    }
    *words++ = word;
  }
}

std::uint64_t Collective::Kind::take_bits(const std::int64_t* words, int bits) const {
  std::uint64_t value = 0;
  const int apart = 63 / bits_a_word_;
  for (int bit = 0; bit < bits; bit += bits_a_word_, ++words) {
    for (int i = 0; i < bits_a_word_ && bit + i < bits; ++i) {
      value |= static_cast<std::uint64_t>(*words >> (i * apart) & 1) << (bit + i);
    }
  }
  return value;
}

void Collective::Kind::pack(const Partial& partial, PackedWords& to, const std::int64_t* all_largest,
                            std::vector<OwnKey>& own_keys) const {
  const std::int64_t* const words = partial.words().data();
  std::int64_t* const sums = to.sums;
  for (const Run& run : runs_) {
    const std::int64_t* const first = words + run.first;
    switch (run.travel) {
      case Travel::kMaximum:
        to.largest = std::copy_n(first, run.count, to.largest);
        break;
      case Travel::kSum:
        to.sums = std::copy_n(first, run.count, to.sums);
        break;
      case Travel::kCrc32:
        push_bits(to.sums, static_cast<std::uint64_t>(*first), 32);
        break;
      case Travel::kXor64:
        push_bits(to.sums, static_cast<std::uint64_t>(*first), 64);
        break;
      case Travel::kKey:
        own_keys.push_back({static_cast<std::size_t>(to.largest - all_largest), first[0], first[1]});
        *to.largest++ = first[0];
        break;
    }
  }
  for (const ExactSum& sum : exact_sums_) {
    std::int64_t* const first = sums + sum.first_packed;
    if (!is_carried(first, sum.count)) carry_words(first, static_cast<int>(sum.count));
  }
}

void Collective::Kind::unpack(PackedWords& from, Partial& into) const {
  std::int64_t* const words = into.words().data();
  for (const ExactSum& sum : exact_sums_) carry_words(from.sums + sum.first_packed, static_cast<int>(sum.count));
  for (const Run& run : runs_) {
    std::int64_t* const first = words + run.first;
    switch (run.travel) {
      case Travel::kMaximum:
        std::copy_n(from.largest, run.count, first);
        from.largest += run.count;
        break;
      case Travel::kSum:
        std::copy_n(from.sums, run.count, first);
        from.sums += run.count;
        break;
      case Travel::kCrc32:
        *first = static_cast<std::int64_t>(take_bits(from.sums, 32));
        from.sums += words_of_bits(32);
        break;
      case Travel::kXor64:
        *first = static_cast<std::int64_t>(take_bits(from.sums, 64));
        from.sums += words_of_bits(64);
        break;
      case Travel::kKey:
        first[0] = *from.largest++;
        first[1] = *from.indices++;
        break;
    }
  }
}

}  // namespace tensorstat
