#include "host/columns.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
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
// Lines of which so much is copied before it is transposed: where the lines of a matrix are a power of two apart, what
// stands below each other would not stay in the cache.
constexpr std::uint64_t kStripLines = 64;

// As many lines as a vector has elements, of so many elements: the first of two halves of the lines and the second are
// woven into each other as often as it takes.
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

// Columns [0, width) of `count` lines; in `to` the elements of each lie `apart` elements behind the last one's. Room is
// taken for whole squares.
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
        transpose_square<Bits>(strip.data() + line * kBandBytes + column * sizeof(Bits),
                               to + (column * apart + top + line) * sizeof(Bits), apart * sizeof(Bits),
                               std::make_index_sequence<kSide>());
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
  const std::uint64_t apart = std::min(lines, kTileLines) + 64 / element_bytes, side = 16 / element_bytes;
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
      folders.emplace_back(dtype, first.precision(), first.needs(), std::span(words).subspan(i * word_count, word_count),
                           nullptr, first.cast_scale());
    }
    const auto tile = std::make_unique_for_overwrite<std::byte[]>((width + side) * apart * element_bytes);
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
