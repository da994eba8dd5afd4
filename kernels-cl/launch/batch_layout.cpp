#include "kernels-cl/launch/batch_layout.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <tuple>
#include <utility>

#include "stats/core/engine/accumulator_layout.hpp"
#include "stats/core/engine/quantile_codes.hpp"

namespace tensorstat::cl_engine {
namespace {

using u64 = std::uint64_t;
#include "kernels-cl/cl/slice.h"

constexpr std::size_t kSliceWords = sizeof(Slice) / kWordBytes;
static_assert(sizeof(Slice) == sizeof(PairSlice));

// pocl compiles a kernel anew for its first launch of 65,535 groups or more.
constexpr std::size_t kMostGroups = 65'534;
// The most workspace of a batch. The bins of a few slices reach it, so quantiles of many tensors take several batches.
constexpr std::uint64_t kMostWorkspaceBytes = std::uint64_t{128} << 20;

// An atomic count has 32 bits.
constexpr std::uint64_t kMostCount = std::numeric_limits<std::uint32_t>::max();

std::uint64_t bin_words(const Piece& piece) {
  const Dtype dtype = piece.kind.dtype;
  const std::uint64_t bytes =
      piece.writes_codes ? piece.count * code_bytes(dtype) : std::uint64_t{code_count(dtype)} * sizeof(std::uint32_t);
  return (bytes + kWordBytes - 1) / kWordBytes;
}

bool has_bins(const Piece& piece) { return (piece.kind.needs & kQuantiles) != 0; }

// Whether a piece is counted into the bins of another: lanes count with atomics, work-items do not.
bool shares_bins(bool in_groups, const Piece& piece, const Piece& with) {
  return in_groups && !piece.writes_codes && !with.writes_codes && piece.job == with.job &&
         piece.kind.dtype == with.kind.dtype && piece.sources[0].memory == with.sources[0].memory;
}

// Pieces with equal keys go into one launch.
auto launch_key(const Piece& piece) {
  return std::tuple(piece.kind, piece.sources[0].memory, piece.sources[1].memory, piece.cast_scale);
}

template <typename AnySlice>
void put_slice(std::int64_t* to, const AnySlice& slice) {
  std::memcpy(to, &slice, sizeof slice);
}

}  // namespace

std::uint64_t workspace_bytes(const Device& device, std::span<const Piece> pieces, const Piece& piece) {
  std::uint64_t words = kSliceWords + piece.kind.words();
  if ((piece.kind.needs & kScaledCasts) != 0) words += kCastBoundWords;
  const bool adds = !pieces.empty() && shares_bins(device.shape == Shape::kGroup, piece, pieces.back());
  if (has_bins(piece) && !adds) words += bin_words(piece);
  return words * kWordBytes;
}

std::size_t batch_length(const Device& device, std::span<const Piece> pieces, std::uint64_t room_bytes) {
  const std::size_t most = std::min(pieces.size(), kMostSlices);
  std::uint64_t bytes = 0;
  std::size_t taken = 0;
  for (; taken < most; ++taken) {
    bytes += workspace_bytes(device, pieces.first(taken), pieces[taken]);
    if (bytes > room_bytes || (bytes > kMostWorkspaceBytes && taken != 0)) break;
  }
  return taken;
}

BatchLayout::BatchLayout(const Device& device, std::vector<Piece> pieces)
    : in_groups_(device.shape == Shape::kGroup), pieces_(std::move(pieces)) {
  if (!std::ranges::is_sorted(pieces_, {}, launch_key)) std::ranges::stable_sort(pieces_, {}, launch_key);
  words_ = pieces_.size() * kSliceWords;
  add_bounds();
  partials_at_ = words_;
  named_.reserve(pieces_.size());
  targets_.reserve(pieces_.size());
  while (named_.size() != pieces_.size()) add_launch();
  bins_at_ = words_;
  for (Bins& each : bins_) each.words_at = std::exchange(words_, words_ + each.words_at);
}

void BatchLayout::add_bounds() {
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const Piece& piece = pieces_[i];
    if ((piece.kind.needs & kScaledCasts) == 0) continue;
    if (i != 0 && launch_key(piece) == launch_key(pieces_[i - 1])) continue;
    bounds_.push_back({i, words_, cast_bounds(piece.kind.dtype, piece.cast_scale)});
    words_ += kCastBoundWords;
  }
}

