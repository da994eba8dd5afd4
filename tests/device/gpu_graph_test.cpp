// Folds in a captured CUDA graph have the host's bits in each replay, and nothing that a capture forbids is called. The
// driver is a double, whose replays run each node as late as its edges allow.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <tensorstat/opencl.hpp>
#include <thread>
#include <vector>

#include "tests/support/on_fake_cuda.hpp"

namespace tensorstat {
namespace gpu_graph_test {

using test::Bytes;
using test::expect_same;
using test::on_host;
using test::OnGpu;

const Categories kSome = {Category::kMax, Category::kAvg, Category::kL2norm, Category::kNanCount, Category::kArgmax};

class GpuGraph : public test::OnFakeCuda {
 protected:
  void SetUp() override {
    OnFakeCuda::SetUp();
    for (const Dtype dtype : {Dtype::kFloat32, Dtype::kBfloat16}) test::plant(dtype, kSome);
  }

  // Memory that a graph reads, on one of its streams. Each replay finds other values there.
  struct Input {
    Input(GpuGraph& test, Dtype dtype, std::uint64_t count, void* stream, OnGpu::Place place)
        : memory(test.gpu, samples::one_of(dtype, 1, count, test.random), 0, place) {
      tensor = {.dtype = dtype, .element_count = count, .address = memory.address(), .where = Where::kCuda};
      tensor.stream = stream;
    }
    OnGpu memory;
    Tensor tensor;
  };
  std::unique_ptr<Input> input(Dtype dtype, std::uint64_t count, void* stream, OnGpu::Place place = OnGpu::kPrimary) {
    return std::make_unique<Input>(*this, dtype, count, stream, place);
  }
  // Behind it on `stream` the input has these values.
  Result<Measurements> write(const Input& input, void* stream) {
    const Bytes bytes = samples::one_of(input.tensor.dtype, random(), input.tensor.element_count, random);
    gpu.write(0, stream, input.memory.pointer(), bytes.data(), bytes.size());
    const Tensor tensor = on_host(input.tensor.dtype, bytes);
    return Meter().measure({&tensor, 1}, {.categories = kSome, .on = On::kHost});
  }
  static BoardGraph graph(Meter& meter) {
    auto made = BoardGraph::on(meter, {.categories = kSome});
    if (!made) throw std::runtime_error(made.error().message);
    return *std::move(made);
  }
  static void expect_all(const Result<std::vector<BoardTicket>>& tickets,
                         const std::vector<Result<Measurements>>& values) {
    ASSERT_TRUE(tickets) << tickets.error().message;
    ASSERT_EQ(tickets->size(), values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      SCOPED_TRACE(i);
      expect_same((*tickets)[i].collect(), values[i]);
    }
  }
  static void expect_one(const Result<std::vector<BoardTicket>>& tickets, const Result<Measurements>& values) {
    ASSERT_TRUE(tickets) << tickets.error().message;
    ASSERT_EQ(tickets->size(), 1u);
    expect_same(tickets->front().collect(), values);
  }
  // Captures the fold of one input into a graph of the driver.
  void* capture(BoardGraph& graph, const Input& one) {
    void* const captured = gpu.begin_capture(one.tensor.stream, nullptr);
    const Status added = graph.fold(one.tensor);
    EXPECT_TRUE(added) << added.error().message;
    gpu.end_capture(captured);
    return captured;
  }
};

// Two streams, an input that the graph writes between two folds, and tensors that need several pages. Replays whose
// results nobody takes leave nothing in the next one.
TEST_F(GpuGraph, EachReplayHasTheHostsBitsAndNothingWaits) {
  Meter meter;
  BoardGraph graph = this->graph(meter);
  void* const stream = gpu.stream(0, 0);
  void* const side = gpu.stream(0, 0);
  std::vector<std::unique_ptr<Input>> inputs;
  const auto any = input(Dtype::kFloat32, 3000, stream);
  const Bytes written = samples::one_of(Dtype::kFloat32, 2, 3000, random);
  const Tensor is_written = on_host(Dtype::kFloat32, written);
  void* const captured = gpu.begin_capture(stream, nullptr);
  gpu.begin_capture(side, captured);
  ASSERT_TRUE(graph.fold(any->tensor));
  gpu.write(0, stream, any->memory.pointer(), written.data(), written.size());
  ASSERT_TRUE(graph.fold(any->tensor));
  for (int i = 0; i < 400; ++i) {
    const std::uint64_t count = i % 50 == 0 ? 300'000 : 1 + random() % 3000;
    inputs.push_back(input(i % 2 == 0 ? Dtype::kFloat32 : Dtype::kBfloat16, count, i % 3 == 0 ? side : stream));
    const Status added = graph.fold(inputs.back()->tensor);
    ASSERT_TRUE(added) << added.error().message;
  }
  gpu.end_capture(captured);
  const auto run = [&](std::vector<Result<Measurements>>& values) {
    values.push_back(write(*any, stream));
    values.push_back(Meter().measure({&is_written, 1}, {.categories = kSome, .on = On::kHost}));
    for (const auto& each : inputs) values.push_back(write(*each, stream));
    gpu.replay(captured, stream);
  };
  for (int step = 0; step < 6; ++step) {
    std::vector<Result<Measurements>> left, first, second;
    run(left);
    run(first);
    const long waits = gpu.waits();
    const auto tickets = graph.replayed(stream);
    run(second);
    const auto later = graph.replayed(stream);
    if (step > 0) {
      EXPECT_EQ(gpu.waits(), waits);
    }
    expect_all(later, second);
    expect_all(tickets, first);
  }
  EXPECT_EQ((*graph.replayed(stream))[0].collect()->front().placement[0].engine, "cuda");
}

// A graph is replayed after all that measured it is gone: as when a watch ends, and the training goes on.
TEST_F(GpuGraph, TheMemoryIsThereForAsLongAsTheGraph) {
  void* const stream = gpu.stream(0, 0);
  const auto one = input(Dtype::kFloat32, 5000, stream);
  std::optional<Meter> meter(std::in_place);
  std::optional<BoardGraph> graph(this->graph(*meter));
  void* const captured = capture(*graph, *one);
  const auto values = write(*one, stream);
  gpu.replay(captured, stream);
  auto tickets = graph->replayed(stream);
  meter.reset();
  const auto more = write(*one, stream);
  gpu.replay(captured, stream);
  const auto later = graph->replayed(stream);
  graph.reset();
  gpu.replay(captured, stream);
  gpu.advance(0, stream, 1000);
  expect_one(tickets, values);
  expect_one(later, more);
}

// The GPU's memory is not used again while a replay may write to it.
TEST_F(GpuGraph, AReplayThatIsUnderWaySpoilsNoBoard) {
  void* const stream = gpu.stream(0, 0);
  const auto one = input(Dtype::kFloat32, 5000, stream), other = input(Dtype::kFloat32, 5000, nullptr);
  Meter meter;
  std::optional<BoardGraph> graph(this->graph(meter));
  void* const captured = capture(*graph, *one);
  gpu.replay(captured, stream);
  graph.reset();
  auto board = Board::on(meter, {.categories = kSome});
  const auto values = write(*other, nullptr);
  const auto ticket = board->fold(other->tensor);
  ASSERT_TRUE(ticket) << ticket.error().message;
  gpu.advance(0, nullptr, 1000);
  gpu.advance(0, stream, 1000);
  board->end_step();
  expect_same(ticket->collect(), values);
}

// As with PyTorch's expandable segments, which belong to no context.
TEST_F(GpuGraph, HasTensorsOfPoolsBesideOthers) {
  void* const stream = gpu.stream(0, 0);
  for (const auto& [first, second] : {std::pair{OnGpu::kPool, OnGpu::kPrimary}, {OnGpu::kPrimary, OnGpu::kPool}}) {
    const auto one = input(Dtype::kFloat32, 500, stream, first), other = input(Dtype::kFloat32, 500, stream, second);
    const auto foreign = input(Dtype::kFloat32, 500, stream, OnGpu::kForeign);
    Meter meter;
    BoardGraph graph = this->graph(meter);
    void* const captured = gpu.begin_capture(stream, nullptr);
    for (const Input* const each : {one.get(), other.get()}) {
      const Status added = graph.fold(each->tensor);
      EXPECT_TRUE(added) << added.error().message;
    }
    EXPECT_EQ(graph.fold(foreign->tensor).error().code, Code::kUnsupported);
    gpu.end_capture(captured);
    std::vector<Result<Measurements>> values;
    for (const Input* const each : {one.get(), other.get()}) values.push_back(write(*each, stream));
    gpu.replay(captured, stream);
    expect_all(graph.replayed(stream), values);
  }
}

TEST_F(GpuGraph, RefusesWithWords) {
  void* const stream = gpu.stream(0, 0);
  void* const foreign = gpu.stream(0, 0);
  const auto one = input(Dtype::kFloat32, 500, stream), other = input(Dtype::kFloat32, 500, foreign);
  Meter meter;
  EXPECT_EQ(BoardGraph::on(meter, {.categories = {Category::kMd5}}).error().code, Code::kUnsupported);
  BoardGraph graph = this->graph(meter);
  EXPECT_EQ(graph.replayed(stream).error().message, "the graph has no folds");
  EXPECT_EQ(graph.fold(one->tensor).error().code, Code::kInvalid) << "it is not being captured";
  void* const captured = gpu.begin_capture(stream, nullptr);
  void* const another = gpu.begin_capture(foreign, nullptr);
  ASSERT_TRUE(graph.fold(one->tensor));
  EXPECT_EQ(graph.fold(other->tensor).error().message, "the tensor's stream is captured into another graph");
  EXPECT_EQ(graph.replayed(stream).error().code, Code::kUnsupported);
  gpu.end_capture(captured);
  gpu.end_capture(another);
  gpu.capture(foreign, 2);
  EXPECT_EQ(graph.fold(other->tensor).error().message, "an earlier error has ended the capture of the stream");
  EXPECT_EQ(graph.replayed(foreign).error().message, "an earlier error has ended the capture of the stream");
  gpu.capture(foreign, 0);
  std::vector<BoardTicket> kept;
  for (int i = 0; i < 64; ++i) {
    gpu.replay(captured, stream);
    auto tickets = graph.replayed(stream);
    ASSERT_TRUE(tickets) << tickets.error().message;
    kept.push_back(std::move((*tickets)[0]));
  }
  EXPECT_EQ(graph.replayed(stream).error().code, Code::kOverBudget);
  kept.clear();
  EXPECT_TRUE(graph.replayed(stream));
}

TEST_F(GpuGraph, AKernelThatWasLostIsNoticedInEachReplay) {
  void* const stream = gpu.stream(0, 0);
  const auto one = input(Dtype::kFloat32, 500, stream), other = input(Dtype::kBfloat16, 500, stream);
  Meter meter;
  BoardGraph graph = this->graph(meter);
  void* const captured = gpu.begin_capture(stream, nullptr);
  ASSERT_TRUE(graph.fold(other->tensor));  // makes its kernel, which launches
  gpu.lose_launch(2);
  ASSERT_TRUE(graph.fold(other->tensor) && graph.fold(other->tensor) && graph.fold(other->tensor));
  gpu.end_capture(captured);
  for (int i = 0; i < 3; ++i) {
    const auto values = write(*other, stream);
    gpu.replay(captured, stream);
    const auto tickets = graph.replayed(stream);
    ASSERT_TRUE(tickets) << tickets.error().message;
    for (const std::size_t k : {0u, 1u, 3u}) expect_same((*tickets)[k].collect(), values);
    EXPECT_EQ((*tickets)[2].collect().error().code, Code::kDevice);
  }
}

// Whichever call fails, during the capture or behind a replay: the right values, or an error.
TEST_F(GpuGraph, EveryCallMayFail) {
  void* const stream = gpu.stream(0, 0);
  void* const side = gpu.stream(0, 0);
  const auto one = input(Dtype::kFloat32, 5000, stream), other = input(Dtype::kFloat32, 700, side);
  const auto run = [&] {
    Meter meter;
    auto graph = BoardGraph::on(meter, {.categories = kSome});
    void* const captured = gpu.begin_capture(stream, nullptr);
    gpu.begin_capture(side, captured);
    std::vector<const Input*> added;
    for (int i = 0; graph && i < 4; ++i) {
      const Input& each = i % 2 == 0 ? *one : *other;
      if (graph->fold(each.tensor)) added.push_back(&each);
    }
    gpu.end_capture(captured);
    for (int step = 0; graph && step < 3; ++step) {
      const auto of_one = write(*one, stream), of_other = write(*other, stream);
      gpu.replay(captured, stream);
      const auto tickets = graph->replayed(stream);
      if (!tickets) continue;
      ASSERT_EQ(tickets->size(), added.size());
      for (std::size_t i = 0; i < added.size(); ++i) {
        const auto result = (*tickets)[i].collect();
        if (result) expect_same(result, added[i] == one.get() ? of_one : of_other);
      }
    }
    gpu.advance(0, stream, 1000);  // freed memory waits for the GPU, and the double does not
  };
  const long before = gpu.calls();
  run();
  const long calls = gpu.calls() - before;
  EXPECT_GT(calls, 60);
  for (const int from_then_on : {0, 1}) {
    const long stride = samples::full() ? 1 : from_then_on == 0 ? 2 : 10;
    for (long nth = 1 + static_cast<long>(random() % static_cast<std::uint64_t>(stride)); nth <= calls; nth += stride) {
      SCOPED_TRACE(std::to_string(nth) + (from_then_on != 0 ? " and all after it" : ""));
      gpu.fail(nth, from_then_on);
      run();
      gpu.fail(0, 0);
      EXPECT_EQ(gpu.held(), 0);
      // A driver that refuses everything also refuses the mode in which memory may be freed.
      EXPECT_TRUE(!gpu.has_broken_a_capture() || from_then_on != 0);
    }
  }
}

TEST_F(GpuGraph, IsHarmlessInAForkedChild) {
  void* const stream = gpu.stream(0, 0);
  const auto one = input(Dtype::kFloat32, 3000, stream);
  auto meter = std::make_unique<Meter>();
  auto graph = std::make_unique<BoardGraph>(this->graph(*meter));
  void* const captured = capture(*graph, *one);
  const auto values = write(*one, stream);
  gpu.replay(captured, stream);
  auto tickets = std::make_unique<Result<std::vector<BoardTicket>>>(graph->replayed(stream));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const long calls = gpu.calls();
    const bool is_refused = !(**tickets)[0].collect() && !graph->fold(one->tensor) && !graph->replayed(stream);
    tickets.reset();
    graph.reset();
    meter.reset();
    _exit(is_refused && gpu.calls() == calls ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  expect_one(*tickets, values);
}

}  // namespace gpu_graph_test
}  // namespace tensorstat
