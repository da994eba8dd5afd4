// A board on CUDA's driver gives the host's bits, step for step, and waits for nothing: each fold stands on its
// tensor's own stream, and what comes behind it there may overwrite the tensor. The driver is a double, whose streams
// run nothing until they are waited for or advanced.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <tensorstat/opencl.hpp>
#include <thread>
#include <vector>

#include "tests/device/board_on_gpu.hpp"

namespace tensorstat {
namespace gpu_board_test {

using test::Bytes;
using test::expect_same;
using test::kDtypes;
using test::kSome;
using test::on_host;
using test::OnGpu;

class GpuBoard : public test::BoardOnGpu {};

// Each step has other values, memory, streams, GPUs and another order. Tensors of two steps are collected together.
TEST_F(GpuBoard, StepsHaveTheHostsBits) {
  Meter meter;
  Board board = this->board(meter);
  std::vector<std::vector<void*>> streams;
  for (int device = 0; device < 2; ++device) {
    streams.push_back({nullptr, gpu.stream(device, 0), gpu.stream(device, 1)});
  }
  struct Folded {
    BoardTicket ticket;
    Result<Measurements> values;
  };
  std::vector<Folded> all;
  std::vector<Sample> kept;
  for (int step = 0; step < 6; ++step) {
    std::vector<Sample> now;
    for (const Dtype dtype : kDtypes) {
      for (const std::uint64_t count : {std::uint64_t{70'000}, 1 + random() % 3000, std::uint64_t{500}}) {
        const int device = static_cast<int>(random() % 2);
        now.push_back(sample(dtype, count, streams[static_cast<std::size_t>(device)][random() % 3], device));
      }
    }
    std::ranges::shuffle(now, random);
    for (const Sample& each : now) {
      auto ticket = board.fold(each.tensor);
      ASSERT_TRUE(ticket) << ticket.error().message;
      all.push_back({*std::move(ticket), expected(each.tensor.dtype, each.bytes)});
      if (random() % 2 == 0) gpu.advance(0, streams[0][random() % 3], random() % 9);
    }
    EXPECT_EQ(all.back().ticket.collect().error().code, Code::kInvalid) << "the step has not ended";
    board.end_step();
    for (Sample& each : now) kept.push_back(std::move(each));
    if (step % 2 == 0) continue;
    std::ranges::shuffle(all, random);
    for (const Folded& each : all) {
      const auto result = each.ticket.collect();
      expect_same(result, each.values);
      ASSERT_TRUE(result);
      EXPECT_EQ(result->front().placement[0].engine, "cuda");
    }
    all.clear();
  }
}

// Nothing runs before the first ticket is collected. Meanwhile each tensor is overwritten behind its fold.
TEST_F(GpuBoard, NothingWaitsAndLaterWorkCannotSpoilAValue) {
  Meter meter;
  Board board = this->board(meter);
  void* const side = gpu.stream(0, 0);
  Sample one = sample(Dtype::kFloat32, 70'001), other = sample(Dtype::kFloat32, 70'001, side);
  warm(board, one, 4);
  const Bytes written = samples::one_of(Dtype::kFloat32, 1, 70'001, random);
  const Bytes junk(one.bytes.size(), std::byte{0xff});
  const long waits = gpu.waits();
  std::vector<std::pair<BoardTicket, const Bytes*>> all;
  const auto fold = [&](const Sample& sample, const Bytes& holds) {
    auto ticket = board.fold(sample.tensor);
    ASSERT_TRUE(ticket) << ticket.error().message;
    all.emplace_back(*std::move(ticket), &holds);
  };
  for (int step = 0; step < 2; ++step) {
    for (const Sample* each : {&one, &other}) {
      gpu.write(0, each->tensor.stream, each->memory->pointer(), each->bytes.data(), each->bytes.size());
      fold(*each, each->bytes);
      gpu.write(0, each->tensor.stream, each->memory->pointer(), written.data(), written.size());
      fold(*each, written);
      gpu.write(0, each->tensor.stream, each->memory->pointer(), junk.data(), junk.size());
    }
    board.end_step();
  }
  EXPECT_EQ(gpu.waits(), waits);
  std::ranges::reverse(all);
  for (const auto& [ticket, bytes] : all) expect_same(ticket.collect(), expected(Dtype::kFloat32, *bytes));
}

TEST_F(GpuBoard, InTheSteadyStateATensorIsOneLaunchAndNothingWaits) {
  Meter meter;
  Board board = this->board(meter);
  const Sample tensor = sample(Dtype::kFloat32, 5000);
  constexpr int kTensors = 20;
  warm(board, tensor, kTensors);
  const auto values = expected(Dtype::kFloat32, tensor.bytes);
  for (int step = 0; step < 4; ++step) {
    const long launches = gpu.launches(), waits = gpu.waits(), calls = gpu.calls();
    std::vector<BoardTicket> tickets;
    for (int i = 0; i < kTensors; ++i) tickets.push_back(*board.fold(tensor.tensor));
    board.end_step();
    EXPECT_EQ(gpu.launches() - launches, kTensors);
    EXPECT_EQ(gpu.waits(), waits);
    // Four questions about the memory, the stream's capture, two pairs that set and restore the context, and: a wait
    // for the emptying, the launch, and the lane's stream that follows.
    EXPECT_LE(gpu.calls() - calls, kTensors * 21 + 20);
    for (const BoardTicket& each : tickets) expect_same(each.collect(), values);
  }
}

// What is folded on one stream is copied, and its memory used again, only behind that stream.
TEST_F(GpuBoard, StreamsThatLagAreWaitedFor) {
  Meter meter;
  Board board = this->board(meter);
  void* const slow = gpu.stream(0, 0);
  void* const fast = gpu.stream(0, 0);
  const Sample on_slow = sample(Dtype::kFloat32, 3000, slow), on_fast = sample(Dtype::kFloat32, 3000, fast);
  for (int step = 0; step < 5; ++step) {
    auto first = board.fold(on_slow.tensor), second = board.fold(on_fast.tensor);
    ASSERT_TRUE(first && second);
    gpu.advance(0, fast, 1000);
    board.end_step();
    expect_same(second->collect(), expected(Dtype::kFloat32, on_fast.bytes));
    expect_same(first->collect(), expected(Dtype::kFloat32, on_slow.bytes));
  }
}

TEST_F(GpuBoard, ThreadsFoldWhileStepsEnd) {
  Meter meter;
  Board board = this->board(meter);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, tensor = std::make_shared<Sample>(sample(Dtype::kFloat32, 3000, gpu.stream(0, t % 2)))] {
      const auto values = expected(Dtype::kFloat32, tensor->bytes);
      for (int i = 0; i < 40; ++i) {
        auto ticket = board.fold(tensor->tensor);
        ASSERT_TRUE(ticket) << ticket.error().message;
        board.end_step();
        expect_same(ticket->collect(), values);
      }
    });
  }
  for (std::thread& each : threads) each.join();
}

TEST_F(GpuBoard, EverythingMayGoInAnyOrder) {
  const Sample tensor = sample(Dtype::kFloat32, 3000);
  std::optional<Meter> meter(std::in_place);
  std::optional<Board> board(this->board(*meter));
  auto kept = board->fold(tensor.tensor), dropped = board->fold(tensor.tensor);
  board->end_step();
  auto open = board->fold(tensor.tensor);
  ASSERT_TRUE(kept && dropped && open);
  meter.reset();
  dropped = Error{Code::kInvalid, "dropped"};
  board.reset();
  EXPECT_EQ(open->collect().error().code, Code::kInvalid);
  expect_same(kept->collect(), expected(Dtype::kFloat32, tensor.bytes));
}

TEST_F(GpuBoard, IsHarmlessInAForkedChild) {
  const Sample tensor = sample(Dtype::kFloat32, 3000);
  auto meter = std::make_unique<Meter>();
  auto board = std::make_unique<Board>(this->board(*meter));
  auto ticket = std::make_unique<BoardTicket>(*board->fold(tensor.tensor));
  board->end_step();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const long calls = gpu.calls();
    const bool is_refused = !ticket->collect() && !board->fold(tensor.tensor);
    board->end_step();
    ticket.reset();
    board.reset();
    meter.reset();
    _exit(is_refused && gpu.calls() == calls ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  expect_same(ticket->collect(), expected(Dtype::kFloat32, tensor.bytes));
}

TEST_F(GpuBoard, RefusesWithWords) {
  const Sample tensor = sample(Dtype::kFloat32, 1000);
  Meter meter;
  EXPECT_EQ(Board::on(meter, {.categories = kSome, .on = On::kHost}).error().code, Code::kInvalid);
  EXPECT_EQ(Board::on(meter, {.categories = {Category::kMd5}}).error().code, Code::kUnsupported);
  Board board = this->board(meter);
  const auto expect_refused = [&](const Tensor& tensor, const std::string& why) {
    const auto ticket = board.fold(tensor);
    ASSERT_FALSE(ticket);
    EXPECT_EQ(ticket.error().code, Code::kUnsupported);
    EXPECT_NE(ticket.error().message.find(why), std::string::npos) << ticket.error().message;
  };
  expect_refused(on_host(Dtype::kFloat32, tensor.bytes), "only a tensor in a cl_mem or in a GPU's memory");
  Tensor beyond = tensor.tensor;
  beyond.element_count += 1;
  expect_refused(beyond, "it reaches beyond what is allocated");
  const OnGpu foreign(gpu, tensor.bytes, 0, OnGpu::kForeign);
  Tensor elsewhere = tensor.tensor;
  elsewhere.address = foreign.address();
  expect_refused(elsewhere, "a context that is not the primary one");
  Tensor captured = tensor.tensor;
  captured.stream = gpu.stream(0, 0);
  gpu.capture(captured.stream, 1);
  expect_refused(captured, "its stream is being captured");
  gpu.capture(captured.stream, 0);
  auto ticket = board.fold(captured);
  board.end_step();
  ASSERT_TRUE(ticket) << ticket.error().message;
  expect_same(ticket->collect(), expected(Dtype::kFloat32, tensor.bytes));
}

TEST_F(GpuBoard, ABudgetIsKept) {
  const Sample tensor = sample(Dtype::kFloat32, 1000);
  constexpr std::uint64_t kBudget = std::uint64_t{3} << 20;
  Meter meter({.budget_bytes = kBudget});
  Board board = this->board(meter);
  std::vector<BoardTicket> tickets;
  Status refused;
  for (int i = 0; i < 30'000 && refused; ++i) {
    auto ticket = board.fold(tensor.tensor);
    if (ticket) {
      tickets.push_back(*std::move(ticket));
    } else {
      refused = ticket.error();
    }
  }
  board.end_step();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kOverBudget) << refused.error().message;
  EXPECT_LE(meter.device_memory().peak_bytes, kBudget);
  EXPECT_GT(tickets.size(), 100u);
  expect_same(tickets.back().collect(), expected(Dtype::kFloat32, tensor.bytes));
}

}  // namespace gpu_board_test
}  // namespace tensorstat
