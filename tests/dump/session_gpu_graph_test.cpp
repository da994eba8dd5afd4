// DumpSession::begin_capture(): the rows of each replay of a CUDA graph are those of a session that measures the same
// values, in the order of the calls. The driver is a double, whose captured work runs in replays alone.
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <memory>

#include "tests/dump/session_on_gpu.hpp"

namespace tensorstat {
namespace session_gpu_graph_test {

using test::Bytes;
using test::OnGpu;

class SessionGpuGraph : public test::SessionOnGpu {
 protected:
  void SetUp() override {
    SessionOnGpu::SetUp();
    options.settles_later = true;
  }
  void TearDown() override {
    gpu.advance(0, stream, 1'000'000);
    SessionOnGpu::TearDown();
  }

  DumpTensor there(const OnGpu& memory, std::uint64_t count, std::uint32_t slot, std::uint64_t number) const {
    DumpTensor tensor = SessionOnGpu::there(memory, count, slot, stream);
    tensor.number = number;
    return tensor;
  }

  void* const stream = gpu.stream(0, 0);
};

// Between the tensors of the graph stand those that are measured at once, and a tensor of the host in a captured call.
TEST_F(SessionGpuGraph, EachReplayHasTheRowsOfASessionThatMeasures) {
  constexpr std::uint64_t kSteps = 5;
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> on_host{1, 2, -3};
  const OnGpu first(gpu, Bytes(8000)), second(gpu, Bytes(400));
  std::vector<std::pair<Bytes, Bytes>> contents;
  for (std::uint64_t step = 0; step < kSteps; ++step) {
    contents.emplace_back(samples::one_of(Dtype::kFloat32, 0, 2000, random),
                          samples::one_of(Dtype::kFloat32, 0, 100, random));
  }
  std::memcpy(contents[3].second.data(), &inf, sizeof inf);
  const auto write = [&](std::uint64_t step) {
    gpu.write(0, stream, first.pointer(), contents[step].first.data(), 8000);
    gpu.write(0, stream, second.pointer(), contents[step].second.data(), 400);
  };
  options.path = folder / "graph";
  auto session = open(kStatistics, R"({"enable": true})");
  const auto graph = session.begin_capture();
  ASSERT_NE(graph, nullptr);
  void* const captured = gpu.begin_capture(stream, nullptr);
  collect(session, {}, "one", {there(first, 2000, 0, 1), there(second, 100, 1, 2), tensor(on_host, Dtype::kFloat32)});
  collect(session, {}, "two", {there(second, 100, 0, 3)});
  gpu.end_capture(captured);
  session.end_capture();
  std::map<std::uint64_t, std::uint32_t> told;
  for (std::uint64_t step = 0; step < kSteps; ++step) {
    const DumpPlace now{.iteration = step};
    write(step);
    gpu.replay(captured, stream);
    if (step == 1) continue;  // its results are not taken
    const long waits = gpu.waits();
    EXPECT_TRUE(session.replayed(*graph, step, stream, 10 * step));
    collect(session, now, "host", {tensor(on_host, Dtype::kFloat32)});
    session.step_end(now);
    if (step > 2) {
      EXPECT_EQ(gpu.waits(), waits);
    }
    for (const LateFaults& each : session.settle()) told[each.number] = each.faults;
  }
  EXPECT_TRUE(session.close());
  EXPECT_EQ(messages, std::vector<std::string>{});
  EXPECT_EQ(session.counters().lost_tensor_count, 0u);
  EXPECT_EQ(told.size(), 3 * (kSteps - 1));
  for (const auto& [number, faults] : told) {
    const bool has_inf = number == 32 || number == 33;
    EXPECT_EQ(faults, DumpTensor::kMeasured | (has_inf ? DumpTensor::kHasInf : 0u)) << number;
  }

  options.path = folder / "eager";
  options.ordered_by_queue = false;
  auto eager = open(kStatistics, R"({"enable": true})");
  for (std::uint64_t step = 0; step < kSteps; ++step) {
    const DumpPlace now{.iteration = step};
    write(step);
    if (step == 1) continue;
    collect(eager, now, "one", {there(first, 2000, 0, 0), there(second, 100, 1, 0)});
    collect(eager, now, "two", {there(second, 100, 0, 0)});
    collect(eager, now, "host", {tensor(on_host, Dtype::kFloat32)});
    eager.step_end(now);
  }
  EXPECT_TRUE(eager.close());
  for (std::uint64_t step = 0; step < kSteps; ++step) {
    if (step == 1) continue;
    EXPECT_EQ(texts("graph", step), texts("eager", step));
    EXPECT_EQ(texts("graph", step).size(), 4u);
  }
}

// What cannot go on a board has no rows in a graph: said once, and nothing that a capture forbids is called.
TEST_F(SessionGpuGraph, WhatHasNoRowsIsSaid) {
  const OnGpu memory(gpu, Bytes(400));
  options.ordered_by_queue = false;
  auto session = open(kStatistics);
  EXPECT_EQ(session.begin_capture(), nullptr);
  session.close();
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_NE(messages[0].find("tensors in CUDA graphs have no rows: ordered_by_queue is not set"), std::string::npos);
}

// The graph goes on when the session is closed, and its memory is there.
TEST_F(SessionGpuGraph, AGraphOutlivesItsSession) {
  const OnGpu memory(gpu, Bytes(400));
  auto session = std::make_unique<DumpSession>(open(kStatistics));
  auto graph = session->begin_capture();
  ASSERT_NE(graph, nullptr);
  void* const captured = gpu.begin_capture(stream, nullptr);
  collect(*session, {}, "one", {there(memory, 100, 0, 0)});
  gpu.end_capture(captured);
  session->end_capture();
  gpu.replay(captured, stream);
  EXPECT_TRUE(session->replayed(*graph, 0, stream));
  session.reset();
  gpu.replay(captured, stream);
  gpu.advance(0, stream, 1000);
  EXPECT_FALSE(gpu.has_broken_a_capture());
}

}  // namespace session_gpu_graph_test
}  // namespace tensorstat
