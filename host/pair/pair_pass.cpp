#include "host/pair/pair_pass.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <mutex>
#include <vector>

#include "host/float_environment.hpp"
#include "host/pair/pair_folds.hpp"
#include "host/pair/same_elements.hpp"
#include "host/simd/cpu.hpp"
#include "host/strided.hpp"
#include "host/work_unit.hpp"
#include "stats/core/engine/pair_layout.hpp"

namespace tensorstat::host {
namespace {

using PairWords = std::array<std::int64_t, kMostPairWords>;

// `count` elements of a job's pair. `merging`: null if no other unit has elements of it.
struct PairUnit {
  std::size_t job;
  std::uint64_t first, count;
  std::mutex* merging;
};

std::uint64_t element_bytes(const TensorPair& pair) { return size_bytes(pair.a.dtype) + size_bytes(pair.b.dtype); }

// The elements [first, first + count) of a tensor: in place, or gathered into the buffer.
template <std::size_t kBytes>
const std::uint8_t* elements_of(const Tensor& tensor, std::uint64_t first, std::uint64_t count,
                                std::array<std::byte, kBytes>& buffer) {
  if (tensor.strides != nullptr) {
    gather(tensor, first, std::span(buffer).first(count * size_bytes(tensor.dtype)));
    return reinterpret_cast<const std::uint8_t*>(buffer.data());
  }
  return reinterpret_cast<const std::uint8_t*>(tensor.data()) + first * size_bytes(tensor.dtype);
}

void fold_unit(const PairJob& job, const PairUnit& unit, std::span<std::int64_t> words) {
  static const PairFold fold = pair_fold();
  const TensorPair& pair = job.tensors;
  clear(pair_layout(pair.a.dtype, pair.b.dtype), words);
  alignas(64) std::array<std::byte, kGatherBytes> buffer_a, buffer_b;
  const bool strided = pair.a.strides != nullptr || pair.b.strides != nullptr;
  const std::uint64_t most = strided ? kGatherBytes / sizeof(std::uint64_t) : unit.count;
  SameElements same(pair.a.dtype, pair.b.dtype);
  for (std::uint64_t done = 0; done < unit.count;) {
    const std::uint64_t first = unit.first + done, count = std::min(most, unit.count - done);
    const auto *a = elements_of(pair.a, first, count, buffer_a), *b = elements_of(pair.b, first, count, buffer_b);
    const auto fold_range = [&](std::uint64_t from, std::uint64_t to) {
      if (from == to) return;
      const PairElements range{a + from * size_bytes(pair.a.dtype), b + from * size_bytes(pair.b.dtype), to - from,
                               job.first_index + first + from};
      fold(pair.a.dtype, pair.b.dtype, job.partial->tolerance(), range, words.data());
    };
    std::uint64_t folded = 0;
    for (std::uint64_t position = 0; position < count;) {
      const std::uint64_t taken =
          same.take(a + position * size_bytes(pair.a.dtype), b + position * size_bytes(pair.b.dtype), count - position);
      if (taken == 0) {
        position += std::min(same.piece(), count - position);
      } else {
        fold_range(folded, position);
        folded = position += taken;
      }
    }
    fold_range(folded, count);
    done += count;
  }
  same.add_to(words);
}

}  // namespace

PairFold pair_fold() {
  switch (best_isa()) {
#ifdef TENSORSTAT_AVX512
    case Isa::kAvx512:
      return fold_pair_avx512;
#endif
#ifdef TENSORSTAT_AVX2
    case Isa::kAvx2:
      return fold_pair_avx2;
#endif
    default:
      return fold_pair_baseline;
  }
}

void pair_pass(std::span<const PairJob> jobs, ThreadPool& pool) {
  std::vector<PairUnit> units;
  std::deque<std::mutex> merging;  // for each pair of several units
  std::uint64_t total_bytes = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const TensorPair& pair = jobs[i].tensors;
    const std::uint64_t count = pair.a.element_count, piece = kUnitBytes / element_bytes(pair);
    std::mutex* const shared = count > piece ? &merging.emplace_back() : nullptr;
    for (std::uint64_t first = 0; first < count; first += piece) {
      units.push_back({i, first, std::min(piece, count - first), shared});
    }
    total_bytes += kTensorBytes + count * element_bytes(pair);
  }
  const auto work = [&](std::size_t i) {
    const FloatEnvironment ieee;
    const PairUnit& unit = units[i];
    PairPartial& partial = *jobs[unit.job].partial;
    PairWords room;
    const std::span words = std::span(room).first(partial.words().size());
    fold_unit(jobs[unit.job], unit, words);
    std::unique_lock<std::mutex> lock;
    if (unit.merging != nullptr) lock = std::unique_lock(*unit.merging);
    merge(pair_layout(partial.dtype_a(), partial.dtype_b()), partial.words(), words);
  };
  if (total_bytes > kAloneBytes) return pool.run(units.size(), work);
  for (std::size_t i = 0; i < units.size(); ++i) work(i);
}

}  // namespace tensorstat::host
