// A board gives the host's bits, step for step, and waits for nothing: neither the folds nor the end of a step, and the
// next command of the queue may overwrite or release a tensor. In the steady state a tensor is one launch.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <tensorstat/opencl.hpp>
#include <thread>
#include <vector>

#include "kernels-cl/driver/cl.hpp"
#include "kernels-cl/driver/device.hpp"
#include "tests/support/cl_layer/loaded.hpp"
#include "tests/support/samples.hpp"

namespace tensorstat {
namespace board_test {

// The accumulators of callers_queue_test, which has the same kernels.
const Categories kCategories = *categories_from("max,min,avg,l2norm,count,nan-count,zero-count,negative-zero-count");

std::vector<Dtype> dtypes() {
  if (samples::full()) return samples::dtypes_on_a_device();
  return {Dtype::kInt8, Dtype::kFloat32};
}

// How the device is used: in the host's address space, through buffers, and through buffers by work-groups.
struct Way {
  const char* name;
  std::vector<std::array<const char*, 2>> variables;
};

class BoardTest : public testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    static_cast<void>(cl_layer());
    for (const auto& [name, value] : GetParam().variables) setenv(name, value, 1);
    auto device = cl_engine::choose_device({});
    ASSERT_TRUE(device) << device.error().message;
    device_ = device->device;
    context_ = cl::Context(device_);
    queue_ = cl::CommandQueue(context_, device_);
  }
  void TearDown() override {
    for (const auto& [name, value] : GetParam().variables) unsetenv(name);
  }

  struct Sample {
    Tensor tensor;
    std::vector<std::byte> bytes;
  };

  Sample sample(Dtype dtype, std::size_t count) {
    const auto distributions = samples::of(dtype);
    Sample made{{.dtype = dtype, .element_count = count},
                distributions[random_() % distributions.size()].make(dtype, count, random_)};
    return made;
  }

