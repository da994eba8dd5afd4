// Any OpenCL call may fail with any code, once or from then on. Then the rows equal the host's; or, if the caller asked
// for the device, there is an error with a message. Nothing leaks, and the next run is clean. A kernel that silently
// did not run is detected. TENSORSTAT_FULL=1 tries every call with every code.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <tensorstat/opencl.hpp>
#include <vector>

#include "kernels-cl/driver/cl.hpp"
#include "kernels-cl/driver/device.hpp"
#include "tests/support/cl_layer/loaded.hpp"
#include "tests/support/samples.hpp"

namespace tensorstat {
namespace device_faults_test {

const Categories kCategories = *categories_from("max,min,avg,l2norm,count,nan-count,zero-count,p50");
constexpr int kCodes[] = {CL_OUT_OF_RESOURCES, CL_OUT_OF_HOST_MEMORY,   CL_MEM_OBJECT_ALLOCATION_FAILURE,
                          CL_INVALID_VALUE,    CL_DEVICE_NOT_AVAILABLE, CL_INVALID_COMMAND_QUEUE};

constexpr std::size_t kElements = 600'000;  // enough for the device to be chosen

using Rows = std::vector<std::vector<Value>>;

// The number of injected faults in all tests of this file.
int faults_injected = 0;

class AreEnough : public testing::Environment {
  void TearDown() override {
    const auto& tests = *testing::UnitTest::GetInstance();
    std::printf("%d faults\n", faults_injected);
    if (tests.test_to_run_count() == tests.total_test_count()) {
      EXPECT_GE(faults_injected, samples::full() ? 8000 : 150);
    }
  }
};
const auto* const kAreEnough = testing::AddGlobalTestEnvironment(new AreEnough);

class DeviceFaults : public testing::Test {
 protected:
  void SetUp() override {
    setenv("TENSORSTAT_CL_AUTO", "1", 1);
    for (const Dtype dtype : {Dtype::kFloat32, Dtype::kInt8}) {
      bytes_.push_back(samples::of(dtype)[0].make(dtype, kElements, random_));
      tensors_.push_back({.dtype = dtype, .element_count = kElements, .address = bytes_.back().data()});
    }
    expected_ = rows(*Meter().measure(tensors_, {.categories = kCategories, .on = On::kHost}));
  }

  static Rows rows(const Measurements& measurements) {
    Rows all;
    for (const Measurement& each : measurements) all.push_back(Statistics(each.statistics).values);
    return all;
  }
  static Result<Rows> rows(const Result<Measurements>& measured) {
    if (!measured) return measured.error();
    return rows(*measured);
  }

  static Result<Rows> rows(const Result<std::vector<PairPartial>>& compared) {
    if (!compared) return compared.error();
    Rows all;
    for (const PairPartial& partial : *compared) {
      std::vector<Value>& row = all.emplace_back();
      for (int i = 0; i < kPairStatisticCount; ++i) row.push_back(partial.finish(static_cast<PairStatistic>(i)));
    }
    return all;
  }

  // A run returns rows, or an error if that is allowed.
  using Run = std::function<Result<Rows>()>;

  Result<Rows> on_auto() const { return rows(Meter().measure(tensors_, {.categories = kCategories, .on = On::kAuto})); }
  Result<Rows> on_device() const {
    return rows(Meter().measure(tensors_, {.categories = kCategories, .on = On::kDevice}));
  }

  Result<Rows> streamed(On on) const {
    constexpr std::size_t kPieceBytes = 1'200'000;
    Meter meter({.budget_bytes = std::uint64_t{4} << 20});
    Rows all;
    for (const Tensor& tensor : tensors_) {
      auto stream = meter.stream(tensor.dtype, {.categories = kCategories, .on = on});
      if (!stream) return stream.error();
      const auto* bytes = static_cast<const std::byte*>(tensor.address);
      for (std::size_t offset = 0; offset < tensor.bytes(); offset += kPieceBytes) {
        const std::size_t size = std::min<std::size_t>(kPieceBytes, tensor.bytes() - offset);
        const std::vector<std::byte> piece(bytes + offset, bytes + offset + size);
        if (Status status = stream->append(piece); !status) return status.error();
      }
      const auto result = rows(stream->finish());
      if (!result) return result.error();
      all.push_back(result->front());
    }
    return all;
  }

