// With DumpOptions::ordered_by_queue, collect() of tensors in a cl_mem enqueues and returns, and the rows are those of
// a session that waits: the same bits in the same order, whatever else is collected between. What is lost is lost
// alone, counted and said.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "kernels-cl/driver/cl.hpp"
#include "kernels-cl/driver/device.hpp"
#include "tests/support/cl_layer/loaded.hpp"
#include "tests/support/dump_session.hpp"
#include "tests/support/samples.hpp"

namespace tensorstat {
namespace session_board_test {

class SessionBoard : public SessionTest {
 protected:
  void SetUp() override {
    if (std::getenv("TENSORSTAT_NO_DEVICE") != nullptr) GTEST_SKIP() << "this machine has no OpenCL device";
    static_cast<void>(cl_layer());
    auto device = cl_engine::choose_device({});
    ASSERT_TRUE(device) << device.error().message;
    device_ = device->device;
    context_ = cl::Context(device_);
    queue_ = cl::CommandQueue(context_, device_);
    options.dialect = Dialect::kOurs;  // numbers that read back
    options.meter.queue = queue_();
    options.ordered_by_queue = true;
    floats_ = samples::of(Dtype::kFloat32)[0].make(Dtype::kFloat32, 4096, random_);
  }

  cl::Buffer buffer(const std::vector<std::byte>& bytes) {
    cl::Buffer made(context_, CL_MEM_READ_WRITE, bytes.size());
    EXPECT_EQ(queue_.enqueueWriteBuffer(made, CL_TRUE, 0, bytes.size(), bytes.data()), CL_SUCCESS);
    return made;
  }
  static DumpTensor in(const cl::Buffer& buffer, std::uint64_t count, std::uint32_t slot = 0,
                       Dtype dtype = Dtype::kFloat32, std::uint64_t offset_bytes = 0) {
    DumpTensor tensor;
    tensor.tensor = {.dtype = dtype,
                     .element_count = count,
                     .address = buffer(),
                     .offset_bytes = offset_bytes,
                     .where = Where::kClBuffer};
    tensor.shape = {count};
    tensor.slot = slot;
    return tensor;
  }
  static std::shared_ptr<void> kept(const cl::Buffer& buffer) { return std::make_shared<cl::Buffer>(buffer); }

  // For rows() of a file that is elsewhere.
  std::string from_folder(const std::string& path) const {
    return std::filesystem::path(path).lexically_relative(folder.path()).string();
  }

  // All that a row says but its time.
  std::vector<std::string> texts(const std::string& path = "rank_0/Net/0/0/statistic.csv") const {
    std::vector<std::string> all;
    for (const Row& row : rows(path)) {
      std::string text = row.identity.op_name + " " + row.data_type + " " + to_string(row.shape) + " " +
                         std::string(row.identity.io) + std::to_string(row.identity.slot);
      for (const Value& value : row.statistics.values) text += " " + to_string(value);
      all.push_back(text);
    }
    return all;
  }