  // An arena with tensors of several dtypes, of which some have several slices and one has no elements.
  std::vector<Sample> arena(std::vector<std::byte>& bytes) {
    std::vector<Sample> all;
    for (const Dtype dtype : dtypes()) {
      for (const std::size_t count : {std::size_t{300'000}, random_() % 3000, random_() % 3000, std::size_t{0}}) {
        all.push_back(sample(dtype, count));
        const std::size_t size = size_bytes(dtype), offset = (bytes.size() + size - 1) / size * size;
        all.back().tensor.offset_bytes = offset;
        bytes.resize(offset + all.back().bytes.size());
        std::ranges::copy(all.back().bytes, bytes.begin() + static_cast<std::ptrdiff_t>(offset));
      }
    }
    return all;
  }

  static std::vector<Value> on_host(const Sample& sample) {
    Tensor tensor = sample.tensor;
    tensor.address = sample.bytes.data();
    tensor.offset_bytes = 0;
    const auto result = Meter().measure({&tensor, 1}, {.categories = kCategories, .on = On::kHost});
    return Statistics(result->front().statistics).values;
  }
  static void expect_same(const std::vector<Value>& expected, const Result<Measurements>& result) {
    ASSERT_TRUE(result) << result.error().message;
    const std::vector<Value> values = Statistics(result->front().statistics).values;
    for (std::size_t i = 0; i < kCategories.size(); ++i) {
      EXPECT_EQ(to_string(values[i]), to_string(expected[i])) << name(kCategories[i]);
      if (const auto* const number = std::get_if<double>(&values[i]); number != nullptr && *number == *number) {
        EXPECT_EQ(std::memcmp(number, &std::get<double>(expected[i]), sizeof *number), 0) << name(kCategories[i]);
      }
    }
    EXPECT_EQ(result->front().placement[0].engine, "opencl");
  }

  Board board(Meter& meter) {
    auto made = Board::on(meter, {.categories = kCategories});
    if (!made) throw std::runtime_error(made.error().message);
    return *std::move(made);
  }

  static Tensor in(const cl::Buffer& buffer, Tensor tensor) {
    tensor.address = buffer();
    tensor.where = Where::kClBuffer;
    return tensor;
  }

  samples::Random random_{samples::seed()};
  cl::Device device_;
  cl::Context context_;
  cl::CommandQueue queue_;
};
INSTANTIATE_TEST_SUITE_P(Way, BoardTest,
                         testing::Values(Way{"InPlace", {}}, Way{"Buffers", {{"TENSORSTAT_CL_POINTERS", "0"}}},
                                         Way{"Groups",
                                             {{"TENSORSTAT_CL_POINTERS", "0"}, {"TENSORSTAT_CL_SHAPE", "group"}}}),
                         [](const auto& info) { return std::string(info.param.name); });

// Each step has other values, other buffers and another order. Tensors of two steps are collected together.
TEST_P(BoardTest, StepsHaveTheHostsBits) {
  Meter meter({.queue = queue_()});
  Board board = this->board(meter);
  struct Expected {
    BoardTicket ticket;
    std::vector<Value> values;
  };
  std::vector<Expected> all;
  std::vector<cl::Buffer> buffers;
  for (int step = 0; step < 6; ++step) {
    std::vector<std::byte> bytes;
    std::vector<Sample> tensors = arena(bytes);
    buffers.emplace_back(context_, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes.size(), bytes.data());
    std::ranges::shuffle(tensors, random_);
    for (const Sample& each : tensors) {
      auto ticket = board.fold(in(buffers.back(), each.tensor));
      ASSERT_TRUE(ticket) << ticket.error().message;
      all.push_back({*std::move(ticket), on_host(each)});
    }
    EXPECT_EQ(all.back().ticket.collect().error().code, Code::kInvalid) << "the step has not ended";
    board.end_step();
    if (step % 2 == 0) continue;
    std::ranges::shuffle(all, random_);
    for (const Expected& each : all) expect_same(each.values, each.ticket.collect());
    all.clear();
  }
}

// Statistics that depend on a slice's place in its tensor, and on words beside the slices.
TEST_P(BoardTest, IndicesChecksumsAndCastsHaveTheHostsBits) {
  if (GetParam().name == std::string("Groups") && !samples::full())
    GTEST_SKIP() << "pocl builds this kernel for a minute";
  const Request request{.categories = *categories_from("first nan index,argmax,crc32,e4m3fn underflow"),
                        .cast_scale = 0.125};
  Meter meter({.queue = queue_()});
  auto board = Board::on(meter, request);
  ASSERT_TRUE(board) << board.error().message;
  Sample sample = this->sample(Dtype::kFloat32, 200'000);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(&sample.bytes[4 * 150'000], &nan, sizeof nan);
  const cl::Buffer buffer(context_, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sample.bytes.size(), sample.bytes.data());
  Tensor here = sample.tensor;
  here.address = sample.bytes.data();
  Request on_host = request;
  on_host.on = On::kHost;
  const auto expected = Meter().measure({&here, 1}, on_host);
  ASSERT_TRUE(expected) << expected.error().message;
  for (int step = 0; step < 3; ++step) {
    const auto small = board->fold(in(buffer, {.dtype = Dtype::kFloat32, .element_count = 10 + std::uint64_t(step)}));
    const auto ticket = board->fold(in(buffer, sample.tensor));
    ASSERT_TRUE(small && ticket);
    board->end_step();
    const auto result = ticket->collect();
    ASSERT_TRUE(result) << result.error().message;
    for (std::size_t i = 0; i < request.categories.size(); ++i) {
      EXPECT_EQ(to_string(result->front().statistics.values[i]), to_string(expected->front().statistics.values[i]))
          << name(request.categories[i]);
    }
  }
}

// The queue is held by an event that the caller sets only after both steps were handed over. Meanwhile the tensor is
// overwritten behind each fold and at last released.
TEST_P(BoardTest, NothingWaitsAndLaterCommandsCannotSpoilAValue) {
  Meter meter({.queue = queue_()});
  Board board = this->board(meter);
  const Sample first = sample(Dtype::kFloat32, 70'001), second = sample(Dtype::kFloat32, 70'001);
  {  // makes the kernel, which may wait
    const cl::Buffer buffer(context_, CL_MEM_READ_WRITE, first.bytes.size());
    ASSERT_TRUE(board.fold(in(buffer, first.tensor)));
    board.end_step();
  }
  ASSERT_EQ(queue_.finish(), CL_SUCCESS);
  cl::UserEvent set(context_);
  const std::vector<cl::Event> wait{set};
  std::optional<cl::Buffer> buffer(std::in_place, context_, CL_MEM_READ_WRITE, first.bytes.size());
  ASSERT_EQ(queue_.enqueueWriteBuffer(*buffer, CL_FALSE, 0, first.bytes.size(), first.bytes.data(), &wait), CL_SUCCESS);
  auto one = board.fold(in(*buffer, first.tensor));
  ASSERT_EQ(queue_.enqueueWriteBuffer(*buffer, CL_FALSE, 0, second.bytes.size(), second.bytes.data()), CL_SUCCESS);
  auto two = board.fold(in(*buffer, second.tensor));
  board.end_step();
  auto three = board.fold(in(*buffer, second.tensor));
  cl::Event overwritten;
  ASSERT_EQ(queue_.enqueueFillBuffer(*buffer, cl_uchar{0xff}, 0, second.bytes.size(), nullptr, &overwritten),
            CL_SUCCESS);
  board.end_step();
  buffer.reset();
  EXPECT_GT(overwritten.getInfo<CL_EVENT_COMMAND_EXECUTION_STATUS>(), CL_COMPLETE) << "the queue was not held";
  set.setStatus(CL_COMPLETE);
  ASSERT_TRUE(one && two && three);
  expect_same(on_host(second), three->collect());
  expect_same(on_host(first), one->collect());
  expect_same(on_host(second), two->collect());
}

TEST_P(BoardTest, InTheSteadyStateATensorIsOneLaunch) {
  ClLayer& layer = cl_layer();
  Meter meter({.queue = queue_()});
  Board board = this->board(meter);
  const Sample tensor = sample(Dtype::kFloat32, 5000);
  const cl::Buffer buffer(context_, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, tensor.bytes.size(),
                          const_cast<std::byte*>(tensor.bytes.data()));
  constexpr int kTensors = 20;
  std::int64_t calls_of_last = 0, buffers_of_last = 0;
  for (int step = 0; step < 4; ++step) {
    layer.kernels = 0;
    layer.calls = 0;
    std::vector<BoardTicket> tickets;
    for (int i = 0; i < kTensors; ++i) tickets.push_back(*board.fold(in(buffer, tensor.tensor)));
    const std::int64_t calls = layer.calls;
    board.end_step();
    for (const BoardTicket& each : tickets) expect_same(on_host(tensor), each.collect());
    if (step >= 2) {
      EXPECT_EQ(layer.kernels, kTensors);
      EXPECT_EQ(calls, calls_of_last);
      EXPECT_EQ(layer.buffer_bytes, buffers_of_last);
      // Three questions about the cl_mem, four arguments and the launch; once a step an upload empties the board.
      EXPECT_LE(calls, kTensors * 8 + 1);
    }
    calls_of_last = calls;
    buffers_of_last = layer.buffer_bytes;
  }
}

// A launch that does not run loses its tensor alone.
TEST_P(BoardTest, AKernelThatWasLostIsNoticed) {
  ClLayer& layer = cl_layer();
  Meter meter({.queue = queue_()});
  Board board = this->board(meter);
  const Sample tensor = sample(Dtype::kFloat32, 5000);
  const cl::Buffer buffer(context_, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, tensor.bytes.size(),
                          const_cast<std::byte*>(tensor.bytes.data()));
  for (int step = 0; step < 3; ++step) {
    std::vector<BoardTicket> tickets;
    if (step == 1) layer.kernels = 0, layer.lose_kernel_at = 3;
    for (int i = 0; i < 5; ++i) tickets.push_back(*board.fold(in(buffer, tensor.tensor)));
    board.end_step();
    for (int i = 0; i < 5; ++i) {
      const auto result = tickets[static_cast<std::size_t>(i)].collect();
      if (step == 1 && i == 2) {
        ASSERT_FALSE(result);
        EXPECT_EQ(result.error().code, Code::kDevice);
      } else {
        expect_same(on_host(tensor), result);
      }
    }
    layer.lose_kernel_at = 0;
  }
}

TEST_P(BoardTest, ThreadsFoldWhileStepsEnd) {
  Meter meter({.queue = queue_()});
  Board board = this->board(meter);
  const Sample tensor = sample(Dtype::kFloat32, 3000);
  const std::vector<Value> expected = on_host(tensor);
  const cl::Buffer buffer(context_, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, tensor.bytes.size(),
                          const_cast<std::byte*>(tensor.bytes.data()));
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 40; ++i) {
        auto ticket = board.fold(in(buffer, tensor.tensor));
        ASSERT_TRUE(ticket) << ticket.error().message;
        board.end_step();
        expect_same(expected, ticket->collect());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(BoardTest, EverythingMayGoInAnyOrder) {
  ClLayer& layer = cl_layer();
  const std::int64_t references = layer.references;
  const Sample tensor = sample(Dtype::kFloat32, 3000);
  {
    const cl::Buffer buffer(context_, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, tensor.bytes.size(),
                            const_cast<std::byte*>(tensor.bytes.data()));
    std::optional<Meter> meter(std::in_place, MeterOptions{.queue = queue_()});
    std::optional<Board> board(this->board(*meter));
    auto kept = board->fold(in(buffer, tensor.tensor));
    auto dropped = board->fold(in(buffer, tensor.tensor));
    board->end_step();
    auto open = board->fold(in(buffer, tensor.tensor));
    ASSERT_TRUE(kept && dropped && open);
    meter.reset();
    dropped = Error{Code::kInvalid, "dropped"};
    board.reset();
    EXPECT_EQ(open->collect().error().code, Code::kInvalid);
    expect_same(on_host(tensor), kept->collect());
  }
  EXPECT_EQ(layer.references, references);
}

TEST_P(BoardTest, RefusesWithWords) {
  Meter meter({.queue = queue_()}), without_queue;
  const Sample tensor = sample(Dtype::kFloat32, 100);
  for (const Categories& none : {Categories{}, Categories{Category::kMd5}, Categories{quantile(50'000)}}) {
    EXPECT_FALSE(Board::on(meter, {.categories = none}));
  }
  EXPECT_EQ(Board::on(meter, {.categories = kCategories, .on = On::kHost}).error().code, Code::kInvalid);
  auto without = Board::on(without_queue, {.categories = kCategories});  // for tensors in a GPU's memory
  ASSERT_TRUE(without) << without.error().message;
  const cl::CommandQueue unordered(context_, device_, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  Meter of_unordered({.queue = unordered()});
  EXPECT_EQ(Board::on(of_unordered, {.categories = kCategories}).error().code, Code::kUnsupported);
  Board board = this->board(meter);
  const cl::Context other_context(device_);
  const cl::Buffer elsewhere(other_context, CL_MEM_READ_WRITE, 400), here(context_, CL_MEM_READ_WRITE, 400);
  EXPECT_EQ(board.fold(in(elsewhere, tensor.tensor)).error().code, Code::kUnsupported);
  EXPECT_EQ(without->fold(in(here, tensor.tensor)).error().message,
            "a Board of a tensor in a cl_mem requires MeterOptions::queue");
  Tensor on_host = tensor.tensor;
  on_host.address = tensor.bytes.data();
  EXPECT_EQ(board.fold(on_host).error().code, Code::kUnsupported);
  Tensor beyond = in(here, tensor.tensor);
  beyond.offset_bytes = 4;
  EXPECT_EQ(board.fold(beyond).error().code, Code::kInvalid);
  Meter poor({.budget_bytes = 64 << 10, .queue = queue_()});
  Board small = this->board(poor);
  std::vector<BoardTicket> tickets;
  Status refused;
  for (int i = 0; i < 4000 && refused; ++i) {
    auto ticket = small.fold(in(here, tensor.tensor));
    if (ticket) {
      tickets.push_back(*std::move(ticket));
    } else {
      refused = ticket.error();
    }
  }
  small.end_step();
  if (GetParam().variables.empty()) return;  // no device memory: nothing counts
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kOverBudget);
  EXPECT_GT(tickets.size(), 10u);
  EXPECT_LE(poor.device_memory().peak_bytes, std::uint64_t{64} << 10);
  for (const BoardTicket& each : tickets) EXPECT_TRUE(each.collect());
}

}  // namespace board_test
}  // namespace tensorstat