  // Which calls of a run fail: in the full tests all, else a sample.
  static bool tried(std::int64_t call, std::int64_t calls) {
    return samples::full() || call % (calls / 8 + 1) == 0 || call > calls - 3;
  }

  void hold(const char* what, const Run& run, bool may_refuse) {
    ClLayer& layer = cl_layer();
    const auto references = layer.references.load();
    ASSERT_TRUE(run());
    layer.calls = 0;
    ASSERT_TRUE(run());
    const std::int64_t calls = layer.calls;
    ASSERT_GT(calls, 30);
    int faults = 0, refusals = 0;
    for (std::int64_t call = 1; call <= calls; ++call) {
      if (!tried(call, calls)) continue;
      for (const int code : kCodes) {
        if (!samples::full() && code != kCodes[call % 6]) continue;
        for (const bool sticky : {false, true}) {
          layer.calls = 0;
          layer.code = code;
          layer.sticky = sticky;
          layer.fail_at = call;
          const auto result = run();
          layer.fail_at = 0;
          ++faults;
          const std::string where = std::string(what) + ", call " + std::to_string(call) + " of " +
                                    std::to_string(calls) + ", code " + std::to_string(code) +
                                    (sticky ? ", sticky" : "");
          if (result) {
            ASSERT_EQ(*result, expected_) << where;
            rows_after_one_fault_ += !sticky;
          } else {
            ++refusals;
            ASSERT_TRUE(may_refuse) << where << ": " << result.error().message;
            ASSERT_FALSE(result.error().message.empty()) << where;
          }
          ASSERT_EQ(layer.references, references) << where;
          ASSERT_EQ(layer.buffer_bytes, 0) << where;
        }
      }
    }
    const auto clean = run();
    ASSERT_TRUE(clean) << clean.error().message;
    EXPECT_EQ(*clean, expected_);
    faults_injected += faults;
    std::printf("%s: %d faults over %d calls, %d errors\n", what, faults, static_cast<int>(calls), refusals);
  }

