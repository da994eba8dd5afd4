#include <algorithm>
#include <cstdio>
#include <random>
#include <stdexcept>

#include "bench/data.hpp"
#include "bench/device/fold.hpp"
#include "bench/device/measure.hpp"
#include "stats/core/engine/engine.hpp"

namespace tensorstat::bench {
namespace {

constexpr std::uint64_t kCounts[] = {0, 1, 2, 7, 63, 255, 1'025, 4'096, 70'001, 600'011};
constexpr std::uint64_t kBeginnings[] = {0, 1, 3};  // in bytes after a multiple of 16
constexpr Kind kFloatKinds[] = {Kind::kNormal, Kind::kLogUniform, Kind::kSubnormal, Kind::kNanLaden, Kind::kMaxima};

// Tensors in one buffer, and their extents.
struct Arena {
  std::vector<std::byte> bytes;
  std::vector<Extent> extents;

  void add(Dtype dtype, std::uint64_t beginning, std::span<const std::byte> elements) {
    const std::uint64_t offset = (bytes.size() + 15) / 16 * 16 + beginning * size_bytes(dtype);
    bytes.resize(offset + elements.size());
    std::ranges::copy(elements, bytes.begin() + static_cast<std::ptrdiff_t>(offset));
    extents.push_back({offset, elements_of(dtype, elements.size())});
  }
};

Arena hard_tensors(const Plan& plan, Dtype dtype, std::mt19937_64& random) {
  Arena arena;
  arena.bytes.resize(16);
  for (const std::uint64_t count : std::span(kCounts).first(std::size(kCounts) - (plan.every_shape ? 0 : 1))) {
    const std::uint64_t bytes = count * size_bytes(dtype);
    const std::uint64_t beginning = kBeginnings[random() % std::size(kBeginnings)];
    std::vector<std::byte> any(bytes);
    for (std::byte& each : any) each = static_cast<std::byte>(random() >> 32);
    arena.add(dtype, beginning, any);
    // With an odd count half of the bytes become 0 or 0x80: many zeros of both signs, as after an activation. With an
    // even count all bytes do: few different values.
    for (std::uint64_t i = 0; i < bytes; ++i) {
      if (random() % 2 == 0 || count % 2 == 0) any[i] &= std::byte{0x80};
    }
    arena.add(dtype, beginning, any);
    for (const Kind kind : kFloatKinds) {
      if (kind != Kind::kNormal && !is_float(dtype)) break;
      if (count == 0) continue;
      const Tensor whole = make(dtype, kCounts[std::size(kCounts) - 1] * size_bytes(dtype), kind);
      arena.add(dtype, beginning, bytes_of(whole).first(bytes));
    }
  }
  return arena;
}

}  // namespace

void check_folds(Gpu& gpu, const Plan& plan) {
  const auto host = make_host_engine({});
  std::mt19937_64 random(20261120);
  std::size_t cases = 0, wrong = 0;
  for (int d = 0; d < kDtypeCount; ++d) {
    const auto dtype = static_cast<Dtype>(d);
    const Arena arena = hard_tensors(plan, dtype, random);
    const Gpu::Buffer source = gpu.make(arena.bytes.size());
    gpu.write(source, arena.bytes);
    // The ten statistics; everything; no sums; only sums.
    for (const Needs needs : std::span(kCheckedNeeds).first(plan.every_shape ? std::size(kCheckedNeeds) : 1)) {
      KernelSpec spec{
          .dtype = dtype, .needs = needs, .group_size = gpu.traits().group.lanes, .loads = gpu.traits().group.loads};
      Fold fold(gpu, spec, source, arena.extents);
      fold.run();
      const std::vector<Partial> partials = fold.results();
      for (std::size_t i = 0; i < partials.size(); ++i) {
        Partial expected(dtype, Precision::kHigh, needs);
        const Tensor tensor{.dtype = dtype,
                            .element_count = arena.extents[i].count,
                            .address = arena.bytes.data(),
                            .offset_bytes = arena.extents[i].first_byte};
        const Job job{tensor, &expected};
        if (const Status status = host->fold({&job, 1}); !status) throw std::runtime_error(status.error().message);
        ++cases;
        if (partials[i].serialize() == expected.serialize()) continue;
        if (++wrong <= 20) {
          std::size_t word = 0;
          while (word + 1 < partials[i].words().size() && partials[i].words()[word] == expected.words()[word]) ++word;
          std::printf("DIFFERENT: %s, tensor %zu of %llu elements: word %zu is %lld, and must be %lld\n",
                      name(spec).c_str(), i, static_cast<unsigned long long>(tensor.element_count), word,
                      static_cast<long long>(partials[i].words()[word]),
                      static_cast<long long>(expected.words()[word]));
        }
      }
    }
  }
  std::printf("%zu cases held against the host engine, %zu different\n", cases, wrong);
  if (wrong != 0) throw std::runtime_error("the device's partials are not the host's");
}

}  // namespace tensorstat::bench
