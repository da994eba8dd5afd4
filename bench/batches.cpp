// Many tensors at once, and the cost of one small tensor.
#include <algorithm>
#include <random>
#include <thread>

#include "bench/contest.hpp"
#include "bench/data.hpp"
#include "bench/peers/peer.hpp"

namespace tensorstat::bench {
namespace {

struct Batch {
  const char* group;
  std::uint64_t count, elements;
  bool shuffled = false;
};
constexpr Batch kBatches[] = {{"batch/10000x1024/float32", 10000, 1024},
                              {"batch/10000x1/float32", 10000, 1},
                              {"batch/10000x100/float32", 10000, 100},
                              {"batch/10000x4096/float32", 10000, 4096},
                              {"batch/10000x256-shuffled/float32", 10000, 256, true},
                              {"batch/10000x1024-shuffled/float32", 10000, 1024, true},
                              {"batch/1000x1024/float32", 1000, 1024},
                              {"batch/8x1024/float32", 8, 1024},
                              {"batch/1000x64KiB/float32", 1000, 16384},
                              {"small/1/float32", 1, 1},
                              {"small/16/float32", 1, 16},
                              {"small/256/float32", 1, 256},
                              {"small/1024/float32", 1, 1024}};

// Tensors side by side or, as in a model, anywhere: shuffled, in the same memory.
std::vector<Tensor> tensors(const Batch& batch, const Tensor& arena) {
  std::vector<Tensor> all(batch.count, arena);
  for (std::uint64_t i = 0; i < batch.count; ++i) {
    all[i].element_count = batch.elements;
    all[i].offset_bytes = i * batch.elements * size_bytes(arena.dtype);
  }
  if (batch.shuffled) std::ranges::shuffle(all, std::mt19937_64(1));
  return all;
}

}  // namespace

void enter_batches() {
  for (const Batch& batch : kBatches) {
    // The limit reads words of 8 bytes.
    const std::uint64_t bytes = std::max<std::uint64_t>(64, batch.count * batch.elements * 4);
    const auto arena = [bytes] { return make(Dtype::kFloat32, bytes); };
    const auto size = static_cast<double>(batch.count * batch.elements * 4);
    const auto count = static_cast<double>(batch.count);
    enter_limits(batch.group, size, count, [arena] { return bytes_of(arena()); });
    for (const Lane& lane : kLanes) {
      enter_measure(
          batch.group, lane, size, count, [=] { return tensors(batch, arena()); }, value(categories_from(kTen)));
    }
    enter_measure(
        batch.group, kLanes[1], size, count, [=] { return tensors(batch, arena()); }, all_categories(), ":md5");
    enter_measure(
        batch.group, kLanes[1], size, count, [=] { return tensors(batch, arena()); }, {Category::kMd5}, ":md5 alone");
    enter(batch.group, "peer:mindspore", size, count, [=] {
      return Contestant{[all = tensors(batch, arena())] {
        for (const Tensor& each : all) benchmark::DoNotOptimize(mindspore(each));
      }};
    });
  }
}

// As many calls with one tensor of 1 KiB each, by one thread and by two that share a Meter.
void enter_callers() {
  constexpr std::size_t kCalls = 20'000, kElements = 256;
  for (const std::size_t callers : {std::size_t{1}, std::size_t{2}}) {
    enter("callers/1KiB/float32", "tensorstat:" + std::to_string(callers), kCalls * kElements * 4.0, kCalls, [=] {
      const Request request{.categories = value(categories_from(kTen)), .on = On::kHost};
      const auto call = [request, callers, data = make(Dtype::kFloat32, kElements * 4)] {
        for (std::size_t i = 0; i < kCalls / callers; ++i) {
          benchmark::DoNotOptimize(value(meter(kLanes[1]).measure({&data, 1}, request)));
        }
      };
      return Contestant{[call, callers] {
        std::vector<std::jthread> others;
        for (std::size_t i = 1; i < callers; ++i) others.emplace_back(call);
        call();
      }};
    });
  }
}

namespace {

constexpr std::uint64_t kPieceBytes = 8 << 20;

Work stream_through(std::span<const std::byte> data, const Lane& lane) {
  const Request request{.categories = value(categories_from(kTen)), .on = lane.on};
  return [data, request, &meter = bench::meter(lane)] {
    auto stream = value(meter.stream(Dtype::kFloat32, request));
    for (std::size_t offset = 0; offset < data.size(); offset += kPieceBytes) {
      const Status status = stream.append(data.subspan(offset, kPieceBytes));
      if (!status) throw std::runtime_error(status.error().message);
    }
    benchmark::DoNotOptimize(value(stream.finish()));
  };
}

}  // namespace

// A tensor that arrives in parts.
void enter_streams() {
  for (const std::uint64_t mib : {64, 256}) {
    const std::uint64_t bytes = mib << 20;
    const std::string group = "stream/" + bytes_name(bytes) + "/float32";
    const auto data = [bytes] { return bytes_of(make(Dtype::kFloat32, bytes)); };
    const auto size = static_cast<double>(bytes);
    enter_limits(group, size, 1, data);
    for (const Lane& lane : kLanes) {
      enter(group, std::string("tensorstat:") + lane.name, size, 1,
            [=] { return Contestant{stream_through(data(), lane)}; });
    }
  }
}

}  // namespace tensorstat::bench