// The next pieces with one key.
void BatchLayout::add_launch() {
  const std::size_t first = named_.size();
  const auto key = launch_key(pieces_[first]);
  const KernelKind& kind = pieces_[first].kind;
  Named named;
  if ((kind.needs & kScaledCasts) != 0) {
    named.casts_at = std::ranges::prev(std::ranges::upper_bound(bounds_, first, {}, &Bounds::first_piece))->words_at;
  }
  Launch launch{first, first, first * kSliceWords, words_, kind.words(), 0};
  // Work-groups merge word by word. Indices and fingerprints of a slice begin with the slice, so such slices have a
  // partial each. So do pairs: their indices count from the tensors' beginning, but belong to a key.
  const bool shares_partials = in_groups_ && !kind.beside && (kind.needs & (kFingerprints | kIndices)) == 0;
  for (std::size_t& i = launch.end_piece;
       i < pieces_.size() && launch_key(pieces_[i]) == key && i - first < kMostGroups; ++i) {
    const Piece& piece = pieces_[i];
    const bool is_first = i == first;
    const bool adds_to_bins = has_bins(piece) && !is_first && shares_bins(in_groups_, piece, pieces_[i - 1]) &&
                              bins_.back().count + piece.count <= kMostCount;
    // Bins need a partial of the same elements, because its words tell Inf from NaN.
    const bool adds =
        !is_first && shares_partials && piece.job == pieces_[i - 1].job && has_bins(piece) == adds_to_bins;
    if (!adds) {
      targets_.push_back({piece.job, words_, words_ + kind.count_word(), 0, piece.first_element});
      words_ += launch.words;
    }
    targets_.back().count += piece.count;
    named.partial = (targets_.back().words_at - launch.partials_at) / launch.words;
    if (has_bins(piece)) {
      if (!adds_to_bins) {  // `words_at` is the number of words for now; the constructor turns it into the offset
        bins_.push_back({piece.job, bin_words(piece), kind.dtype, piece.writes_codes, 0, targets_.size() - 1, 0});
      }
      bins_.back().count += piece.count;
      bins_.back().end_target = targets_.size();
      named.bins = bins_.size() - 1;
      clears_bins_ |= in_groups_ && !piece.writes_codes;
    }
    named_.push_back(named);
  }
  launch.end_target = targets_.size();
  launches_.push_back(launch);
}

void BatchLayout::fill(std::int64_t* image, std::uint64_t address) const {
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const Piece& piece = pieces_[i];
    std::int64_t* const to = image + i * kSliceWords;
    if (piece.kind.beside) {
      put_slice(to, PairSlice{.first_a = piece.sources[0].first_byte,
                              .first_b = piece.sources[1].first_byte,
                              .count = piece.count,
                              .first_element = piece.first_element,
                              .partial = named_[i].partial});
    } else {
      const std::size_t bins_at = has_bins(piece) ? bins_[named_[i].bins].words_at : 0;
      put_slice(to, Slice{.first_byte = piece.sources[0].first_byte,
                          .count = piece.count,
                          .partial = named_[i].partial,
                          .bins = address + bins_at * kWordBytes + (piece.writes_codes ? 1 : 0),
                          .casts = address + named_[i].casts_at * kWordBytes});
    }
  }
  for (const Bounds& each : bounds_) std::memcpy(image + each.words_at, each.words.data(), sizeof each.words);
}

void BatchLayout::clear(std::int64_t* image) const {
  if (in_groups_) {
    std::fill(image + partials_at_, image + zeros_end(), 0);
  } else {
    for (const Target& target : targets_) image[target.count_at] = 0;
  }
}

}  // namespace tensorstat::cl_engine
