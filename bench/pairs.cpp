// Comparison of two tensors of one shape in one pass, beside reading both and beside NumPy.
#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <tuple>

#include "bench/contest.hpp"
#include "bench/data.hpp"
#include "bench/peers/peer.hpp"

namespace tensorstat::bench {
namespace {

// a, followed by b, which is a with other low bits or, if `same`, a itself: one span covers both. As in make(), the
// elements repeat.
TensorPair make_pair(Dtype dtype, std::uint64_t bytes, bool same) {
  static std::map<std::tuple<Dtype, std::uint64_t, bool>, std::vector<std::uint64_t>> made;
  auto& words = made[{dtype, bytes, same}];
  if (words.empty()) {
    words.resize(2 * bytes / sizeof(std::uint64_t));
    auto* const a = reinterpret_cast<unsigned char*>(words.data());
    std::memcpy(a, bytes_of(make(dtype, bytes)).data(), bytes);
    std::memcpy(a + bytes, a, bytes);
    const std::uint64_t size = size_bytes(dtype);
    for (std::uint64_t i = 0; i < bytes / size && !same; ++i) a[bytes + i * size] ^= (i * 2654435761u >> 20) % 8;
  }
  const auto* const a = reinterpret_cast<const std::byte*>(words.data());
  const std::uint64_t count = bytes / size_bytes(dtype);
  return {{.dtype = dtype, .element_count = count, .address = a},
          {.dtype = dtype, .element_count = count, .address = a + bytes}};
}

std::span<const std::byte> both(const TensorPair& pair) {
  return {static_cast<const std::byte*>(pair.a.address), 2 * pair.a.bytes()};
}

}  // namespace

void enter_pairs() {
  for (const Dtype dtype : {Dtype::kFloat32, Dtype::kFloat16, Dtype::kBfloat16, Dtype::kFloat64, Dtype::kInt32}) {
    for (const auto& kind : {std::pair{1, false}, {64, false}, {64, true}, {256, false}}) {
      const std::uint64_t bytes = static_cast<std::uint64_t>(kind.first) << 20;
      const bool same = kind.second;
      const std::string group = (same ? "pair-same/" : "pair/") + std::string(name(dtype)) + "/" + bytes_name(bytes);
      const auto size = static_cast<double>(2 * bytes);
      enter_limits(group, size, 2, [=] { return both(make_pair(dtype, bytes, same)); });
      for (const Lane& lane : kLanes) {
        enter(group, std::string("tensorstat:") + lane.name, size, 2, [=, &lane] {
          return Contestant{[pair = make_pair(dtype, bytes, same), &meter = meter(lane), on = lane.on] {
            benchmark::DoNotOptimize(value(meter.compare({&pair, 1}, {{1e-3, 1e-5}, 0, on})));
          }};
        });
      }
      enter_numpy_pair(group, dtype, size, [=] { return both(make_pair(dtype, bytes, same)); });
    }
  }
}

}  // namespace tensorstat::bench
