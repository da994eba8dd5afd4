// Folds with columns as lanes: a vector holds one line of a few columns of a matrix, and each lane accumulates its
// column. One for each instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tensorstat::host {

// Lines that are folded at a time: a GROUP of each column.
inline constexpr std::size_t kLaneLines = 128;
// The limit of lines between opening and closing, so that 32-bit sums and 16-bit counts do not overflow.
inline constexpr std::size_t kMostLaneLines = std::size_t{1} << 15;

// The prefetch position while lines are folded: the next lines in memory order, which is fastest. It may go past the
// end of the matrix.
struct Ahead {
  const std::uint8_t* address;
  std::int64_t line_bytes, gap_bytes;  // bytes of a line, and from the end of its last cache line to the next line
  std::int64_t left;                   // bytes left in this line
};

// Folds `lanes` columns side by side. A state is `state_bytes` of memory, aligned to 64. `words` has one partial's
// words for each lane. No need may be optional or beside (precision/partial.h). MXCSR as for a Fold.
struct LaneFold {
  std::uint32_t lanes;  // at most 64; 0: the dtype has no such fold
  std::uint32_t state_bytes;
  void (*open)(void* state, std::int64_t* const* words, int needs);
  // Folds kLaneLines lines, `stride` bytes apart, with one prefetch of `ahead` per line. Returns the lanes that were
  // not folded. If there are any, `block` holds a contiguous copy of all lanes, from which a Fold can take them.
  std::uint64_t (*take)(void* state, const std::uint8_t* bytes, std::uint64_t stride, Ahead* ahead,
                        std::uint8_t* block);
  // Adds the results to the words of the lanes in `wanted`. The words of other lanes are undefined afterwards.
  void (*close)(void* state, std::uint64_t wanted);
};

// Indexed by Dtype.
extern const LaneFold kLaneFoldsBaseline[];
extern const LaneFold kLaneFoldsAvx2[];
extern const LaneFold kLaneFoldsAvx512[];

}  // namespace tensorstat::host