  samples::Random random_{samples::seed()};
  std::vector<std::vector<std::byte>> bytes_;
  std::vector<Tensor> tensors_;
  Rows expected_;
  int rows_after_one_fault_ = 0;  // runs that returned rows after one failed call
};

TEST_F(DeviceFaults, TheHostTakesOver) {
  hold(
      "shared host memory", [this] { return on_auto(); }, false);
}

TEST_F(DeviceFaults, TheHostTakesOverFromBuffers) {
  setenv("TENSORSTAT_CL_POINTERS", "0", 1);
  setenv("TENSORSTAT_CL_ZERO_COPY", "1", 1);
  hold(
      "host memory seen through buffers", [this] { return on_auto(); }, false);
  unsetenv("TENSORSTAT_CL_ZERO_COPY");
  unsetenv("TENSORSTAT_CL_POINTERS");
}

// Other processes may hold the device's memory for a while. The next cl_mem may be usable where this one was not.
TEST_F(DeviceFaults, ADeviceThatWasFullIsUsedAgain) {
  setenv("TENSORSTAT_CL_POINTERS", "0", 1);
  setenv("TENSORSTAT_CL_ZERO_COPY", "1", 1);
  ClLayer& layer = cl_layer();
  const Request request{.categories = kCategories};
  for (const int code : {CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_INVALID_MEM_OBJECT}) {
    Meter meter;
    ASSERT_TRUE(meter.measure(tensors_, request));  // builds the kernels
    layer.calls = 0;
    ASSERT_TRUE(meter.measure(tensors_, request));
    const std::int64_t calls = layer.calls;
    layer.code = code;
    int failures = 0;
    for (std::int64_t call = 1; call <= calls; ++call) {
      layer.calls = 0;
      layer.fail_at = call;
      const auto failed = meter.measure(tensors_, request);
      layer.fail_at = 0;
      ASSERT_TRUE(failed) << failed.error().message;
      EXPECT_EQ(rows(*failed), expected_);
      failures += failed->front().placement[0].engine == "host";
      const auto next = meter.measure(tensors_, request);
      ASSERT_TRUE(next);
      ASSERT_EQ(next->front().placement[0].engine, "opencl") << "call " << call << ", code " << code;
    }
    EXPECT_GT(failures, 5);
  }
  unsetenv("TENSORSTAT_CL_ZERO_COPY");
  unsetenv("TENSORSTAT_CL_POINTERS");
}

TEST_F(DeviceFaults, UploadsFailWithWords) {
  setenv("TENSORSTAT_CL_ZERO_COPY", "0", 1);
  hold(
      "uploaded host memory", [this] { return on_device(); }, true);
  unsetenv("TENSORSTAT_CL_ZERO_COPY");
}

TEST_F(DeviceFaults, GroupsTakeOverLikewise) {
  setenv("TENSORSTAT_CL_SHAPE", "group", 1);
  hold(
      "work-groups", [this] { return on_auto(); }, false);
  unsetenv("TENSORSTAT_CL_SHAPE");
}

TEST_F(DeviceFaults, AStreamGoesOnOnTheHost) {
  hold(
      "stream", [this] { return streamed(On::kAuto); }, false);
}

// Each part is freed before the next one comes, as a caller's memory may be.
TEST_F(DeviceFaults, AnUploadedStreamFailsWithWords) {
  setenv("TENSORSTAT_CL_ZERO_COPY", "0", 1);
  hold(
      "uploaded stream", [this] { return streamed(On::kDevice); }, true);
  unsetenv("TENSORSTAT_CL_ZERO_COPY");
}

// Loses each kernel in turn, those that probe and those that count.
TEST_F(DeviceFaults, LostKernelsAreNoticed) {
  ClLayer& layer = cl_layer();
  ASSERT_TRUE(on_device());
  layer.kernels = 0;
  ASSERT_TRUE(on_device());
  const std::int64_t kernels = layer.kernels;
  ASSERT_GE(kernels, 4);
  int noticed = 0;
  for (std::int64_t lost = 1; lost <= kernels; ++lost) {
    for (const On on : {On::kAuto, On::kDevice}) {
      layer.kernels = 0;
      layer.lose_kernel_at = lost;
      const auto result = on == On::kAuto ? on_auto() : on_device();
      layer.lose_kernel_at = 0;
      if (result) {  // the host took over, or the kernel was built again
        EXPECT_EQ(*result, expected_) << "kernel " << lost;
      } else {
        EXPECT_EQ(on, On::kDevice) << "kernel " << lost << ": " << result.error().message;
        ++noticed;
      }
    }
  }
  EXPECT_GT(noticed, 0);
}

// The device gets the batch in several launches. Tensors that are done stay done; the others are measured once.
class FaultsAmongMany : public DeviceFaults {
 protected:
  void SetUp() override {
    DeviceFaults::SetUp();
    constexpr std::uint64_t kEach = 9, kCount = 40'000;
    const std::byte* const floats = bytes_[0].data();
    tensors_.clear();
    for (std::uint64_t i = 0; i < kCount; ++i) {
      tensors_.push_back({.dtype = Dtype::kFloat32, .element_count = kEach, .address = floats + 4 * kEach * i});
    }
    expected_ = rows(*Meter().measure(tensors_, {.categories = kCategories, .on = On::kHost}));
  }
};

TEST_F(FaultsAmongMany, TheHostDoesTheRest) {
  int divided = 0;
  hold(
      "many tensors",
      [&]() -> Result<Rows> {
        auto result = Meter().measure(tensors_, {.categories = kCategories, .on = On::kAuto});
        if (!result) return result.error();
        divided += result->front().placement[0].engine != (*result)[tensors_.size() - 1].placement[0].engine;
        return rows(*result);
      },
      false);
  EXPECT_GT(divided, 0);
}

TEST_F(FaultsAmongMany, NoPartialHoldsATensorTwice) {
  hold(
      "partials of many tensors",
      [&]() -> Result<Rows> {
        const auto folded = Meter().fold(tensors_, {.categories = kCategories, .on = On::kAuto});
        if (!folded) return folded.error();
        Rows all;
        for (const Partial& each : *folded) {
          all.emplace_back();
          for (const Category category : kCategories) all.back().push_back(each.finish(category));
        }
        return all;
      },
      false);
}

// Two pairs of tensors, one of them large. The values of each pair are a row.
class PairFaults : public DeviceFaults {
 protected:
  void SetUp() override {
    DeviceFaults::SetUp();
    pairs_ = {{tensors_[0], tensors_[0]}, {tensors_[1], tensors_[0]}};
    pairs_[0].b.element_count = pairs_[0].a.element_count = kElements / 2;
    pairs_[0].b.offset_bytes = kElements / 2 * sizeof(float);
    expected_ = *compared(On::kHost);
  }

