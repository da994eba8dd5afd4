#include "host/columns.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "host/float_environment.hpp"
#include "host/simd/folder.hpp"
#include "host/work_unit.hpp"

namespace tensorstat::host {
namespace {

// So many lines are transposed at a time: a whole number of tiles of `low`, and enough that a fold is worth its call.
constexpr std::uint64_t kTileLines = 1024;
// Columns that are read together: four cache lines of each line of the matrix.
constexpr std::uint64_t kBandBytes = 256;
// Lines of a tile whose columns each fill a cache line or more.
constexpr std::uint64_t kStripLines = 64;

// Columns [0, width) of `lines` lines; of each, the elements lie `apart` elements behind the last one's.
template <typename Bits>
void transpose(const std::byte* from, std::uint64_t stride, std::uint64_t lines, std::uint64_t width, std::byte* to,
               std::uint64_t apart) {
  for (std::uint64_t line = 0; line < lines; line += kStripLines) {
    const std::uint64_t count = std::min(kStripLines, lines - line);
    for (std::uint64_t column = 0; column < width; ++column) {
      const std::byte* source = from + line * stride + column * sizeof(Bits);
      std::byte* target = to + (column * apart + line) * sizeof(Bits);
      for (std::uint64_t i = 0; i < count; ++i, source += stride) {
        std::memcpy(target + i * sizeof(Bits), source, sizeof(Bits));
      }
    }
  }
}

using Transpose = void (*)(const std::byte*, std::uint64_t, std::uint64_t, std::uint64_t, std::byte*, std::uint64_t);
Transpose transpose_of(std::uint32_t element_bytes) {
  switch (element_bytes) {
    case 1: return transpose<std::uint8_t>;
    case 2: return transpose<std::uint16_t>;
    case 4: return transpose<std::uint32_t>;
    default: return transpose<std::uint64_t>;
  }
}

}  // namespace

void fold_columns(const std::byte* matrix, std::uint64_t lines, std::span<Partial> columns, ThreadPool& pool) {
  if (columns.empty() || lines == 0) return;
  const Partial& first = columns.front();
  const Dtype dtype = first.dtype();
  const std::uint32_t element_bytes = size_bytes(dtype);
  const std::uint64_t stride = columns.size() * element_bytes;
  const std::uint64_t band = std::min<std::uint64_t>(kBandBytes / element_bytes, columns.size());
  const std::uint64_t bands = (columns.size() + band - 1) / band;
  // A unit of work is a band of so many lines.
  const std::uint64_t wanted_lines = kUnitBytes / (band * element_bytes);
  const std::uint64_t piece = std::max(wanted_lines / kTileLines, std::uint64_t{1}) * kTileLines;
  const std::uint64_t pieces = (lines + piece - 1) / piece;
  // Columns that begin where a page does would all meet in one set of the cache.
  const std::uint64_t apart = std::min(lines, kTileLines) + 64 / element_bytes;
  const Transpose transposed = transpose_of(element_bytes);
  const std::size_t word_count = first.words().size();
  std::vector<std::uint64_t> held;
  for (const Partial& column : columns) held.push_back(column.count());

  std::mutex merging;
  const auto work = [&](std::size_t unit) {
    const FloatEnvironment ieee;
    const std::uint64_t left = unit / pieces * band, top = unit % pieces * piece;
    const std::uint64_t width = std::min(band, columns.size() - left), end = std::min(lines, top + piece);
    std::vector<std::int64_t> words(width * word_count);
    std::vector<Folder> folders;
    folders.reserve(width);
    for (std::uint64_t i = 0; i < width; ++i) {
      folders.emplace_back(dtype, first.precision(), first.needs(), std::span(words).subspan(i * word_count, word_count));
    }
    const auto tile = std::make_unique_for_overwrite<std::byte[]>(width * apart * element_bytes);
    for (std::uint64_t line = top; line < end; line += kTileLines) {
      const std::uint64_t count = std::min(kTileLines, end - line);
      transposed(matrix + line * stride + left * element_bytes, stride, count, width, tile.get(), apart);
      for (std::uint64_t i = 0; i < width; ++i) {
        folders[i].take({tile.get() + i * apart * element_bytes, count * element_bytes});
      }
    }
    const std::lock_guard lock(merging);
    for (std::uint64_t i = 0; i < width; ++i) {
      merge(dtype, columns[left + i].words(), folders[i].words(), held[left + i] + top);
    }
  };
  const std::uint64_t units = bands * pieces;
  if (lines * stride > kAloneBytes) return pool.run(units, work);
  for (std::size_t unit = 0; unit < units; ++unit) work(unit);
}

}  // namespace tensorstat::host
