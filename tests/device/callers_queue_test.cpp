// On a caller's queue, tensors in arenas, sub-buffers and host memory give the host's values. Several batches run at
// once, complete in any order, and wait for the caller's events. Before and after, the queue belongs to the caller.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <tensorstat/opencl.hpp>
#include <thread>
#include <vector>

#include "kernels-cl/driver/cl.hpp"
#include "kernels-cl/driver/device.hpp"
#include "tests/support/samples.hpp"

namespace tensorstat {
namespace callers_queue_test {

const Categories kCategories = *categories_from("max,min,avg,l2norm,count,nan-count,zero-count,negative-zero-count");

// Each dtype is a kernel to build in each test, and what a queue does is the same for all. So the quick tests take
// three, of different sizes.
std::vector<Dtype> dtypes() {
  if (samples::full()) return samples::dtypes_on_a_device();
  return {Dtype::kInt8, Dtype::kFloat32, Dtype::kFloat64};
}

class CallersQueue : public testing::TestWithParam<cl_command_queue_properties> {
 protected:
  void SetUp() override {
    auto device = cl_engine::choose_device({});
    ASSERT_TRUE(device) << device.error().message;
    shares_host_memory_ = device->shares_host_memory;
    context_ = cl::Context(device->device);
    cl_int code = CL_SUCCESS;
    queue_ = cl::CommandQueue(context_, device->device, GetParam(), &code);
    ASSERT_EQ(code, CL_SUCCESS);
  }

  // Fills one arena with tensors of several dtypes and sizes, aligned only to their elements.
  void fill_arena(int tensors_a_dtype) {
    for (int i = 0; i < tensors_a_dtype; ++i) {
      for (const Dtype dtype : dtypes()) {
        const std::size_t count = i == 3 ? 0 : random_() % 3000;
        const auto distributions = samples::of(dtype);
        const auto bytes = distributions[random_() % distributions.size()].make(dtype, count, random_);
        const std::size_t offset = (arena_.size() + size_bytes(dtype) - 1) / size_bytes(dtype) * size_bytes(dtype);
        arena_.resize(offset + bytes.size());
        std::ranges::copy(bytes, arena_.begin() + static_cast<std::ptrdiff_t>(offset));
        tensors_.push_back({.dtype = dtype, .element_count = count, .offset_bytes = offset});
      }
    }
  }

  std::vector<Tensor> in(const cl::Buffer& buffer) const {
    std::vector<Tensor> tensors = tensors_;
    for (Tensor& tensor : tensors) tensor.address = buffer(), tensor.where = Where::kClBuffer;
    return tensors;
  }

  Measurements on_host() const {
    std::vector<Tensor> tensors = tensors_;
    for (Tensor& tensor : tensors) tensor.address = arena_.data();
    return *Meter().measure(tensors, {.categories = kCategories, .on = On::kHost});
  }

  static void expect_same(const Measurements& expected, const Result<Measurements>& result) {
    ASSERT_TRUE(result) << result.error().message;
    ASSERT_EQ(expected.size(), result->size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      for (std::size_t k = 0; k < kCategories.size(); ++k) {
        const Value a = expected[i].statistics.values[k], b = (*result)[i].statistics.values[k];
        const bool both_nan = std::holds_alternative<double>(a) && std::holds_alternative<double>(b) &&
                              std::get<double>(a) != std::get<double>(a) && std::get<double>(b) != std::get<double>(b);
        EXPECT_TRUE(both_nan || a == b) << "tensor " << i << ", " << name(kCategories[k]);
        EXPECT_EQ((*result)[i].placement[k].engine, "opencl");
      }
    }
  }

