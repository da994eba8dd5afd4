#include "host/simd/folder.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "host/simd/cpu.hpp"
#include "precision/scalars.hpp"
#include "precision/sizes.h"
#include "stats/core/base/crc32.hpp"
#include "stats/core/engine/accumulator_layout.hpp"

namespace {
#include "precision/checksum.h"
}

namespace tensorstat::host {
namespace {

// Carries are propagated after at most this many elements. A word has room for 2^30 additions, and an element may take
// several.
constexpr std::uint64_t kCarryElements = std::uint64_t{1} << 26;

// Elements that are counted into bins are folded in pieces of this size, while they are in the L1 cache. A multiple of
// the tile of `low`.
constexpr std::size_t kBinnedBytes = std::size_t{16} << 10;

// The tables of best_isa().
struct Tables {
  const Fold* folds;
  const LaneFold* lane_folds;
};
const Tables& widest() {
  static const Tables tables = []() -> Tables {
    switch (best_isa()) {
#ifdef TENSORSTAT_AVX512
      case Isa::kAvx512:
        return {kFoldsAvx512, kLaneFoldsAvx512};
#endif
#ifdef TENSORSTAT_AVX2
      case Isa::kAvx2:
        return {kFoldsAvx2, kLaneFoldsAvx2};
#endif
      default:
        return {kFoldsBaseline, kLaneFoldsBaseline};
    }
  }();
  return tables;
}

Fold fold_of(Dtype dtype, Precision precision) {
  const Fold* const all = is_low(dtype, precision) ? kFoldsLow : widest().folds;
  return all[static_cast<int>(dtype)];
}

}  // namespace

static_assert((kCasts & ~std::uint32_t{NEED_BESIDE}) == 0, "a LaneFold knows no casts");

const LaneFold* lane_fold(Dtype dtype, Precision precision, Needs needs) {
  if (is_low(dtype, precision) || (needs & (NEED_OPTIONAL | NEED_BESIDE | kDigests | kQuantiles)) != 0) return nullptr;
  const LaneFold& fold = widest().lane_folds[static_cast<int>(dtype)];
  return fold.lanes == 0 ? nullptr : &fold;
}

Folder::Folder(Dtype dtype, Precision precision, Needs needs, std::span<std::int64_t> words, BinCounter* bins,
               double cast_scale)
    : fold_(fold_of(dtype, precision)),
      dtype_(dtype),
      element_bytes_(size_bytes(dtype)),
      needs_(kept(dtype, needs) & ~kDigests),
      words_(words.first(partial_words(dtype, needs))),
      bins_((needs_ & kQuantiles) != 0 ? bins : nullptr),
      casts_(scales_casts(needs_, cast_scale) ? needs_ & kCasts : 0) {
  needs_ &= ~(casts_ | kQuantiles);
  if (casts_ != 0) cast_bounds_ = cast_bounds(dtype, cast_scale);
  clear(dtype_, words_);
}

void Folder::take(std::span<const std::byte> elements, std::uint64_t count) {
  if ((needs_ & kFingerprints) != 0) take_fingerprints(elements);
  if (bins_ == nullptr && casts_ == 0) return take_words(elements, count, next_);
  if (bins_ != nullptr) bins_->expect(count);
  for (std::size_t offset = 0; offset < elements.size(); offset += kBinnedBytes) {
    const auto some = elements.subspan(offset, std::min(kBinnedBytes, elements.size() - offset));
    const std::uint64_t of_some = std::min(elements_of(dtype_, some.size()), count - elements_of(dtype_, offset));
    if (bins_ != nullptr) bins_->count(some, of_some);
    if (casts_ != 0) count_casts(dtype_, some, of_some, cast_bounds_, casts_, words_);
    take_words(some, of_some, offset + some.size() == elements.size() ? next_ : nullptr);
  }
}

void Folder::take_words(std::span<const std::byte> elements, std::uint64_t count, const std::uint8_t* next) {
  if ((uncarried_ += count) >= kCarryElements) {
    carry(dtype_, words_);
    uncarried_ = count;
  }
  fold_(reinterpret_cast<const std::uint8_t*>(elements.data()), count, needs_, words_.data(), next);
}

// Call it before the elements are added to the count.
void Folder::take_fingerprints(std::span<const std::byte> elements) {
  const std::uint64_t first_byte = bytes_of(dtype_, static_cast<std::uint64_t>(words_[PARTIAL_COUNT]));
  const auto words = words_.subspan(first_fingerprint(dtype_), FINGERPRINT_WORDS);
  if ((needs_ & kCrc32) != 0) {
    const std::uint32_t remainder = ~crc32_of(~std::uint32_t{0}, elements);
    words[FINGERPRINT_WORD_CRC32] ^= crc_moved(remainder, crc_back, first_byte + elements.size());
  }
  if ((needs_ & kXor64) != 0) {
    words[FINGERPRINT_WORD_XOR64] ^= static_cast<std::int64_t>(xor_moved(xor64_of(elements), first_byte));
  }
}

}  // namespace tensorstat::host
