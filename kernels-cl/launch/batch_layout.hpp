// The layout of a batch's workspace: the slices, launch by launch, and the bounds of casts; then all partials, then all
// bins. So a batch has one upload, of what stands before the partials, and one read-back, of the rest.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels-cl/launch/piece.hpp"
#include "stats/core/engine/cast_bounds.hpp"
#include "stats/core/engine/partial_layout.hpp"

namespace tensorstat::cl_engine {

inline constexpr std::uint64_t kWordBytes = sizeof(std::int64_t);

// All offsets (`..._at`) are in words from the workspace's start.
class BatchLayout {
 public:
  struct Launch {
    std::size_t first_piece, end_piece;
    std::size_t slices_at, partials_at;
    std::size_t words;  // of a partial
    std::size_t end_target;
  };
  // A partial that the device writes.
  struct Target {
    std::size_t job, words_at, count_at;
    std::uint64_t count, first_element;

    // Whether its kernel has ended. `image` has the workspace's words; the device may still write to them.
    bool is_written(std::int64_t* image) const {
      const std::atomic_ref written(image[count_at]);
      return static_cast<std::uint64_t>(written.load(std::memory_order_acquire)) == count;
    }
  };
  // For quantiles: the device's counts for pieces of a job, or the codes of one piece.
  struct Bins {
    std::size_t job, words_at;
    Dtype dtype;
    bool holds_codes;
    std::uint64_t count;
    std::size_t first_target, end_target;  // the partials of the same elements
  };

  BatchLayout(const Device& device, std::vector<Piece> pieces);

  std::span<const Piece> pieces() const { return pieces_; }
  std::span<const Piece> pieces(const Launch& launch) const {
    return std::span(pieces_).subspan(launch.first_piece, launch.end_piece - launch.first_piece);
  }
  std::span<const Launch> launches() const { return launches_; }
  std::span<const Target> targets() const { return targets_; }
  std::span<const Bins> bins() const { return bins_; }
  Maxima maxima() const { return in_groups_ ? Maxima::kBiased : Maxima::kPlain; }  // in the targets of one tensor
  std::size_t partials_at() const { return partials_at_; }
  std::size_t bins_at() const { return bins_at_; }
  std::size_t words() const { return words_; }
  // The end of the words that must be 0 before the launches. They begin at partials_at(), and have the bins if lanes
  // count there.
  std::size_t zeros_end() const { return clears_bins_ ? words_ : bins_at_; }

  // Writes the slices and the bounds of casts. Slices name bounds and bins by their offsets from `address`. It is the
  // address at which kernels find these words, or 0 if kernels are given the workspace as an argument.
  void fill(std::int64_t* image, std::uint64_t address) const;
  // Writes the zeros that kernels of this shape need: work-groups add to all words, work-items overwrite them. If a
  // kernel is lost its count stays 0.
  void clear(std::int64_t* image) const;

 private:
  // What a slice refers to, beside its elements.
  struct Named {
    std::size_t partial = 0;  // its number in the launch
    std::size_t bins = 0;     // the index in bins_, if its kernel has any
    std::size_t casts_at = 0;
  };
  struct Bounds {  // of casts, for the pieces with one key
    std::size_t first_piece, words_at;
    CastBounds words;
  };

  void add_bounds();
  void add_launch();

  const bool in_groups_;
  std::vector<Piece> pieces_;
  std::vector<Named> named_;  // for each piece
  std::vector<Launch> launches_;
  std::vector<Target> targets_;
  std::vector<Bins> bins_;
  std::vector<Bounds> bounds_;
  std::size_t partials_at_ = 0, bins_at_ = 0, words_ = 0;
  bool clears_bins_ = false;
};

// Device bytes that a piece adds to its batch, after the pieces that are there.
std::uint64_t workspace_bytes(const Device& device, std::span<const Piece> pieces, const Piece& piece);

// The most slices in one batch, so that its workspace stays small beside the tensors.
inline constexpr std::size_t kMostSlices = 1 << 16;

// How many pieces, from the first on, go into one batch, if the workspace has room for so many bytes. 0: not even one.
std::size_t batch_length(const Device& device, std::span<const Piece> pieces, std::uint64_t room_bytes);

}  // namespace tensorstat::cl_engine
