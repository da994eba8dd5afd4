#include "bench/device/measure.hpp"

#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include "bench/data.hpp"
#include "bench/device/fold.hpp"
#include "bench/device/report.hpp"

namespace tensorstat::bench {
namespace {

constexpr std::size_t kGroupsAUnit[] = {4, 8, 16, 32, 64};

struct Ceiling {
  KernelSpec spec;
  std::size_t groups_a_unit;
  double seconds;
};

double best_of(int count, const std::function<double()>& run) {
  double best = run();
  for (int i = 0; i < count; ++i) best = std::min(best, run());
  return best;
}

bool tried(const Plan& plan, std::size_t lanes, std::uint32_t loads) {
  return plan.every_shape || (lanes == 256 && (loads == 2 || loads == 4));
}

// The fastest shape. Each is tried a few times. A result is checked before its shape is taken.
Ceiling fastest_read(Gpu& gpu, const Plan& plan, Gpu::Buffer source, std::span<const std::byte> bytes, bool print) {
  Ceiling fastest{};
  for (const std::size_t lanes : kGroupSizes) {
    for (const std::uint32_t loads : kLoads) {
      if (!tried(plan, lanes, loads)) continue;
      const KernelSpec spec{.kind = KernelSpec::Kind::kRead, .group_size = lanes, .loads = loads};
      if (print) std::printf("%4zu lanes, %u in flight:", lanes, loads);
      for (const std::size_t groups : kGroupsAUnit) {
        Read read(gpu, spec, source, bytes.size(), groups);
        const double seconds = best_of(3, [&] { return read.run(); });
        if (print) std::printf("  x%zu %s", groups, shown(static_cast<double>(bytes.size()) * 1e-9 / seconds).c_str());
        if (fastest.seconds == 0 || seconds < fastest.seconds) {
          read.prove(bytes);
          fastest = {spec, groups, seconds};
        }
      }
      if (print) std::printf("  GB/s\n");
    }
  }
  return fastest;
}

std::vector<double> quotients(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> all;
  for (std::size_t i = 0; i < a.size(); ++i) all.push_back(a[i] / b[i]);
  return all;
}

std::vector<double> scaled(double factor, const std::vector<double>& values, bool inverse) {
  std::vector<double> all;
  for (const double each : values) all.push_back(inverse ? factor / each : factor * each);
  return all;
}

// The goal: a share of the read stream.
const char* goal(const Gpu& gpu, Dtype dtype) {
  if (gpu.traits().is_cpu) return "";
  switch (dtype) {
    case Dtype::kFloat32:
    case Dtype::kFloat64:
      return ">= 0.95";
    case Dtype::kFloat16:
      return ">= 0.9";
    case Dtype::kBfloat16:
    case Dtype::kInt8:
      return ">= 0.85";
    default:
      return "";
  }
}

KernelSpec default_fold(const Gpu& gpu, Dtype dtype) {
  return {.dtype = dtype, .group_size = gpu.traits().group.lanes, .loads = gpu.traits().group.loads};
}

}  // namespace

void measure_ceiling(Gpu& gpu, const Plan& plan) {
  const Tensor tensor = make(Dtype::kFloat32, plan.bytes);
  const Gpu::Buffer source = gpu.make(plan.bytes);
  gpu.write(source, bytes_of(tensor));
  const Ceiling best = fastest_read(gpu, plan, source, bytes_of(tensor), true);
  const double speed = static_cast<double>(plan.bytes) * 1e-9 / best.seconds;
  figure("read stream", {speed, speed, speed}, "GB/s");
}

void measure_folds(Gpu& gpu, const Plan& plan) {
  const Gpu::Buffer source = gpu.make(plan.bytes);
  const auto bytes = static_cast<double>(plan.bytes);
  Ceiling ceiling{};
  for (const Dtype dtype :
       {Dtype::kFloat32, Dtype::kFloat64, Dtype::kFloat16, Dtype::kBfloat16, Dtype::kInt8, Dtype::kUint8, Dtype::kBool,
        Dtype::kInt16, Dtype::kUint16, Dtype::kInt32, Dtype::kUint32, Dtype::kInt64, Dtype::kUint64}) {
    const Tensor tensor = make(dtype, plan.bytes);
    gpu.write(source, bytes_of(tensor));
    if (ceiling.seconds == 0) ceiling = fastest_read(gpu, plan, source, bytes_of(tensor), false);
    Read read(gpu, ceiling.spec, source, plan.bytes, ceiling.groups_a_unit);
    Fold fold(gpu, default_fold(gpu, dtype), source, {{0, tensor.element_count}});
    const auto seconds = rounds(plan.rounds, {[&] { return read.run(); }, [&] { return fold.run(); }});
    const std::string group = "fold/" + std::string(name(dtype));
    figure(group, spread(scaled(bytes * 1e-9, seconds[1], true)), "GB/s");
    figure(group + "/ms", spread(scaled(1e3, seconds[1], false)), "ms");
    figure(group + "/of read stream", spread(quotients(seconds[0], seconds[1])), "", goal(gpu, dtype));
  }
}

void measure_beside(Gpu& gpu, const Plan& plan) {
  const Gpu::Buffer source = gpu.make(plan.bytes);
  for (const Dtype dtype : kTunedDtypes) {
    const Tensor tensor = make(dtype, plan.bytes);
    gpu.write(source, bytes_of(tensor));
    Fold ten(gpu, default_fold(gpu, dtype), source, {{0, tensor.element_count}});
    for (const Beside& beside : kBeside) {
      KernelSpec spec = default_fold(gpu, dtype);
      spec.needs = beside.needs;
      Fold fold(gpu, spec, source, {{0, tensor.element_count}});
      const auto seconds = rounds(plan.rounds, {[&] { return ten.run(); }, [&] { return fold.run(); }});
      const std::string group = "beside/" + std::string(name(dtype)) + "/" + beside.name;
      figure(group + "/of the ten", spread(quotients(seconds[0], seconds[1])), "");
    }
  }
}

void measure_batch(Gpu& gpu, const Plan& plan) {
  constexpr std::uint64_t kElements = 1024;
  const std::uint64_t bytes = plan.batch_tensors * kElements * size_bytes(Dtype::kFloat32);
  const Tensor arena = make(Dtype::kFloat32, bytes);
  const Gpu::Buffer source = gpu.make(bytes);
  gpu.write(source, bytes_of(arena));
  std::vector<Extent> tensors;
  for (std::uint64_t i = 0; i < plan.batch_tensors; ++i) tensors.push_back({i * bytes / plan.batch_tensors, kElements});
  const Ceiling ceiling = fastest_read(gpu, plan, source, bytes_of(arena), false);
  Read read(gpu, ceiling.spec, source, bytes, ceiling.groups_a_unit);
  Fold fold(gpu, default_fold(gpu, Dtype::kFloat32), source, tensors);
  const auto seconds = rounds(plan.rounds, {[&] { return read.run(); }, [&] { return fold.run(); }});
  const double each = 1e9 / static_cast<double>(plan.batch_tensors);
  const std::string group = "batch/" + std::to_string(plan.batch_tensors) + "x1024";
  figure(group + "/a tensor", spread(scaled(each, seconds[1], false)), "ns", gpu.traits().is_cpu ? "" : "<= 10");
  figure(group + "/a tensor's bytes alone", spread(scaled(each, seconds[0], false)), "ns");
}

// First chooses lanes and loads by the fold's speed, then the slices per unit with a large tensor. A later shape is
// chosen only if it is faster by one percent.
void tune(Gpu& gpu, const Plan& plan) {
  constexpr double kWorthIt = 0.99;
  std::vector<Gpu::Buffer> sources;
  for (const Dtype dtype : kTunedDtypes)
    gpu.write(sources.emplace_back(gpu.make(plan.bytes)), bytes_of(make(dtype, plan.bytes)));
  const auto score = [&](std::size_t lanes, std::uint32_t loads, std::uint32_t slices_a_unit) {
    double total = 0;
    for (std::size_t i = 0; i < std::size(kTunedDtypes); ++i) {
      const KernelSpec spec{.dtype = kTunedDtypes[i], .group_size = lanes, .loads = loads};
      Fold fold(gpu, spec, sources[i], {{0, plan.bytes / size_bytes(kTunedDtypes[i])}}, slices_a_unit);
      total += best_of(plan.rounds / 2 + 1, [&] { return fold.run(); });
    }
    return total;
  };
  struct {
    std::size_t lanes = 0;
    std::uint32_t loads = 0;
    std::uint32_t slices = 0;
    double seconds = 0;
  } best;
  const auto speed = [&](double seconds) {
    return static_cast<double>(plan.bytes * std::size(kTunedDtypes)) * 1e-9 / seconds;
  };
  for (const std::size_t lanes : kGroupSizes) {
    for (const std::uint32_t loads : kLoads) {
      if (!tried(plan, lanes, loads)) continue;
      const double seconds = score(lanes, loads, 0);
      std::printf("%4zu lanes, %u loads: %s GB/s\n", lanes, loads, shown(speed(seconds)).c_str());
      if (best.lanes == 0 || seconds < best.seconds * kWorthIt) best = {lanes, loads, 0, seconds};
    }
  }
  best.seconds = 0;
  for (const std::uint32_t slices : {4, 8, 16, 32, 64, 128}) {
    const double seconds = score(best.lanes, best.loads, slices);
    std::printf("%4u slices a unit: %s GB/s\n", slices, shown(speed(seconds)).c_str());
    if (best.seconds == 0 || seconds < best.seconds * kWorthIt) best.slices = slices, best.seconds = seconds;
  }
  std::printf(
      "A row for kernels-cl/driver/device.cpp:\n    // %s: %s GB/s over float32, bfloat16 and int8 of %llu MiB.\n"
      "    {\"VENDOR\", {.lanes = %zu, .loads = %u, .slices_a_unit = %u}},\n",
      gpu.description().c_str(), shown(speed(best.seconds)).c_str(), static_cast<unsigned long long>(plan.bytes >> 20),
      best.lanes, best.loads, best.slices);
}

}  // namespace tensorstat::bench