  const std::string kStatistics = R"({"statistic_category": ["max", "min", "avg", "l2norm", "negative zero count"]})";
  const std::string kAsynchronous = R"({"enable": false})";  // step_end() does not wait for the files
  samples::Random random_{samples::seed()};
  cl::Device device_;
  cl::Context context_;
  cl::CommandQueue queue_;
  std::vector<std::byte> floats_;
};

TEST_F(SessionBoard, TheRowsAreThoseOfASessionThatWaits) {
  const std::vector<std::byte> bytes = samples::of(Dtype::kInt8)[0].make(Dtype::kInt8, 3000, random_);
  const cl::Buffer floats = buffer(floats_), codes = buffer(bytes);
  const std::vector<float> on_host{1, 2, -3};
  const std::string path = options.path;
  std::vector<std::vector<std::string>> runs;
  for (const std::string& mode :
       {std::string("{}"), kAsynchronous, std::string(R"({"stat_calc_mode": "device"})"),
        std::string(R"({"stat_calc_mode": "device", "device_stat_precision_mode": "low"})")}) {
    for (const bool ordered : {true, false}) {
      options.ordered_by_queue = ordered;
      const ScratchFolder place;
      options.path = place.path();
      auto session = open(kStatistics, mode);
      for (std::uint64_t step = 0; step < 4; ++step) {
        const DumpPlace now{.iteration = step};
        for (std::uint32_t i = 0; i < 6; ++i) {
          DumpTensor output = in(floats, 100 + i, 1);
          output.keep_alive = kept(floats);
          collect(session, now, "op" + std::to_string(i),
                  {in(floats, 1000 + i * step, 0, Dtype::kFloat32, 4 * i), output, in(codes, 3000, 2, Dtype::kInt8),
                   tensor(on_host, Dtype::kFloat32, Io::kInput)});
          collect(session, now, "host" + std::to_string(i), {tensor(on_host, Dtype::kFloat32)});
        }
        collect(session, now, "kept", {[&] {
                  DumpTensor output = in(floats, 7);
                  output.keep_alive = kept(floats);
                  return output;
                }()});
        session.step_end(now);
      }
      EXPECT_TRUE(session.close());
      EXPECT_EQ(messages, std::vector<std::string>{});
      EXPECT_EQ(session.counters().stall_count, 0u);
      EXPECT_EQ(session.counters().lost_tensor_count, 0u);
      EXPECT_GE(session.counters().device_row_count, ordered ? 4 * 6 * 3u : 0u);
      std::vector<std::string>& all = runs.emplace_back();
      for (const char* step : {"0", "1", "2", "3"}) {
        const auto rows_of_step = texts(from_folder(place / ("rank_0/Net/0/" + std::string(step) + "/statistic.csv")));
        all.insert(all.end(), rows_of_step.begin(), rows_of_step.end());
      }
      EXPECT_EQ(all.size(), 4 * (6 * 5 + 1u));
    }
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {  // those of `low`, the last two, have other values
    EXPECT_EQ(runs[i], runs[i < 6 ? 0 : 6]) << i;
  }
}

// The queue is held until the caller has handed over the step, ended it and overwritten and released the tensors.
TEST_F(SessionBoard, NothingWaitsAndLaterCommandsCannotSpoilARow) {
  auto session = open(kStatistics, kAsynchronous);
  std::vector<std::byte> zeros(floats_.size());
  cl::Buffer memory = buffer(zeros);
  collect(session, {}, "makes the kernel", {in(memory, 1024)});
  session.step_end({});
  ASSERT_TRUE(session.flush());
  cl::UserEvent set(context_);
  const std::vector<cl::Event> wait{set};
  ASSERT_EQ(queue_.enqueueWriteBuffer(memory, CL_FALSE, 0, floats_.size(), floats_.data(), &wait), CL_SUCCESS);
  const DumpPlace one{.iteration = 1}, two{.iteration = 2};
  collect(session, one, "values", {in(memory, 1024)});
  ASSERT_EQ(queue_.enqueueWriteBuffer(memory, CL_FALSE, 0, zeros.size(), zeros.data()), CL_SUCCESS);
  collect(session, one, "zeros", {in(memory, 1024)});
  session.step_end(one);
  collect(session, two, "zeros again", {in(memory, 1024)});
  cl::Event overwritten;
  ASSERT_EQ(queue_.enqueueFillBuffer(memory, cl_uchar{0xff}, 0, zeros.size(), nullptr, &overwritten), CL_SUCCESS);
  session.step_end(two);
  memory = cl::Buffer();
  EXPECT_GT(overwritten.getInfo<CL_EVENT_COMMAND_EXECUTION_STATUS>(), CL_COMPLETE) << "the queue was not held";
  EXPECT_EQ(session.counters().row_count, 1u);
  set.setStatus(CL_COMPLETE);
  EXPECT_TRUE(session.close());
  EXPECT_EQ(session.counters().row_count, 4u);
  EXPECT_EQ(session.counters().stall_count, 0u);
  EXPECT_EQ(messages, std::vector<std::string>{});
  Tensor here{.dtype = Dtype::kFloat32, .element_count = 1024, .address = floats_.data()};
  const Categories categories{Category::kMax, Category::kMin, Category::kAvg, Category::kL2norm};
  const auto expected = *Meter().measure({&here, 1}, {.categories = categories, .on = On::kHost});
  const auto table = rows("rank_0/Net/0/1/statistic.csv");
  ASSERT_EQ(table.size(), 2u);
  for (std::size_t i = 0; i < categories.size(); ++i) {
    EXPECT_EQ(to_string(table[0].statistics.values[i]), to_string(expected.front().statistics.values[i]));
  }
  EXPECT_EQ(table[1].statistics.values[3], Value{0.0});
  EXPECT_EQ(rows("rank_0/Net/0/2/statistic.csv")[0].statistics.values[3], Value{0.0});
}

TEST_F(SessionBoard, WhatCannotGoThereIsMeasuredAtOnceAndSaid) {
  const cl::Buffer memory = buffer(floats_);
  struct Case {
    const char* statistics;
    const char* mode;
    const char* reason;
  };
  for (const Case& each : {Case{R"({"statistic_category": ["max", "md5"]})", "{}", "digests are wanted"},
                           Case{R"({"statistic_category": ["max", "p50"]})", "{}", "no quantiles"},
                           Case{R"({"statistic_category": ["max"]})", R"({"stat_calc_mode": "host"})", "is host"},
                           Case{R"({"statistic_category": ["max"], "saved_data": "full"})", "{}", "are saved"}}) {
    messages.clear();
    const ScratchFolder place;
    options.path = place.path();
    auto session = open(each.statistics, each.mode);
    for (int i = 0; i < 3; ++i) collect(session, {}, "op", {in(memory, 1000)});
    EXPECT_EQ(session.counters().row_count, 3u) << "not before collect() returned";
    EXPECT_TRUE(session.close());
    EXPECT_EQ(session.counters().stall_count, 3u);
    EXPECT_TRUE(was_said(each.reason)) << each.reason;
    EXPECT_EQ(messages.size(), 1u);
  }
}

TEST_F(SessionBoard, OtherQueuesAndBudgetsAreMeasuredAtOnce) {
  const cl::Buffer memory = buffer(floats_);
  const cl::CommandQueue unordered(context_, device_, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  setenv("TENSORSTAT_CL_POINTERS", "0", 1);  // a device that follows pointers would take no memory
  for (const bool is_unordered : {true, false}) {
    messages.clear();
    const ScratchFolder place;
    options.path = place.path();
    options.meter.queue = is_unordered ? unordered() : queue_();
    if (!is_unordered) options.meter.budget_bytes = 2048;
    auto session = open(kStatistics);
    for (int i = 0; i < 40; ++i) collect(session, {}, "op", {in(memory, 1000)});
    EXPECT_TRUE(session.close());
    EXPECT_EQ(session.counters().row_count, 40u);
    EXPECT_GT(session.counters().stall_count, 0u);
    EXPECT_LE(session.counters().most_device_bytes, options.meter.budget_bytes.value_or(~std::uint64_t{0}));
    EXPECT_TRUE(was_said(is_unordered ? "overtake" : "budget"));
  }
  unsetenv("TENSORSTAT_CL_POINTERS");
}

TEST_F(SessionBoard, ALostLaunchLosesItsRowAlone) {
  ClLayer& layer = cl_layer();
  auto session = open(kStatistics, kAsynchronous);
  const cl::Buffer memory = buffer(floats_);
  collect(session, {}, "makes the kernel", {in(memory, 1000)});
  ASSERT_TRUE(session.flush());
  layer.kernels = 0;
  layer.lose_kernel_at = 2;
  for (const char* name : {"a", "b", "c"}) collect(session, {}, name, {in(memory, 1000)});
  layer.lose_kernel_at = 0;
  session.step_end({});
  EXPECT_FALSE(session.close());
  EXPECT_EQ(session.counters().lost_tensor_count, 1u);
  const auto table = rows();
  ASSERT_EQ(table.size(), 3u);
  EXPECT_EQ(table[1].identity.op_name, "a");
  EXPECT_EQ(table[2].identity.op_name, "c");
  EXPECT_EQ(table[2].statistics.values, table[0].statistics.values);
  EXPECT_TRUE(was_said("could not be measured behind its queue"));
}

// A tensor of the same run that is kept alive is measured anew.
TEST_F(SessionBoard, ALostLaunchOfWhatIsKeptIsMeasuredAnew) {
  ClLayer& layer = cl_layer();
  auto session = open(kStatistics);
  const cl::Buffer memory = buffer(floats_);
  collect(session, {}, "makes the kernel", {in(memory, 1000)});
  ASSERT_TRUE(session.flush());
  layer.kernels = 0;
  layer.lose_kernel_at = 2;
  DumpTensor output = in(memory, 1000, 1);
  output.keep_alive = kept(memory);
  collect(session, {}, "a", {in(memory, 1000), output});
  layer.lose_kernel_at = 0;
  EXPECT_TRUE(session.close());
  const auto table = rows();
  ASSERT_EQ(table.size(), 3u);
  EXPECT_EQ(table[2].statistics.values, table[0].statistics.values);
}

// Every call of OpenCL in a step fails in turn. Rows are right or lost, and the numbers add up.
TEST_F(SessionBoard, CallsThatFailLoseRowsAtMost) {
  ClLayer& layer = cl_layer();
  options.sync = Sync::kNever;
  const cl::Buffer memory = buffer(floats_);
  int rows_of_all = 0, lost_of_all = 0;
  for (const char* pointers : {"1", "0"}) {
    setenv("TENSORSTAT_CL_POINTERS", pointers, 1);
    for (std::int64_t call = 1; call < 400; ++call) {
      const ScratchFolder place;
      options.path = place.path();
      messages.clear();
      auto session = open(kStatistics, kAsynchronous);
      collect(session, {}, "before", {in(memory, 1000)});
      ASSERT_TRUE(session.flush());
      layer.calls = 0;
      layer.code = CL_OUT_OF_RESOURCES;
      layer.fail_at = call;
      for (int i = 0; i < 3; ++i) collect(session, {}, "op", {in(memory, 1000)});
      session.step_end({});
      session.flush();
      layer.fail_at = 0;
      const bool failed = layer.calls >= call;
      collect(session, {}, "after", {in(memory, 1000)});
      session.close();
      const DumpCounters counters = session.counters();
      EXPECT_EQ(counters.row_count + counters.lost_tensor_count, 5u) << "call " << call;
      EXPECT_EQ(counters.held_bytes, 0u);
      const auto table = rows(from_folder(place / "rank_0/Net/0/0/statistic.csv"));
      ASSERT_EQ(table.size(), counters.row_count);
      for (const Row& row : table) EXPECT_EQ(row.statistics.values, table[0].statistics.values);
      EXPECT_EQ(table.back().identity.op_name, "after") << "call " << call;
      EXPECT_EQ(failed && counters.lost_tensor_count != 0, failed && was_said("is missing")) << "call " << call;
      rows_of_all += static_cast<int>(counters.row_count);
      lost_of_all += static_cast<int>(counters.lost_tensor_count);
      if (!failed) break;
    }
  }
  unsetenv("TENSORSTAT_CL_POINTERS");
  std::printf("%d rows, %d lost\n", rows_of_all, lost_of_all);
  EXPECT_GT(lost_of_all, 0);
  EXPECT_GT(rows_of_all, 10 * lost_of_all);
}

// Too little memory for the runs: those who collect wait, and nothing is lost.
TEST_F(SessionBoard, MemoryIsBounded) {
  options.memory_bytes = 4096;
  auto session = open(kStatistics);
  const cl::Buffer memory = buffer(floats_);
  for (int i = 0; i < 50; ++i) collect(session, {}, "op", {in(memory, 1000)});
  EXPECT_LE(session.counters().most_held_bytes, 4096u);
  EXPECT_TRUE(session.close());
  EXPECT_EQ(session.counters().row_count, 50u);
  EXPECT_GT(session.counters().stall_count, 5u);
}

TEST_F(SessionBoard, ThreadsOfSeveralRanksKeepTheirOrder) {
  auto session = open(kStatistics, kAsynchronous);
  const cl::Buffer memory = buffer(floats_);
  const std::vector<float> on_host{1};
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, rank] {
      for (std::uint64_t step = 0; step < 8; ++step) {
        const DumpPlace place{.rank = rank, .iteration = step};
        for (std::uint64_t i = 0; i < 6; ++i) {
          const std::string name = "op" + std::to_string(i);
          collect(session, place, name, {i % 3 == 2 ? tensor(on_host, Dtype::kFloat32) : in(memory, 500 + i)});
        }
        session.step_end(place);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(session.close());
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    for (std::uint64_t step = 0; step < 8; ++step) {
      const auto table = rows("rank_" + std::to_string(rank) + "/Net/0/" + std::to_string(step) + "/statistic.csv");
      ASSERT_EQ(table.size(), 6u);
      for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(table[i].identity.op_name, "op" + std::to_string(i));
    }
  }
}

// Rows do not depend on step_end(): stop(), and the end of a session with an open step, bring them, too.
TEST_F(SessionBoard, AnOpenStepIsNotLost) {
  const cl::Buffer memory = buffer(floats_);
  auto session = open(kStatistics, kAsynchronous);
  session.start();
  collect(session, {}, "a", {in(memory, 1000)});
  session.stop();
  session.step_end({});
  session.start();
  collect(session, {}, "b", {in(memory, 1000)});
  const pid_t child = fork();
  if (child == 0) {  // dumps nothing, and ends
    collect(session, {}, "child", {in(memory, 1000)});
    session.step_end({});
    session = DumpSession();
    _exit(session.enabled() ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  session = DumpSession();
  ASSERT_EQ(rows().size(), 2u);
  EXPECT_EQ(rows()[1].identity.op_name, "b");
}

TEST_F(SessionBoard, AlertsAreThereWhenTheStepHasEnded) {
  std::vector<std::string> alerts;
  options.alerts.rules = "max > 0";
  options.alerts.on_alert = [&](const Alert& alert) { alerts.push_back(alert.op_name); };
  auto session = open(kStatistics);
  const cl::Buffer memory = buffer(floats_);
  collect(session, {}, "op", {in(memory, 1000)});
  session.step_end({});
  EXPECT_EQ(alerts, std::vector<std::string>{"op"});
}

}  // namespace session_board_test
}  // namespace tensorstat
