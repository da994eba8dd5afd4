#include "stats/core/engine/partial_layout.hpp"

#include "precision/scalars.hpp"

namespace {
#include "precision/checksum.h"
#include "precision/exact.h"
#include "precision/keyed.h"
}  // namespace

namespace tensorstat {

void clear(const PartialLayout& layout, std::span<std::int64_t> words) {
  std::size_t i = 0;
  for (const PartialLayout::Run& run : layout.runs()) {
    const std::size_t end = std::min<std::size_t>(run.end, words.size());
    const bool is_raised = run.rule == MergeRule::MAXIMUM || run.rule == MergeRule::KEYED;
    const std::span some = words.subspan(i, end - i);
    if (is_raised) {
      std::ranges::fill(some, kEmptyMaximum);
    } else {
      std::ranges::fill(some, 0);
    }
    i = end;
    if (i == words.size()) return;
  }
}

void merge(const PartialLayout& layout, std::span<std::int64_t> into, std::span<const std::int64_t> from,
           std::uint64_t first, std::uint64_t first_byte, Maxima maxima) {
  const std::int64_t bias = maxima == Maxima::kBiased ? kEmptyMaximum : 0;
  std::size_t i = 0;
  for (const PartialLayout::Run& run : layout.runs()) {
    const std::size_t end = std::min<std::size_t>(run.end, into.size());
    switch (run.rule) {
      case MergeRule::ADDITION:
        for (; i < end; ++i) into[i] += from[i];
        break;
      case MergeRule::MAXIMUM:
        for (; i < end; ++i) into[i] = std::max(into[i], from[i] ^ bias);
        break;
      case MergeRule::KEYED:
        for (; i < end; i += 2) {
          const std::int64_t key = from[i] ^ bias, index = from[i + 1] ^ bias;
          if (index != kEmptyMaximum) raise_keyed(&into[i], key, index - static_cast<std::int64_t>(first));
        }
        break;
      case MergeRule::CHECKSUM:
        std::array<std::int64_t, FINGERPRINT_WORDS> moved;
        std::ranges::copy(from.subspan(i, FINGERPRINT_WORDS), moved.begin());
        move_checksums(moved.data(), first_byte);
        for (std::size_t k = 0; i < end; ++i, ++k) into[i] ^= moved[k];
        break;
    }
    if (i == into.size()) break;
  }
  carry(layout, into);
}

void carry(const PartialLayout& layout, std::span<std::int64_t> words) {
  for (const Accumulator& sum : layout.sums()) {
    if (sum.first < words.size()) carry_words(&words[sum.first], static_cast<int>(sum.count));
  }
}

void move_checksums(std::int64_t* words, std::uint64_t first_byte) {
  words[FINGERPRINT_WORD_CRC32] =
      crc_moved(static_cast<std::uint32_t>(words[FINGERPRINT_WORD_CRC32]), crc_back, first_byte);
  words[FINGERPRINT_WORD_XOR64] =
      static_cast<std::int64_t>(xor_moved(static_cast<std::uint64_t>(words[FINGERPRINT_WORD_XOR64]), first_byte));
}

bool fit_together(const PartialLayout& layout, std::span<const std::int64_t> a, std::span<const std::int64_t> b,
                  std::int64_t most_of_half_of_last) {
  for (const Accumulator& each : layout.all()) {
    if (each.first >= a.size()) break;
    if (each.rule != MergeRule::ADDITION) continue;
    for (std::size_t i = 0; i < each.count; ++i) {
      const std::int64_t half = a[each.first + i] / 2 + b[each.first + i] / 2;
      const std::int64_t most = each.is_sum && i + 1 == each.count ? most_of_half_of_last : kMostOfHalf;
      if (half > most || half < -most) return false;
    }
  }
  return true;
}

}  // namespace tensorstat
