#include "host/columns.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "host/float_environment.hpp"
#include "host/simd/folder.hpp"
#include "host/work_unit.hpp"
#include "stats/core/engine/accumulator_layout.hpp"

namespace tensorstat::host {
namespace {

// Lines that are transposed at a time. A multiple of the tile of `low`, and large enough to be worth the call of a
// fold.
constexpr std::uint64_t kTileLines = 1024;
// The width of columns that are transposed together: four cache lines of each line of the matrix.
constexpr std::uint64_t kBandBytes = 256;
// The width of a unit of work if lanes are columns. A unit keeps a partial for each column. Its kLaneLines lines and
// the prefetched next ones must stay in L2. Lines that are a power of two apart use only a part of L2. Twice the width
// took 1.2 times as long. Shorter lines are not cut: then memory is read in order.
constexpr std::uint64_t kPanelBytes = 1024, kWholeLineBytes = 2048;
// Each thread gets this many of these units, if there are enough lines.
constexpr std::uint64_t kUnitsAThread = 8;
// If the lanes could not take more than one column in kFewAlone, the next lines are transposed instead: first one tile,
// at last up to kMostTransposedLines.
constexpr std::uint64_t kFewAlone = 8;
constexpr std::uint64_t kMostTransposedLines = 8 * kTileLines;
// Lines that are copied to a strip before they are transposed. If the lines of a matrix are a power of two apart, the
// elements of a column would map to the same cache sets and evict each other.
constexpr std::uint64_t kStripLines = 64;

// Transposes a square of kSide lines and columns. The first and the second half of the lines are interleaved
// log2(kSide) times.
template <typename Bits, std::size_t... kFirst>
void transpose_square(const std::byte* from, std::byte* to, std::uint64_t to_stride, std::index_sequence<kFirst...>) {
  constexpr std::size_t kSide = 16 / sizeof(Bits), kHalf = kSide / 2;
  using Vector [[gnu::vector_size(16)]] = Bits;
  Vector lines[kSide], woven[kSide];
  for (std::size_t i = 0; i < kSide; ++i) std::memcpy(&lines[i], from + i * kBandBytes, sizeof lines[i]);
  for (std::size_t done = 1; done < kSide; done *= 2) {
    for (std::size_t i = 0; i < kHalf; ++i) {
      const Vector a = lines[i], b = lines[i + kHalf];
      woven[2 * i] = __builtin_shufflevector(a, b, (kFirst / 2 + kFirst % 2 * kSide)...);
      woven[2 * i + 1] = __builtin_shufflevector(a, b, (kHalf + kFirst / 2 + kFirst % 2 * kSide)...);
    }
    std::memcpy(lines, woven, sizeof lines);
  }
  for (std::size_t i = 0; i < kSide; ++i) std::memcpy(to + i * to_stride, &lines[i], sizeof lines[i]);
}

// Transposes columns [0, width) of `count` lines. Column i begins at element i * apart of `to`, which must have room
// for whole squares.
template <typename Bits>
void transpose(const std::byte* from, std::uint64_t stride, std::uint64_t count, std::uint64_t width, std::byte* to,
               std::uint64_t apart) {
  constexpr std::uint64_t kSide = 16 / sizeof(Bits);
  alignas(64) std::array<std::byte, kStripLines * kBandBytes> strip{};
  for (std::uint64_t top = 0; top < count; top += kStripLines) {
    const std::uint64_t lines = std::min(kStripLines, count - top);
    for (std::uint64_t i = 0; i < lines; ++i) {
      std::memcpy(strip.data() + i * kBandBytes, from + (top + i) * stride, width * sizeof(Bits));
    }
    for (std::uint64_t column = 0; column < width; column += kSide) {
      for (std::uint64_t line = 0; line < lines; line += kSide) {
        const std::byte* const square = strip.data() + line * kBandBytes + column * sizeof(Bits);
        std::byte* const turned = to + (column * apart + top + line) * sizeof(Bits);
        if constexpr (kSide == 1) {
          std::memcpy(turned, square, sizeof(Bits));
        } else {
          transpose_square<Bits>(square, turned, apart * sizeof(Bits), std::make_index_sequence<kSide>());
        }
      }
    }
  }
}

using Transpose = void (*)(const std::byte*, std::uint64_t, std::uint64_t, std::uint64_t, std::byte*, std::uint64_t);
Transpose transpose_of(std::uint32_t element_bytes) {
  switch (element_bytes) {
    case 1:
      return transpose<std::uint8_t>;
    case 2:
      return transpose<std::uint16_t>;
    case 4:
      return transpose<std::uint32_t>;
    case 8:
      return transpose<std::uint64_t>;
    default:
      return transpose<std::array<std::uint64_t, 2>>;
  }
}

// Transposes `count` lines tile by tile and folds each column with its folder.
void fold_transposed(Transpose transposed, const std::byte* source, std::uint64_t stride, std::uint64_t count,
                     std::uint32_t element_bytes, std::span<Folder> folders) {
  if (count == 0) return;
  const std::uint64_t band = std::min<std::uint64_t>(kBandBytes / element_bytes, folders.size());
  // Padding between columns: columns that all begin at a page boundary would share one cache set.
  const std::uint64_t apart = std::min(count, kTileLines) + 64 / element_bytes, side = 16 / element_bytes;
  const auto tile = std::make_unique_for_overwrite<std::byte[]>((band + side) * apart * element_bytes);
  for (std::uint64_t left = 0; left < folders.size(); left += band) {
    const std::uint64_t width = std::min<std::uint64_t>(band, folders.size() - left);
    for (std::uint64_t line = 0; line < count; line += kTileLines) {
      const std::uint64_t lines = std::min(kTileLines, count - line);
      transposed(source + line * stride + left * element_bytes, stride, lines, width, tile.get(), apart);
      for (std::uint64_t i = 0; i < width; ++i) {
        folders[left + i].take({tile.get() + i * apart * element_bytes, lines * element_bytes});
      }
    }
  }
}

// The unit of allocation for states of a LaneFold.
struct alignas(64) Aligned {
  std::byte bytes[64];
};

// Folds single columns of a block of kLaneLines lines and `lanes` columns: those with a bit in `named`.
void fold_alone(std::uint64_t named, const std::byte* block, std::size_t lanes, std::uint32_t element_bytes,
                std::span<Folder> folders) {
  std::array<std::byte, kLaneLines * sizeof(std::uint64_t)> column;
  for (; named != 0; named &= named - 1) {
    const auto lane = static_cast<std::size_t>(std::countr_zero(named));
    for (std::size_t line = 0; line < kLaneLines; ++line) {
      std::memcpy(&column[line * element_bytes], block + (line * lanes + lane) * element_bytes, element_bytes);
    }
    folders[lane].take(std::span(column).first(kLaneLines * element_bytes));
  }
}

// Folds `count` lines, a multiple of kLaneLines, with at least as many columns as lanes. All blocks of columns are
// folded before the next lines, so that each line is read contiguously.
void fold_in_lanes(const LaneFold& fold, Transpose transposed, const std::byte* source, std::uint64_t stride,
                   std::uint64_t count, std::uint32_t element_bytes, std::span<Folder> folders,
                   std::span<std::int64_t> words, Needs needs, std::atomic<std::uint64_t>& hard) {
  struct Block {
    std::size_t first;
    std::uint64_t wanted;
    void* state;
  };
  std::vector<Block> blocks;
  const std::size_t word_count = words.size() / folders.size();
  const std::size_t state_size = (fold.state_bytes + sizeof(Aligned) - 1) / sizeof(Aligned);
  std::vector<Aligned> states((folders.size() + fold.lanes - 1) / fold.lanes * state_size);
  std::vector<std::int64_t> dropped(word_count);
  std::array<std::int64_t*, 64> of_lanes;
  for (std::size_t column = 0; column < folders.size(); column += fold.lanes) {
    // The last block overlaps the one before. Its results for the overlap are dropped.
    const std::size_t first = std::min(column, folders.size() - fold.lanes), had = column - first;
    const std::uint64_t wanted = ~std::uint64_t{0} >> (64 - fold.lanes) >> had << had;
    blocks.push_back({first, wanted, &states[blocks.size() * state_size]});
    for (std::size_t lane = 0; lane < fold.lanes; ++lane) {
      of_lanes[lane] = lane < had ? dropped.data() : &words[(first + lane) * word_count];
    }
    fold.open(blocks.back().state, of_lanes.data(), static_cast<int>(needs));
  }
  const auto bytes = [](const std::byte* from) { return reinterpret_cast<const std::uint8_t*>(from); };
  alignas(64) std::array<std::uint8_t, kLaneLines * 64> copy;
  const auto line_bytes = static_cast<std::int64_t>(folders.size() * element_bytes);
  const std::int64_t gap_bytes = static_cast<std::int64_t>(stride) - (line_bytes + 63) / 64 * 64;
  // If other units had to transpose, this one probably has to, too: it starts with that.
  std::uint64_t line = std::min(hard.load(), count), run = kTileLines;
  hard = line / 2 / kLaneLines * kLaneLines;
  fold_transposed(transposed, source, stride, line, element_bytes, folders);
  source += line * stride;
  while (line < count) {
    const std::byte* const below = source + kLaneLines * stride;
    Ahead ahead{.address = bytes(below), .line_bytes = line_bytes, .gap_bytes = gap_bytes, .left = line_bytes};
    std::size_t alone = 0;
    for (const Block& block : blocks) {
      const std::uint64_t left_out = block.wanted & fold.take(block.state, bytes(source + block.first * element_bytes),
                                                              stride, &ahead, copy.data());
      alone += static_cast<std::size_t>(std::popcount(left_out));
      fold_alone(left_out, std::as_bytes(std::span(copy)).data(), fold.lanes, element_bytes,
                 folders.subspan(block.first));
    }
    line += kLaneLines;
    source = below;
    if (alone <= folders.size() / kFewAlone) {
      run = kTileLines;
      continue;
    }
    const std::uint64_t others = std::min(run, count - line);
    fold_transposed(transposed, source, stride, others, element_bytes, folders);
    line += others;
    source += others * stride;
    run = std::min(2 * run, kMostTransposedLines);
    hard = run;
  }
  for (const Block& block : blocks) fold.close(block.state, block.wanted);
}

}  // namespace

void fold_columns(const std::byte* matrix, std::uint64_t lines, std::span<Partial> columns, ThreadPool& pool) {
  if (columns.empty() || lines == 0) return;
  const Partial& first = columns.front();
  const Dtype dtype = first.dtype();
  const std::uint32_t element_bytes = size_bytes(dtype);
  const std::uint64_t stride = columns.size() * element_bytes;
  const LaneFold* lanes = lane_fold(dtype, first.precision(), first.needs());
  if (lanes != nullptr && (lines < kLaneLines || columns.size() < lanes->lanes)) lanes = nullptr;
  // A unit of work is `piece` lines of a panel of columns.
  const std::uint64_t panel_bytes = lanes == nullptr ? kBandBytes : stride <= kWholeLineBytes ? stride : kPanelBytes;
  const std::uint64_t panel = std::min<std::uint64_t>(panel_bytes / element_bytes, columns.size());
  const std::uint64_t panels = (columns.size() + panel - 1) / panel;
  std::uint64_t piece = std::max(kUnitBytes / (panel * element_bytes) / kTileLines, std::uint64_t{1}) * kTileLines;
  if (lanes != nullptr) {
    const std::uint64_t units = std::max<std::uint64_t>(kUnitsAThread * pool.threads() / panels, 1);
    piece = std::max(piece, (lines / units + kTileLines - 1) / kTileLines * kTileLines);
    piece = std::min(piece, std::uint64_t{kMostLaneLines});
  }
  const std::uint64_t pieces = (lines + piece - 1) / piece;
  const Transpose transposed = transpose_of(element_bytes);
  const std::size_t word_count = first.words().size();
  std::vector<std::uint64_t> counts;
  for (const Partial& column : columns) counts.push_back(column.count());

  std::atomic<std::uint64_t> hard = 0;  // lines to transpose before lanes are tried
  std::vector<std::mutex> merging(panels);
  const auto work = [&](std::size_t unit) {
    const FloatEnvironment ieee;
    const std::uint64_t number = unit / pieces, left = number * panel, top = unit % pieces * piece;
    const std::uint64_t width = std::min(panel, columns.size() - left), count = std::min(lines - top, piece);
    std::vector<std::int64_t> words(width * word_count);
    std::vector<Folder> folders;
    folders.reserve(width);
    for (std::uint64_t i = 0; i < width; ++i) {
      const auto of_column = std::span(words).subspan(i * word_count, word_count);
      folders.emplace_back(dtype, first.precision(), first.needs(), of_column, nullptr, first.cast_scale());
    }
    const std::byte* const source = matrix + top * stride + left * element_bytes;
    std::uint64_t in_lanes = 0;
    if (lanes != nullptr && width >= lanes->lanes) {
      in_lanes = count / kLaneLines * kLaneLines;
      fold_in_lanes(*lanes, transposed, source, stride, in_lanes, element_bytes, folders, words, first.needs(), hard);
    }
    fold_transposed(transposed, source + in_lanes * stride, stride, count - in_lanes, element_bytes, folders);
    const std::lock_guard lock(merging[number]);
    for (std::uint64_t i = 0; i < width; ++i) {
      merge(dtype, columns[left + i].words(), folders[i].words(), counts[left + i] + top);
    }
  };
  const std::uint64_t units = panels * pieces;
  if (lines * stride > kAloneBytes) return pool.run(units, work);
  for (std::size_t unit = 0; unit < units; ++unit) work(unit);
}

}  // namespace tensorstat::host