  Result<Rows> compared(On on) const { return rows(Meter().compare(pairs_, {{1e-3, 1e-5}, 5, on})); }

  std::vector<TensorPair> pairs_;
};

TEST_F(PairFaults, TheHostTakesOver) {
  hold(
      "pairs in shared host memory", [this] { return compared(On::kAuto); }, false);
}

TEST_F(PairFaults, TheHostTakesOverFromBuffers) {
  setenv("TENSORSTAT_CL_POINTERS", "0", 1);
  setenv("TENSORSTAT_CL_ZERO_COPY", "1", 1);
  hold(
      "pairs seen through buffers", [this] { return compared(On::kAuto); }, false);
  unsetenv("TENSORSTAT_CL_ZERO_COPY");
  unsetenv("TENSORSTAT_CL_POINTERS");
}

TEST_F(PairFaults, UploadsFailWithWords) {
  setenv("TENSORSTAT_CL_ZERO_COPY", "0", 1);
  hold(
      "uploaded pairs", [this] { return compared(On::kDevice); }, true);
  unsetenv("TENSORSTAT_CL_ZERO_COPY");
}

// In the caller's memory, on the caller's queue: rows or an error with a message, and the next batch is clean.
class CallersFaults : public DeviceFaults {
 protected:
  void SetUp() override {
    DeviceFaults::SetUp();
    static_cast<void>(cl_layer());
    auto device = cl_engine::choose_device({});
    ASSERT_TRUE(device);
    context_ = cl::Context(device->device);
    queue_ = cl::CommandQueue(context_, device->device);
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      buffers_.emplace_back(context_, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, bytes_[i].size(), bytes_[i].data());
      tensors_[i].address = buffers_[i]();
      tensors_[i].where = Where::kClBuffer;
    }
  }