  samples::Random random_{samples::seed()};
  std::vector<std::byte> arena_;
  std::vector<Tensor> tensors_;
  bool shares_host_memory_ = false;
  cl::Context context_;
  cl::CommandQueue queue_;
};
INSTANTIATE_TEST_SUITE_P(Order, CallersQueue,
                         testing::Values(0, cl_command_queue_properties{CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE}),
                         [](const auto& info) { return info.param == 0 ? "In" : "OutOf"; });

TEST_P(CallersQueue, MeasuresAnArena) {
  fill_arena(6);
  const cl::Buffer buffer(context_, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, arena_.size(), arena_.data());
  const auto expected = on_host();
  const auto references_after_a_meter = [&] {
    Meter meter({.queue = queue_()});
    expect_same(expected, meter.measure(in(buffer), {.categories = kCategories, .on = On::kDevice}));
    EXPECT_EQ(queue_.finish(), CL_SUCCESS);
    return queue_.getInfo<CL_QUEUE_REFERENCE_COUNT>();
  };
  // A driver may keep its last events, and with them the queue, for a while. If each meter kept the queue, the count
  // would grow.
  constexpr cl_uint kMeters = 8;
  const cl_uint before = references_after_a_meter();
  for (cl_uint i = 1; i < kMeters; ++i) references_after_a_meter();
  EXPECT_LT(references_after_a_meter(), before + kMeters / 2);
}

TEST_P(CallersQueue, MeasuresSubBuffers) {
  fill_arena(2);
  constexpr std::size_t kOrigin = 4096;
  std::vector<std::byte> shifted(kOrigin + arena_.size(), std::byte{0xff});
  std::ranges::copy(arena_, shifted.begin() + kOrigin);
  cl::Buffer whole(context_, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, shifted.size(), shifted.data());
  const cl_buffer_region region{kOrigin, arena_.size()};
  cl_int code = CL_SUCCESS;
  const cl::Buffer part = whole.createSubBuffer(CL_MEM_READ_ONLY, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
  ASSERT_EQ(code, CL_SUCCESS);
  Meter meter({.queue = queue_()});
  expect_same(on_host(), meter.measure(in(part), {.categories = kCategories, .on = On::kDevice}));
}

// The caller's event completes only after all batches were submitted. The data are written then.
TEST_P(CallersQueue, BatchesWaitForTheCallersEventsAndFlyTogether) {
  fill_arena(4);
  const cl::Buffer buffer(context_, CL_MEM_READ_WRITE, arena_.size());
  cl::UserEvent ready(context_);
  cl::Event written;
  const std::vector<cl::Event> wait{ready};
  ASSERT_EQ(queue_.enqueueWriteBuffer(buffer, CL_FALSE, 0, arena_.size(), arena_.data(), &wait, &written), CL_SUCCESS);
  auto meter = DeviceMeter::on(queue_());
  ASSERT_TRUE(meter) << meter.error().message;
  std::vector<Ticket> tickets;
  void* const after = written();
  for (int i = 0; i < 5; ++i) {
    auto ticket = meter->submit(in(buffer), {.categories = kCategories}, {&after, 1});
    ASSERT_TRUE(ticket) << ticket.error().message;
    cl_int status = CL_COMPLETE;
    ASSERT_EQ(clGetEventInfo(static_cast<cl_event>(ticket->event()), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status,
                             &status, nullptr),
              CL_SUCCESS);
    EXPECT_GT(status, CL_COMPLETE);
    tickets.push_back(*std::move(ticket));
  }
  ready.setStatus(CL_COMPLETE);
  const auto expected = on_host();
  std::ranges::reverse(tickets);
  for (Ticket& ticket : tickets) {
    expect_same(expected, ticket.collect());
    EXPECT_FALSE(ticket.collect());
  }
  // A second round of batches must take no more memory.
  tickets.clear();
  const std::uint64_t peak = meter->device_memory().peak_bytes;
  for (int i = 0; i < 5; ++i) tickets.push_back(*meter->submit(in(buffer), {.categories = kCategories}));
  EXPECT_EQ(meter->device_memory().peak_bytes, peak);
}

// The caller waits for a ticket's event and then overwrites the tensors.
TEST_P(CallersQueue, TheEventGuardsTheTensors) {
  fill_arena(3);
  const cl::Buffer buffer(context_, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, arena_.size(), arena_.data());
  auto meter = DeviceMeter::on(queue_());
  ASSERT_TRUE(meter) << meter.error().message;
  cl::UserEvent ready(context_);
  void* const after = ready();
  auto ticket = meter->submit(in(buffer), {.categories = kCategories}, {&after, 1});
  ASSERT_TRUE(ticket) << ticket.error().message;
  const std::vector<cl::Event> folded{cl::Event(static_cast<cl_event>(ticket->event()), true)};
  cl::Event overwritten;
  ASSERT_EQ(queue_.enqueueFillBuffer(buffer, cl_uchar{0xff}, 0, arena_.size(), &folded, &overwritten), CL_SUCCESS);
  ASSERT_EQ(queue_.flush(), CL_SUCCESS);
  ready.setStatus(CL_COMPLETE);
  ASSERT_EQ(overwritten.wait(), CL_SUCCESS);
  expect_same(on_host(), ticket->collect());
}

// Every second tensor is in an OpenCL buffer, the others are in host memory, each in its own allocation.
TEST_P(CallersQueue, TakesHostMemoryBesideBuffersWhereTheDeviceSharesIt) {
  fill_arena(5);
  const cl::Buffer buffer(context_, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, arena_.size(), arena_.data());
  std::vector<Tensor> tensors = in(buffer);
  std::vector<std::vector<std::byte>> own;
  for (std::size_t i = 1; i < tensors.size(); i += 2) {
    const auto begin = arena_.begin() + static_cast<std::ptrdiff_t>(tensors[i].offset_bytes);
    own.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(tensors[i].bytes()));
    tensors[i].address = own.back().data();
    tensors[i].offset_bytes = 0;
    tensors[i].where = Where::kHost;
  }
  setenv("TENSORSTAT_CL_ZERO_COPY", "1", 1);
  for (const char* pointers : {"1", "0"}) {  // by address, and through a buffer each
    setenv("TENSORSTAT_CL_POINTERS", pointers, 1);
    auto meter = DeviceMeter::on(queue_());
    unsetenv("TENSORSTAT_CL_POINTERS");
    ASSERT_TRUE(meter) << meter.error().message;
    auto ticket = meter->submit(tensors, {.categories = kCategories});
    if (!shares_host_memory_) {
      ASSERT_FALSE(ticket);
      EXPECT_NE(ticket.error().message.find("which the device does not share"), std::string::npos);
      continue;
    }
    ASSERT_TRUE(ticket) << ticket.error().message;
    expect_same(on_host(), ticket->collect());
  }
  unsetenv("TENSORSTAT_CL_ZERO_COPY");
}

TEST_P(CallersQueue, ATicketMayOutliveItsMeterAndMayBeDropped) {
  fill_arena(2);
  const cl::Buffer buffer(context_, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, arena_.size(), arena_.data());
  std::vector<Ticket> tickets;
  {
    auto meter = DeviceMeter::on(queue_());
    ASSERT_TRUE(meter) << meter.error().message;
    for (int i = 0; i < 3; ++i) {
      auto ticket = meter->submit(in(buffer), {.categories = kCategories});
      ASSERT_TRUE(ticket) << ticket.error().message;
      tickets.push_back(*std::move(ticket));
    }
  }
  expect_same(on_host(), tickets[1].collect());
}

TEST_P(CallersQueue, ServesThreads) {
  fill_arena(2);
  const cl::Buffer buffer(context_, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, arena_.size(), arena_.data());
  auto meter = DeviceMeter::on(queue_());
  ASSERT_TRUE(meter) << meter.error().message;
  const auto expected = on_host();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 8; ++i) {
        auto ticket = meter->submit(in(buffer), {.categories = kCategories});
        ASSERT_TRUE(ticket) << ticket.error().message;
        expect_same(expected, ticket->collect());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(CallersQueue, QuantilesOfWhatIsThereAreCountedThere) {
  fill_arena(4);
  const cl::Buffer buffer(context_, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, arena_.size(), arena_.data());
  std::vector<Tensor> here = tensors_;
  for (Tensor& tensor : here) tensor.address = arena_.data();
  Meter meter({.queue = queue_()});
  // The accumulators of device_faults_test, which has the same kernels.
  Categories categories = *categories_from("max,min,avg,l2norm,count,nan-count,zero-count");
  for (const std::uint32_t each : {1'000u, 50'000u, 99'900u}) categories.push_back(quantile(each));
  const auto expected = meter.measure(here, {.categories = categories, .on = On::kHost});
  const auto result = meter.measure(in(buffer), {.categories = categories});
  ASSERT_TRUE(expected) << expected.error().message;
  ASSERT_TRUE(result) << result.error().message;
  for (std::size_t i = 0; i < result->size(); ++i) {
    const Measurement measured = (*result)[i];
    for (std::size_t k = 0; k < categories.size(); ++k) {
      EXPECT_EQ(to_string(measured.statistics.values[k]), to_string((*expected)[i].statistics.values[k]))
          << "tensor " << i << ", " << name(categories[k]);
      EXPECT_EQ(measured.placement[k].engine, "opencl");
    }
  }
  auto on_queue = DeviceMeter::on(queue_());
  ASSERT_TRUE(on_queue) << on_queue.error().message;
  auto ticket = on_queue->submit(in(buffer), {.categories = categories});
  ASSERT_TRUE(ticket) << ticket.error().message;
  const auto collected = ticket->collect();
  ASSERT_TRUE(collected) << collected.error().message;
  ASSERT_EQ(expected->size(), collected->size());
  for (std::size_t i = 0; i < collected->size(); ++i) {
    for (std::size_t k = 0; k < categories.size(); ++k) {
      EXPECT_EQ(to_string((*expected)[i].statistics.values[k]), to_string((*collected)[i].statistics.values[k]));
    }
  }
  ticket = on_queue->submit(in(buffer), {.categories = categories});
  ASSERT_TRUE(ticket) << ticket.error().message;
  const auto partials = ticket->collect_partials();
  ASSERT_TRUE(partials) << partials.error().message;
  const auto folded = meter.fold(here, {.categories = categories, .on = On::kHost});
  for (std::size_t i = 0; i < partials->size(); ++i) EXPECT_EQ((*partials)[i].serialize(), (*folded)[i].serialize());
}

TEST_P(CallersQueue, RefusesWithWords) {
  fill_arena(1);
  setenv("TENSORSTAT_CL_POINTERS", "0", 1);  // a device that follows pointers would take no memory for a batch
  auto meter = DeviceMeter::on(queue_(), 64);
  unsetenv("TENSORSTAT_CL_POINTERS");
  ASSERT_TRUE(meter);
  const cl::Buffer buffer(context_, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, arena_.size(), arena_.data());
  EXPECT_EQ(meter->submit(in(buffer), {.categories = {Category::kMd5}}).error().code, Code::kUnsupported);
  EXPECT_EQ(meter->submit(in(buffer), {.categories = {Category::kMax}, .on = On::kHost}).error().code, Code::kInvalid);
  EXPECT_EQ(meter->submit(in(buffer), {.categories = {Category::kMax}}).error().code, Code::kOverBudget);
  EXPECT_EQ(meter->device_memory().current_bytes, 0u);
  EXPECT_FALSE(DeviceMeter::on(nullptr));
  auto empty = meter->submit({}, {.categories = {Category::kMax}});
  ASSERT_TRUE(empty) << empty.error().message;
  EXPECT_TRUE(empty->collect()->empty());
}

// Pairs of tensors from the arena, shuffled, that wait for an event.
TEST_P(CallersQueue, ComparesPairsBehindAnEvent) {
  fill_arena(2);
  cl::Buffer buffer(context_, CL_MEM_READ_WRITE, arena_.size());
  const cl::UserEvent ready(context_);
  const std::vector<cl::Event> wait{ready};
  cl::Event written;
  queue_.enqueueWriteBuffer(buffer, CL_FALSE, 0, arena_.size(), arena_.data(), &wait, &written);
  std::vector<Tensor> there = in(buffer);
  // Dtypes that must be unpacked are compared on the host, which a ticket cannot use. Each two dtypes need a kernel:
  // the quick test takes two, float32 with itself and with int8.
  std::erase_if(there, [](const Tensor& tensor) {
    return tensor.dtype == Dtype::kFloat8E8m0fnu || (!samples::full() && tensor.dtype == Dtype::kFloat64);
  });
  std::vector<TensorPair> pairs, here;
  for (std::size_t i = 0; i < there.size(); ++i) {
    const std::size_t beside = samples::full() ? (i < 4 ? (i + 1) % 4 : i) : there[i].dtype == Dtype::kInt8 ? i + 1 : i;
    TensorPair pair{there[i], there[beside]};
    pair.a.element_count = pair.b.element_count = std::min(pair.a.element_count, pair.b.element_count);
    pairs.push_back(pair);
    pair.a.address = pair.b.address = arena_.data();
    pair.a.where = pair.b.where = Where::kHost;
    here.push_back(pair);
  }
  auto meter = DeviceMeter::on(queue_());
  ASSERT_TRUE(meter) << meter.error().message;
  void* events[] = {written()};
  const PairRequest request{{1e-3, 1e-6}, 11};
  auto ticket = meter->compare(pairs, request, events);
  ASSERT_TRUE(ticket) << ticket.error().message;
  cl_int status = CL_COMPLETE;
  clGetEventInfo(static_cast<cl_event>(ticket->event()), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                 nullptr);
  EXPECT_GT(status, CL_COMPLETE) << "it ran before what it has to wait for";
  cl::UserEvent(ready).setStatus(CL_COMPLETE);
  const auto result = ticket->collect();
  ASSERT_TRUE(result) << result.error().message;
  const auto expected = Meter().compare(here, {request.tolerance, 11, On::kHost});
  for (std::size_t i = 0; i < pairs.size(); ++i) EXPECT_EQ((*result)[i].serialize(), (*expected)[i].serialize()) << i;
  EXPECT_FALSE(ticket->collect()) << "twice";
  EXPECT_FALSE(meter->compare(pairs, {.on = On::kHost}));
}

}  // namespace callers_queue_test
}  // namespace tensorstat
