// Elements that have the same bytes in both tensors, as nearly all have in two copies of a checkpoint. Their distances
// are 0, and their three sums of products are one sum of squares. So one tensor is folded, by its own fold.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "host/simd/folder.hpp"

namespace tensorstat::host {

class SameElements {
 public:
  SameElements(Dtype a, Dtype b) : dtype_(a), may_be_(a == b && !unpacks(a)) {}

  // As many elements are compared at a time.
  std::uint64_t piece() const { return kPieceBytes / size_bytes(dtype_); }

  // Takes the first elements that have the same bytes, in whole pieces. Returns how many; at most as fit a core's
  // nearest caches.
  std::uint64_t take(const std::uint8_t* a, const std::uint8_t* b, std::uint64_t count);

  // Adds what was taken to the words of the pair.
  void add_to(std::span<std::int64_t> words) const;

 private:
  static constexpr std::size_t kPieceBytes = 4096, kMostBytes = 16 * kPieceBytes;
  static constexpr Needs kNeeds = kExtrema | kSquares | kFinite;

  Dtype dtype_;
  bool may_be_;
  std::optional<Folder> folder_;
  std::array<std::int64_t, layout(Dtype::kFloat64).words(kNeeds)> words_;  // float64 has the most
};

}  // namespace tensorstat::host