  cl::Context context_;
  cl::CommandQueue queue_;
  std::vector<cl::Buffer> buffers_;
};

TEST_F(CallersFaults, AMeterReadsBackWhatItCan) {
  int read_back = 0, from_host = 0;
  hold(
      "caller's memory",
      [&]() -> Result<Rows> {
        Meter meter({.queue = queue_()});
        const auto result = meter.measure(tensors_, {.categories = kCategories, .on = On::kAuto});
        if (!result) return result.error();
        from_host += result->front().placement[0].engine == "host";
        for (std::size_t i = 0; i < tensors_.size(); ++i) {
          std::vector<std::byte> bytes(tensors_[i].bytes());
          if (!meter.read(tensors_[i], 0, bytes)) continue;
          ++read_back;
          EXPECT_TRUE(bytes == bytes_[i]);
        }
        return rows(*result);
      },
      true);
  std::printf("%d runs with rows after one fault, %d by the host; %d tensors read back\n", rows_after_one_fault_,
              from_host, read_back);
  EXPECT_GT(rows_after_one_fault_, 0);
  EXPECT_GT(from_host, 0) << "a kernel that failed, and a read that did not";
  EXPECT_GT(read_back, from_host);
}

TEST_F(CallersFaults, AMeterReadsACopyBack) {
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    buffers_[i] =
        cl::Buffer(context_, CL_MEM_HOST_NO_ACCESS | CL_MEM_COPY_HOST_PTR, bytes_[i].size(), bytes_[i].data());
    tensors_[i].address = buffers_[i]();
  }
  const auto buffers = cl_layer().buffer_bytes.exchange(0);
  hold(
      "copies read back",
      [this] {
        return rows(Meter({.queue = queue_()}).measure(tensors_, {.categories = kCategories, .on = On::kHost}));
      },
      true);
  cl_layer().buffer_bytes += buffers;
}

// Also for a pair with one tensor in host memory and one on the device.
TEST_F(CallersFaults, AMeterReadsPairsBack) {
  const Tensor here{.dtype = tensors_[0].dtype, .element_count = kElements, .address = bytes_[0].data()};
  const std::vector<TensorPair> pairs{{tensors_[0], tensors_[1]}, {tensors_[1], here}};
  expected_ = *rows(Meter({.queue = queue_()}).compare(pairs, {.on = On::kHost}));
  hold(
      "caller's pairs", [&] { return rows(Meter({.queue = queue_()}).compare(pairs)); }, true);
  EXPECT_GT(rows_after_one_fault_, 0);
}

TEST_F(CallersFaults, ATicketOfPairsTells) {
  const std::vector<TensorPair> pairs{{tensors_[0], tensors_[1]}, {tensors_[1], tensors_[1]}};
  expected_ = *rows(Meter({.queue = queue_()}).compare(pairs, {.on = On::kHost}));
  hold(
      "tickets of pairs",
      [&]() -> Result<Rows> {
        auto meter = DeviceMeter::on(queue_());
        if (!meter) return meter.error();
        auto ticket = meter->compare(pairs);
        if (!ticket) return ticket.error();
        return rows(ticket->collect());
      },
      true);
}

TEST_F(CallersFaults, ATicketTells) {
  hold(
      "tickets",
      [this]() -> Result<Rows> {
        auto meter = DeviceMeter::on(queue_());
        if (!meter) return meter.error();
        auto first = meter->submit(tensors_, {.categories = kCategories});
        auto second = meter->submit(tensors_, {.categories = kCategories});
        if (!first) return first.error();
        if (!second) return second.error();
        if (auto rows = second->collect(); !rows) return rows.error();
        return rows(first->collect());
      },
      true);
}

// Two steps: the second uses the memory of the first.
TEST_F(CallersFaults, ABoardTells) {
  const Categories categories(kCategories.begin(), kCategories.end() - 1);  // without quantiles
  for (std::vector<Value>& row : expected_) row.pop_back();
  setenv("TENSORSTAT_CL_POINTERS", "0", 1);
  hold(
      "a board",
      [&]() -> Result<Rows> {
        Meter meter({.queue = queue_()});
        auto board = Board::on(meter, {.categories = categories});
        if (!board) return board.error();
        Rows all;
        for (int step = 0; step < 2; ++step) {
          all.clear();
          std::vector<BoardTicket> tickets;
          for (const Tensor& tensor : tensors_) {
            auto ticket = board->fold(tensor);
            if (!ticket) return ticket.error();
            tickets.push_back(*std::move(ticket));
          }
          board->end_step();
          for (const BoardTicket& each : tickets) {
            const auto result = rows(each.collect());
            if (!result) return result.error();
            all.push_back(result->front());
          }
        }
        return all;
      },
      true);
  unsetenv("TENSORSTAT_CL_POINTERS");
}

}  // namespace device_faults_test
}  // namespace tensorstat
