// What exactness costs: the same statistics with plain binary64 sums, beside ours.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <thread>

#include "bench/contest.hpp"
#include "bench/data.hpp"
#include "host/pool.hpp"

// One text, compiled for each instruction set and chosen at load time.
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

// In lanes that the compiler can lay side by side; counts of a block fit in 32 bits.
TENSORSTAT_CLONES Plain plain_sums(const float* from, std::size_t count) {
  constexpr std::size_t kLanes = 16, kBlock = std::size_t{1} << 16;
  Plain result;
  for (std::size_t block = 0; block < count; block += kBlock) {
    const std::size_t end = std::min(count, block + kBlock);
    double sums[kLanes] = {}, squares[kLanes] = {};
    float maxima[kLanes], minima[kLanes];
    std::uint32_t negatives[kLanes] = {}, zeros[kLanes] = {}, nans[kLanes] = {},
                  infinities[kLanes] = {};
    std::fill_n(maxima, kLanes, result.max);
    std::fill_n(minima, kLanes, result.min);
    std::size_t at = block;
    for (; at + kLanes <= end; at += kLanes) {
      for (std::size_t i = 0; i < kLanes; ++i) {
        const float x = from[at + i];
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
      result.merge({sums[i], squares[i], maxima[i], minima[i], negatives[i], zeros[i], nans[i],
                    infinities[i]});
    }
    for (; at < end; ++at) {
      const float x = from[at];
      result.merge({x, static_cast<double>(x) * x, x, x, x < 0, x == 0, x != x, std::isinf(x)});
    }
  }
  return result;
}

constexpr std::size_t kShare = std::size_t{1}
                               << 18;  // elements that a thread takes at a time: 1 MiB

Work plain(const Tensor& tensor, unsigned threads) {
  return [tensor, pool = std::make_shared<host::Pool>(threads)] {
    const auto* from = static_cast<const float*>(tensor.address);
    Plain whole;
    std::mutex merging;
    pool->run((tensor.element_count + kShare - 1) / kShare, [&](std::size_t share) {
      const std::size_t first = share * kShare;
      const Plain part =
          plain_sums(from + first, std::min<std::size_t>(kShare, tensor.element_count - first));
      const std::lock_guard lock(merging);
      whole.merge(part);
    });
    benchmark::DoNotOptimize(whole);
  };
}

}  // namespace

void enter_exactness() {
  for (const std::uint64_t mib : {1, 64, 256}) {
    const std::uint64_t bytes = mib << 20;
    const std::string group = "exact/float32/" + bytes_name(bytes);
    const auto size = static_cast<double>(bytes);
    enter_limits(group, size, 1, [=] { return bytes_of(make(Dtype::kFloat32, bytes)); });
    for (const Lane& lane : kLanes) {
      enter_measure(
          group, lane, size, 1, [=] { return std::vector{make(Dtype::kFloat32, bytes)}; },
          value(categories_from(kTen)));
      if (lane.on == On::kDevice) continue;
      enter(group, std::string("plain:") + lane.name, size, 1,
            [=] { return Contestant{plain(make(Dtype::kFloat32, bytes), lane.threads)}; });
    }
  }
}

}  // namespace tensorstat::bench
