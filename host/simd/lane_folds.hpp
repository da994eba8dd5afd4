// Folds whose lanes are columns: of a few columns of a matrix, each vector holds a line, and each lane keeps what is
// found of its column. Once for every instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tensorstat::host {

// So many lines are taken at a time: a GROUP of each column.
inline constexpr std::size_t kLaneLines = 128;
// Between opening and closing, at most so many: sums in 32 bits and counts in 16 hold them.
inline constexpr std::size_t kMostLaneLines = std::size_t{1} << 15;

// What is asked for while lines are folded: the next ones, in the order in which they lie, which is how memory gives
// them fastest. They need not be there.
struct Ahead {
  const std::uint8_t* at;
  std::int64_t line_bytes, gap_bytes;  // of each line, and from the end of its last cache line up to the next line
  std::int64_t left;                   // of this line
};

// Of `lanes` columns side by side. A state is `state_bytes` of memory at a multiple of 64. `words` are one partial's
// for each lane; of its needs, none may be optional or beside (precision/partial.h). MXCSR is as a Fold wants it.
struct LaneFold {
  std::uint32_t lanes;  // at most 64; 0: the dtype has no such fold
  std::uint32_t state_bytes;
  void (*open)(void* state, std::int64_t* const* words, int needs);
  // kLaneLines lines, `stride` bytes apart; asks `ahead` as often. Of the lanes in the result nothing was taken, but
  // `block` holds a copy of all without gaps: a Fold takes them from there.
  std::uint64_t (*take)(void* state, const std::uint8_t* bytes, std::uint64_t stride, Ahead* ahead,
                        std::uint8_t* block);
  // Adds to the words of the lanes in `wanted` what was taken; the words of others may hold anything by then.
  void (*close)(void* state, std::uint64_t wanted);
};

// Indexed by Dtype.
extern const LaneFold kLaneFoldsBaseline[];
extern const LaneFold kLaneFoldsAvx2[];
extern const LaneFold kLaneFoldsAvx512[];

}  // namespace tensorstat::host
