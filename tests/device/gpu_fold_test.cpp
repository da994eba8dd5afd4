// Tensors in CUDA's memory are folded where they are, by kernels that are PTX: with the host's values, behind the work
// of their streams, and with the host in the GPU's place whenever it cannot. The driver is a double, whose kernels are
// the definition of a fold; their PTX is planted in the cache on disk.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <tensorstat/dump.hpp>
#include <tensorstat/meter.hpp>
#include <thread>
#include <vector>

#include "tests/support/config_text.hpp"
#include "tests/support/dl_tensor.hpp"
#include "tests/support/on_fake_cuda.hpp"

namespace tensorstat {
namespace gpu_fold_test {

using test::Bytes;
using test::expect_same;
using test::on_host;
using test::OnGpu;
using test::plant;

const Categories kSome = {Category::kMax, Category::kAvg, Category::kL2norm, Category::kNanCount, Category::kZeroCount};

class GpuFold : public test::OnFakeCuda {
 protected:
  Bytes some(Dtype dtype, std::uint64_t count) { return samples::one_of(dtype, random(), count, random); }
  static Tensor there(const OnGpu& memory, Tensor host, void* stream = nullptr) {
    host.address = memory.address();
    host.where = Where::kCuda;
    host.stream = stream;
    return host;
  }
  static std::string engine(const Result<Measurements>& result) {
    return std::string(result->front().placement[0].engine);
  }
  static std::string reason(const Result<Measurements>& result) {
    return std::string(result->front().placement[0].reason);
  }
};

TEST_F(GpuFold, HasTheHostsValuesInEveryDtype) {
  Meter meter;
  for (int d = 0; d < kDtypeCount; ++d) {
    const auto dtype = static_cast<Dtype>(d);
    Categories categories = every_category();
    std::erase_if(categories,
                  [&](Category each) { return !has(dtype, each) || (needs(each) & (kDigests | kQuantiles)) != 0; });
    for (const Categories& asked : {categories, Categories{categories.front()}}) {
      plant(dtype, asked);
      for (const std::uint64_t count :
           {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1000}, std::uint64_t{300'000}}) {
        SCOPED_TRACE(std::string(name(dtype)) + ", " + std::to_string(count));
        const Bytes bytes = some(dtype, count);
        const OnGpu memory(gpu, bytes.empty() ? Bytes(16) : bytes);
        Tensor host{.dtype = dtype, .element_count = count, .address = bytes.data()};
        const Tensor device = there(memory, host);
        for (const On on : {On::kAuto, On::kDevice}) {
          const auto result = meter.measure({&device, 1}, {.categories = asked, .on = on});
          expect_same(result, meter.measure({&host, 1}, {.categories = asked, .on = On::kHost}));
          ASSERT_EQ(engine(result), "cuda") << reason(result);
          EXPECT_EQ(reason(result), on == On::kAuto ? "the tensor is in its memory" : "asked for");
        }
      }
    }
  }
  EXPECT_GT(meter.device_memory().peak_bytes, 0u);
}

TEST_F(GpuFold, ManyTensorsOnTwoGpusBesideHostMemory) {
  Meter meter;
  const Categories asked = {Category::kMax, Category::kAvg, Category::kMd5, Category::kArgmax};
  std::vector<Bytes> bytes;
  std::vector<std::unique_ptr<OnGpu>> memory;
  std::vector<Tensor> host, mixed;
  for (int i = 0; i < 400; ++i) {
    const Dtype dtype = i % 3 == 0 ? Dtype::kFloat32 : i % 3 == 1 ? Dtype::kBfloat16 : Dtype::kInt64;
    plant(dtype, asked);
    bytes.push_back(some(dtype, 1 + random() % 5000));
  }
  for (int i = 0; i < 400; ++i) {
    const Dtype dtype = i % 3 == 0 ? Dtype::kFloat32 : i % 3 == 1 ? Dtype::kBfloat16 : Dtype::kInt64;
    host.push_back(on_host(dtype, bytes[static_cast<std::size_t>(i)]));
    if (i % 7 == 0) {
      mixed.push_back(host.back());
      continue;
    }
    memory.push_back(std::make_unique<OnGpu>(gpu, bytes[static_cast<std::size_t>(i)], i % 2));
    mixed.push_back(there(*memory.back(), host.back()));
  }
  expect_same(meter.measure(mixed, {.categories = asked}), meter.measure(host, {.categories = asked, .on = On::kHost}));
}

TEST_F(GpuFold, ComparesTwoTensorsOnOneGpu) {
  for (const auto& [a, b] : {std::pair{Dtype::kFloat32, Dtype::kFloat32}, {Dtype::kBfloat16, Dtype::kFloat64}}) {
    plant(a, b);
    const Bytes x = some(a, 70'000), y = some(b, 70'000);
    const OnGpu on_x(gpu, x), on_y(gpu, y), on_other(gpu, y, 1);
    const Tensor host_x = on_host(a, x), host_y = on_host(b, y);
    const std::vector<TensorPair> pairs{{there(on_x, host_x), there(on_y, host_y)},
                                        {there(on_x, host_x), host_y},
                                        {there(on_x, host_x), there(on_other, host_y)},
                                        {host_x, host_y}};
    for (const auto scale : {PairTolerance::Scale::kB, PairTolerance::Scale::kGreater}) {
      Meter meter;
      std::vector<PairPlacement> places;
      const auto compared = meter.compare(pairs, {.tolerance = {0.25, 0.5, scale}}, &places);
      ASSERT_TRUE(compared) << compared.error().message;
      for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ((*compared)[i].serialize(), (*compared)[3].serialize()) << i;
      EXPECT_EQ(places[0].engine, "cuda") << places[0].reason;
      EXPECT_EQ(places[1].reason,
                "in CUDA memory, which the host reads in windows: the other tensor is not in its memory");
      EXPECT_EQ(places[2].reason,
                "in CUDA memory, which the host reads in windows: the other tensor is on another GPU");
    }
  }
}

TEST_F(GpuFold, IsBehindTheWorkOfEveryStream) {
  plant(Dtype::kFloat32, kSome);
  Meter meter;
  const Bytes zeros(40'000), values = some(Dtype::kFloat32, 10'000);
  std::vector<std::unique_ptr<OnGpu>> memory;
  std::vector<Tensor> device, host;
  for (int i = 0; i < 3; ++i) {
    memory.push_back(std::make_unique<OnGpu>(gpu, zeros));
    void* const stream = i == 2 ? nullptr : gpu.stream(0, i);
    gpu.write(0, stream, memory.back()->pointer(), values.data(), values.size());
    host.push_back(on_host(Dtype::kFloat32, values));
    device.push_back(there(*memory.back(), host.back(), stream));
  }
  const auto result = meter.measure(device, {.categories = kSome});
  expect_same(result, meter.measure(host, {.categories = kSome}));
  EXPECT_EQ(engine(result), "cuda") << reason(result);
}

TEST_F(GpuFold, TheHostTakesOverWhereTheGpuCannot) {
  const Bytes bytes = some(Dtype::kFloat32, 20'000);
  const OnGpu memory(gpu, bytes);
  const Tensor host = on_host(Dtype::kFloat32, bytes), device = there(memory, host);
  const auto expect_host = [&](const Categories& categories, const std::string& why) {
    Meter meter;
    const auto result = meter.measure({&device, 1}, {.categories = categories});
    expect_same(result, meter.measure({&host, 1}, {.categories = categories}));
    EXPECT_EQ(engine(result), "host");
    EXPECT_NE(reason(result).find(why), std::string::npos) << reason(result);
    EXPECT_FALSE(meter.measure({&device, 1}, {.categories = categories, .on = On::kDevice}));
  };
  expect_host(kSome, "libnvidia-opencl.so.1, which has the compiler of its kernels, is not in ");
  plant(Dtype::kFloat32, kSome);
  expect_host({*category_from("p50")}, "the host counts quantiles");
  gpu.is_wrong(1);
  expect_host(kSome, "of a known answer came out wrong");
  gpu.is_wrong(0);
  gpu.most_memory(100);
  expect_host(kSome, "the memory of a batch: cuMemAlloc_v2: error 2");
}

TEST_F(GpuFold, NothingIsReadBeyondAnAllocation) {
  plant(Dtype::kFloat32, kSome);
  const Bytes bytes = some(Dtype::kFloat32, 20'000);
  const OnGpu memory(gpu, bytes);
  Tensor device = there(memory, on_host(Dtype::kFloat32, bytes));
  device.element_count += 1;
  Meter meter;
  const auto result = meter.measure({&device, 1}, {.categories = kSome, .on = On::kDevice});
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("it reaches beyond what is allocated"), std::string::npos);
  EXPECT_FALSE(meter.measure({&device, 1}, {.categories = kSome})) << "nor does the host";
}

TEST_F(GpuFold, ABudgetIsKept) {
  plant(Dtype::kFloat32, kSome);
  const Bytes bytes = some(Dtype::kFloat32, 20'000);
  const OnGpu memory(gpu, bytes);
  const Tensor host = on_host(Dtype::kFloat32, bytes), device = there(memory, host);
  for (const std::uint64_t budget : {0ull, 1ull << 19, 1ull << 22}) {
    Meter meter({.budget_bytes = budget});
    const auto result = meter.measure({&device, 1}, {.categories = kSome});
    expect_same(result, meter.measure({&host, 1}, {.categories = kSome}));
    EXPECT_EQ(engine(result), budget > 1u << 20 ? "cuda" : "host") << reason(result);
    EXPECT_LE(meter.device_memory().peak_bytes, budget);
  }
}

// Whichever call fails, once or from then on: the right values, or an error. Nothing stays.
TEST_F(GpuFold, EveryCallMayFail) {
  plant(Dtype::kFloat32, kSome);
  const Bytes bytes = some(Dtype::kFloat32, 20'000);
  const OnGpu memory(gpu, bytes);
  const Tensor host = on_host(Dtype::kFloat32, bytes), device = there(memory, host);
  const auto expected = Meter().measure({&host, 1}, {.categories = kSome});
  const auto measure_twice = [&] {
    const long before = gpu.calls();
    {
      Meter meter;
      for (int round = 0; round < 2; ++round) {
        const auto result = meter.measure({&device, 1}, {.categories = kSome});
        if (result) expect_same(result, expected);
      }
    }
    return gpu.calls() - before;
  };
  const long calls = measure_twice();
  EXPECT_GT(calls, 20);
  for (const int from_then_on : {0, 1}) {
    for (long nth = 1; nth <= calls; ++nth) {
      SCOPED_TRACE(std::to_string(nth) + (from_then_on != 0 ? " and all after it" : ""));
      gpu.fail(nth, from_then_on);
      measure_twice();
      gpu.fail(0, 0);
      EXPECT_EQ(gpu.held(), 0);
    }
  }
}

TEST_F(GpuFold, ACaptureIsRefusedInWordsAndGoesOn) {
  plant(Dtype::kFloat32, kSome);
  Meter meter;
  const Bytes bytes = some(Dtype::kFloat32, 1000);
  const OnGpu memory(gpu, bytes);
  void* const stream = gpu.stream(0, 0);
  const Tensor device = there(memory, on_host(Dtype::kFloat32, bytes), stream);
  gpu.capture(stream, 1);
  const auto refused = meter.measure({&device, 1}, {.categories = kSome});
  gpu.capture(stream, 0);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("its stream is being captured"), std::string::npos);
  const auto result = meter.measure({&device, 1}, {.categories = kSome});
  ASSERT_TRUE(result);
  EXPECT_EQ(engine(result), "cuda") << reason(result);
}

// Unless the config names the host.
TEST_F(GpuFold, ADumpsTensorsAreFoldedThere) {
  const Categories columns = {Category::kMax, Category::kAvg};
  plant(Dtype::kFloat32, columns);
  const Bytes bytes = some(Dtype::kFloat32, 5000);
  const OnGpu memory(gpu, bytes);
  for (const std::string mode : {"", R"(, "stat_calc_mode": "host")", R"(, "stat_calc_mode": "device")"}) {
    const ScratchFolder folder;
    const long before = gpu.launches();
    auto session =
        DumpSession::from_json(config_text(R"({"path": ")" + folder.path() +
                                               R"(", "saved_data": "statistic", "statistic_category": ["max", "avg"]})",
                                           R"({"enable": true)" + mode + "}"),
                               {});
    ASSERT_TRUE(session) << session.error().message;
    DumpTensor tensor;
    tensor.tensor = there(memory, on_host(Dtype::kFloat32, bytes));
    tensor.shape = {5000};
    tensor.io = Io::kOutput;
    session->collect({}, session->operator_named("Op", "a"), {&tensor, 1});
    session->step_end({});
    session->close();
    EXPECT_EQ(gpu.launches() > before, mode.find("host") == mode.npos) << mode;
  }
}

TEST_F(GpuFold, ServesThreads) {
  plant(Dtype::kFloat32, kSome);
  Meter meter;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, bytes = some(Dtype::kFloat32, 30'000)] {
      const OnGpu memory(gpu, bytes);
      const Tensor host = on_host(Dtype::kFloat32, bytes), device = there(memory, host);
      const auto expected = meter.measure({&host, 1}, {.categories = kSome});
      for (int i = 0; i < 50; ++i) expect_same(meter.measure({&device, 1}, {.categories = kSome}), expected);
    });
  }
  for (std::thread& each : threads) each.join();
}

}  // namespace gpu_fold_test
}  // namespace tensorstat
