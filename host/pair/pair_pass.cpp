#include "host/pair/pair_pass.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <vector>

#include "host/float_environment.hpp"
#include "host/pair/pair_folds.hpp"
#include "host/simd/cpu.hpp"
#include "host/strided.hpp"
#include "host/work_unit.hpp"
#include "stats/engine/pair_layout.hpp"

namespace tensorstat::host {
namespace {

using Words = std::array<std::int64_t, kMostPairWords>;

// `count` elements of a pair.
struct Unit {
  std::size_t pair;
  std::uint64_t first, count;
};

std::uint64_t element_bytes(const TensorPair& pair) { return size_bytes(pair.a.dtype) + size_bytes(pair.b.dtype); }

// The elements [first, first + count) of a tensor: in place, or gathered into the window.
template <std::size_t kBytes>
const std::uint8_t* elements_of(const Tensor& tensor, std::uint64_t first, std::uint64_t count,
                                std::array<std::byte, kBytes>& window) {
  if (tensor.strides != nullptr) {
    gather(tensor, first, std::span(window).first(count * size_bytes(tensor.dtype)));
    return reinterpret_cast<const std::uint8_t*>(window.data());
  }
  return reinterpret_cast<const std::uint8_t*>(tensor.data()) + first * size_bytes(tensor.dtype);
}

void fold_unit(const TensorPair& pair, const Unit& unit, std::uint64_t first_index, const PairTolerance& tolerance,
               std::span<std::int64_t> words) {
  static const PairFold fold = pair_fold();
  clear_pair(words);
  alignas(64) std::array<std::byte, kGatherBytes> window_a, window_b;
  const bool strided = pair.a.strides != nullptr || pair.b.strides != nullptr;
  const std::uint64_t most = strided ? kGatherBytes / sizeof(std::uint64_t) : unit.count;
  for (std::uint64_t done = 0; done < unit.count;) {
    const std::uint64_t first = unit.first + done, count = std::min(most, unit.count - done);
    const auto *a = elements_of(pair.a, first, count, window_a), *b = elements_of(pair.b, first, count, window_b);
    fold(pair.a.dtype, pair.b.dtype, tolerance, {a, b, count, first_index + first}, words.data());
    done += count;
  }
}

}  // namespace

PairFold pair_fold() {
  switch (best_isa()) {
#if defined(__x86_64__)
    case Isa::kAvx512:
      return fold_pair_avx512;
    case Isa::kAvx2:
      return fold_pair_avx2;
#endif
    default:
      return fold_pair_baseline;
  }
}

void pair_pass(std::span<const TensorPair> pairs, std::uint64_t first_index, std::span<PairPartial> partials,
               ThreadPool& pool) {
  std::vector<Unit> units;
  std::uint64_t total_bytes = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const std::uint64_t count = pairs[i].a.element_count, piece = kUnitBytes / element_bytes(pairs[i]);
    for (std::uint64_t first = 0; first < count; first += piece) {
      units.push_back({i, first, std::min(piece, count - first)});
    }
    total_bytes += kTensorBytes + count * element_bytes(pairs[i]);
  }
  std::mutex merging;
  const auto work = [&](std::size_t i) {
    const FloatEnvironment ieee;
    const Unit& unit = units[i];
    PairPartial& partial = partials[unit.pair];
    Words room;
    const std::span words = std::span(room).first(partial.words().size());
    fold_unit(pairs[unit.pair], unit, first_index, partial.tolerance(), words);
    const std::lock_guard lock(merging);
    merge_pair(partial.dtype_a(), partial.dtype_b(), partial.words(), words);
  };
  if (total_bytes > kAloneBytes) return pool.run(units.size(), work);
  for (std::size_t i = 0; i < units.size(); ++i) work(i);
}

}  // namespace tensorstat::host
