// The cost of exactness: the same statistics with plain binary64 sums, compared with tensorstat.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <thread>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "bench/contest.hpp"
#include "bench/data.hpp"
#include "host/simd/cpu.hpp"
#include "host/thread_pool.hpp"

// Compiled for each instruction set; the loader chooses one.
#if defined(__x86_64__)
#define TENSORSTAT_CLONES [[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]]
#else
#define TENSORSTAT_CLONES
#endif

namespace tensorstat::bench {
namespace {

struct Plain {
  double sum = 0, squares = 0;
  float max = -std::numeric_limits<float>::infinity(), min = std::numeric_limits<float>::infinity();
  std::uint64_t negatives = 0, zeros = 0, nans = 0, infinities = 0;

  void merge(const Plain& other) {
    sum += other.sum;
    squares += other.squares;
    max = std::max(max, other.max);
    min = std::min(min, other.min);
    negatives += other.negatives;
    zeros += other.zeros;
    nans += other.nans;
    infinities += other.infinities;
  }
};

// Separate lanes, so that the compiler can vectorise. A block's counts fit in 32 bits.
TENSORSTAT_CLONES Plain plain_sums(const float* from, std::size_t count) {
  constexpr std::size_t kLanes = 16, kBlock = std::size_t{1} << 16;
  Plain result;
  for (std::size_t block = 0; block < count; block += kBlock) {
    const std::size_t end = std::min(count, block + kBlock);
    double sums[kLanes] = {}, squares[kLanes] = {};
    float maxima[kLanes], minima[kLanes];
    std::uint32_t negatives[kLanes] = {}, zeros[kLanes] = {}, nans[kLanes] = {}, infinities[kLanes] = {};
    std::fill_n(maxima, kLanes, result.max);
    std::fill_n(minima, kLanes, result.min);
    std::size_t index = block;
    for (; index + kLanes <= end; index += kLanes) {
      for (std::size_t i = 0; i < kLanes; ++i) {
        const float x = from[index + i];
        const double wide = x;
        sums[i] += wide;
        squares[i] += wide * wide;
        maxima[i] = x > maxima[i] ? x : maxima[i];
        minima[i] = x < minima[i] ? x : minima[i];
        negatives[i] += x < 0;
        zeros[i] += x == 0;
        nans[i] += x != x;
        infinities[i] += std::fabs(x) == std::numeric_limits<float>::infinity();
      }
    }
    for (std::size_t i = 0; i < kLanes; ++i) {
      result.merge({sums[i], squares[i], maxima[i], minima[i], negatives[i], zeros[i], nans[i], infinities[i]});
    }
    for (; index < end; ++index) {
      const float x = from[index];
      result.merge({x, static_cast<double>(x) * x, x, x, x < 0, x == 0, x != x, std::isinf(x)});
    }
  }
  return result;
}

// Half types are converted to float32 one block at a time, within the L1 cache.
TENSORSTAT_CLONES void widen_bfloat16(const std::uint16_t* from, std::size_t count, float* to) {
  for (std::size_t i = 0; i < count; ++i) to[i] = std::bit_cast<float>(std::uint32_t{from[i]} << 16);
}

#if defined(__x86_64__)
[[gnu::target("f16c")]] void widen_float16(const std::uint16_t* from, std::size_t count, float* to) {
  for (std::size_t i = 0; i < count; i += 8) {
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
  }
}
#endif

constexpr std::size_t kBlock = 2048;                  // elements converted together
constexpr std::size_t kShare = std::size_t{1} << 18;  // elements that a thread takes at a time

Plain plain_share(const Tensor& tensor, std::size_t first, std::size_t count) {
  if (tensor.dtype == Dtype::kFloat32) return plain_sums(static_cast<const float*>(tensor.address) + first, count);
  Plain whole;
  std::array<float, kBlock> block;
  const auto* from = static_cast<const std::uint16_t*>(tensor.address) + first;
  for (std::size_t offset = 0; offset < count; offset += kBlock) {
    const std::size_t taken = std::min(kBlock, count - offset);
#if defined(__x86_64__)
    if (tensor.dtype == Dtype::kFloat16) {
      widen_float16(from + offset, taken, block.data());
    } else
#endif
    {
      widen_bfloat16(from + offset, taken, block.data());
    }
    whole.merge(plain_sums(block.data(), taken));
  }
  return whole;
}

Work plain(const Tensor& tensor, unsigned threads) {
  return [tensor, pool = std::make_shared<host::ThreadPool>(threads)] {
    Plain whole;
    std::mutex merging;
    pool->run((tensor.element_count + kShare - 1) / kShare, [&](std::size_t share) {
      const std::size_t first = share * kShare;
      const Plain part = plain_share(tensor, first, std::min<std::size_t>(kShare, tensor.element_count - first));
      const std::lock_guard lock(merging);
      whole.merge(part);
    });
    benchmark::DoNotOptimize(whole);
  };
}

bool can_be_plain(Dtype dtype) { return dtype != Dtype::kFloat16 || best_isa() >= Isa::kAvx2; }

}  // namespace

void enter_exactness() {
  for (const Dtype dtype : {Dtype::kFloat32, Dtype::kFloat16, Dtype::kBfloat16}) {
    for (const std::uint64_t kib : {256, 1 << 10, 64 << 10, 256 << 10}) {  // the smallest fits in a core's cache
      const std::uint64_t bytes = kib << 10;
      const std::string group = "exact/" + std::string(name(dtype)) + "/" + bytes_name(bytes);
      const auto size = static_cast<double>(bytes);
      enter_limits(group, size, 1, [=] { return bytes_of(make(dtype, bytes)); });
      for (const Lane& lane : kLanes) {
        enter_measure(
            group, lane, size, 1, [=] { return std::vector{make(dtype, bytes)}; }, value(categories_from(kTen)));
        if (lane.on == On::kDevice || !can_be_plain(dtype)) continue;
        enter(group, std::string("plain:") + lane.name, size, 1,
              [=] { return Contestant{plain(make(dtype, bytes), lane.threads)}; });
      }
    }
  }
}

}  // namespace tensorstat::bench
