// Through C on a caller's queue: batches that wait for the caller's events give the host's bits, as values and as
// partials. A ticket can be collected once. An invalid call sets an error message and does not change its output.
#include <gtest/gtest.h>
#include <tensorstat/tensorstat.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "kernels-cl/driver/device.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tensorstat {
namespace c_device_meter_test {

class CDeviceMeter : public testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv("TENSORSTAT_NO_DEVICE") != nullptr) GTEST_SKIP() << "this machine has no OpenCL device";
    auto device = cl_engine::choose_device({});
    ASSERT_TRUE(device) << device.error().message;
    context_ = cl::Context(device->device);
    queue_ = cl::CommandQueue(context_, device->device);
    for (std::size_t i = 0; i < 5000; ++i) data_.push_back(static_cast<float>(i % 97) - 48.25f);
    buffer_ = cl::Buffer(context_, CL_MEM_READ_WRITE, data_.size() * sizeof(float));
    ready_ = cl::UserEvent(context_);
    const std::vector<cl::Event> wait{ready_};
    queue_.enqueueWriteBuffer(buffer_, CL_FALSE, 0, data_.size() * sizeof(float), data_.data(), &wait, &written_);
    request_.statistics = "max,avg,l2norm,zero count,argmax";
    ASSERT_EQ(tensorstat_device_meter_open(queue_(), UINT64_MAX, &meter_), TENSORSTAT_OK) << tensorstat_last_error();
  }
  void TearDown() override {
    if (meter_ == nullptr) return;
    tensorstat_device_meter_close(meter_);
    queue_.finish();  // it reads data_
  }

  tensorstat_tensor part(std::uint64_t first, std::uint64_t count) const {
    tensorstat_tensor tensor = TENSORSTAT_TENSOR;
    tensor.dtype = tensorstat_dtype_named("float32");
    tensor.element_count = count;
    tensor.where = TENSORSTAT_CL_BUFFER;
    tensor.address = buffer_();
    tensor.offset_bytes = first * sizeof(float);
    return tensor;
  }

  tensorstat_ticket* submit(const std::vector<tensorstat_tensor>& tensors) {
    void* wait_list[] = {written_()};
    tensorstat_ticket* ticket = nullptr;
    EXPECT_EQ(tensorstat_submit(meter_, tensors.data(), tensors.size(), &request_, wait_list, 1, &ticket),
              TENSORSTAT_OK)
        << tensorstat_last_error();
    return ticket;
  }

  std::vector<tensorstat_value> on_host() const {
    tensorstat_meter* meter = nullptr;
    tensorstat_result* result = nullptr;
    tensorstat_tensor tensor = part(0, data_.size());
    tensor.where = TENSORSTAT_HOST;
    tensor.address = data_.data();
    EXPECT_EQ(tensorstat_meter_open(nullptr, &meter), TENSORSTAT_OK);
    EXPECT_EQ(tensorstat_measure(meter, &tensor, 1, &request_, &result), TENSORSTAT_OK);
    const tensorstat_value* values = tensorstat_result_values(result, 0);
    std::vector<tensorstat_value> copied(values, values + tensorstat_result_statistic_count(result));
    tensorstat_result_free(result);
    tensorstat_meter_close(meter);
    return copied;
  }

  static void expect_same(const tensorstat_value& a, const tensorstat_value& b) {
    EXPECT_EQ(a.kind, b.kind);
    EXPECT_EQ(a.is.whole, b.is.whole);  // compares the bits, also for a double
  }

  std::vector<float> data_;
  cl::Context context_;
  cl::CommandQueue queue_;
  cl::Buffer buffer_;
  cl::UserEvent ready_;
  cl::Event written_;
  tensorstat_request request_ = TENSORSTAT_REQUEST;
  tensorstat_device_meter* meter_ = nullptr;
};

TEST_F(CDeviceMeter, GivesValuesAndPartialsOfTheHostsBits) {
  tensorstat_ticket* const whole = submit({part(0, 5000)});
  tensorstat_ticket* const cut = submit({part(0, 1234), part(1234, 3766)});
  EXPECT_NE(tensorstat_ticket_event(whole), nullptr);
  EXPECT_EQ(tensorstat_ticket_event(nullptr), nullptr);
  ready_.setStatus(CL_COMPLETE);  // only now is the tensor's data written

  const auto expected = on_host();
  tensorstat_result* result = nullptr;
  ASSERT_EQ(tensorstat_ticket_collect(whole, &result), TENSORSTAT_OK) << tensorstat_last_error();
  EXPECT_STREQ(tensorstat_result_engine(result, 0, 0), "opencl");
  for (std::size_t i = 0; i < expected.size(); ++i) expect_same(tensorstat_result_values(result, 0)[i], expected[i]);

  tensorstat_partial* partials[2] = {};
  ASSERT_EQ(tensorstat_ticket_collect_partials(cut, partials), TENSORSTAT_OK) << tensorstat_last_error();
  ASSERT_EQ(tensorstat_partial_move_to(partials[1], 1234), TENSORSTAT_OK) << tensorstat_last_error();
  ASSERT_EQ(tensorstat_partial_merge(partials[0], partials[1]), TENSORSTAT_OK) << tensorstat_last_error();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    tensorstat_value value;
    ASSERT_EQ(tensorstat_partial_finish(partials[0], tensorstat_result_statistic(result, i), &value), TENSORSTAT_OK);
    expect_same(value, expected[i]);
  }

  tensorstat_result* none = nullptr;
  EXPECT_EQ(tensorstat_ticket_collect(whole, &none), TENSORSTAT_INVALID);  // a second time
  EXPECT_EQ(none, nullptr);
  EXPECT_NE(std::string(tensorstat_last_error()).find("has been collected"), std::string::npos);
  for (tensorstat_partial* each : partials) tensorstat_partial_free(each);
  tensorstat_result_free(result);
  tensorstat_ticket_close(whole);
  tensorstat_ticket_close(cut);
  std::uint64_t now = 1, peak = 0;
  tensorstat_device_meter_memory(meter_, &now, &peak);
  EXPECT_LE(now, peak);
}

// Compares the tensor's first half with its second.
TEST_F(CDeviceMeter, ComparesPairsWithTheHostsBits) {
  const tensorstat_tensor a = part(0, 2500), b = part(2500, 2500);
  void* wait_list[] = {written_()};
  tensorstat_pair_ticket* ticket = nullptr;
  tensorstat_pair_request request = TENSORSTAT_PAIR_REQUEST;
  request.rtol = 0.25;
  request.first_index = 3;
  ASSERT_EQ(tensorstat_submit_pairs(meter_, &a, &b, 1, &request, wait_list, 1, &ticket), TENSORSTAT_OK)
      << tensorstat_last_error();
  EXPECT_NE(tensorstat_pair_ticket_event(ticket), nullptr);
  EXPECT_EQ(tensorstat_pair_ticket_event(nullptr), nullptr);
  ready_.setStatus(CL_COMPLETE);
  tensorstat_pair *result = nullptr, *expected = nullptr, *none = nullptr;
  ASSERT_EQ(tensorstat_pair_ticket_collect(ticket, &result), TENSORSTAT_OK) << tensorstat_last_error();
  EXPECT_EQ(tensorstat_pair_ticket_collect(ticket, &none), TENSORSTAT_INVALID);  // a second time
  EXPECT_EQ(none, nullptr);

  tensorstat_meter* meter = nullptr;
  ASSERT_EQ(tensorstat_meter_open(nullptr, &meter), TENSORSTAT_OK);
  tensorstat_tensor here[] = {a, b};
  for (tensorstat_tensor& each : here) each.where = TENSORSTAT_HOST, each.address = data_.data();
  request.on = TENSORSTAT_ON_HOST;
  ASSERT_EQ(tensorstat_compare(meter, here, here + 1, 1, &request, &expected), TENSORSTAT_OK)
      << tensorstat_last_error();
  for (std::int32_t i = 0; tensorstat_pair_statistic_name(i) != nullptr; ++i) {
    tensorstat_value of_device, of_host;
    ASSERT_EQ(tensorstat_pair_finish(result, i, &of_device), TENSORSTAT_OK);
    ASSERT_EQ(tensorstat_pair_finish(expected, i, &of_host), TENSORSTAT_OK);
    expect_same(of_device, of_host);
  }
  // a host request cannot be submitted
  EXPECT_EQ(tensorstat_submit_pairs(meter_, &a, &b, 1, &request, nullptr, 0, &ticket), TENSORSTAT_INVALID);
  request.on = 3;
  EXPECT_EQ(tensorstat_compare(meter, here, here + 1, 1, &request, &none), TENSORSTAT_INVALID);
  EXPECT_NE(std::string(tensorstat_last_error()).find("on is 3"), std::string::npos);
  for (tensorstat_pair* each : {result, expected}) tensorstat_pair_free(each);
  tensorstat_pair* nothing = nullptr;
  EXPECT_EQ(tensorstat_pair_ticket_collect(nullptr, &nothing), TENSORSTAT_INVALID);
  EXPECT_EQ(tensorstat_pair_ticket_collect(ticket, nullptr), TENSORSTAT_INVALID);
  EXPECT_EQ(tensorstat_ticket_collect(nullptr, nullptr), TENSORSTAT_INVALID);
  tensorstat_pair_ticket_close(ticket);
  tensorstat_pair_ticket_close(nullptr);
  tensorstat_meter_close(meter);
}

TEST_F(CDeviceMeter, RefusesWithWords) {
  ready_.setStatus(CL_COMPLETE);
  tensorstat_ticket* ticket = nullptr;
  const tensorstat_tensor tensor = part(0, 5000);
  request_.statistics = "md5";
  EXPECT_EQ(tensorstat_submit(meter_, &tensor, 1, &request_, nullptr, 0, &ticket), TENSORSTAT_UNSUPPORTED);
  request_.statistics = "max";
  request_.on = TENSORSTAT_ON_HOST;
  EXPECT_EQ(tensorstat_submit(meter_, &tensor, 1, &request_, nullptr, 0, &ticket), TENSORSTAT_INVALID);
  request_.on = TENSORSTAT_AUTO;
  EXPECT_EQ(tensorstat_submit(meter_, &tensor, 1, &request_, nullptr, 2, &ticket), TENSORSTAT_INVALID);
  EXPECT_EQ(tensorstat_submit(nullptr, &tensor, 1, &request_, nullptr, 0, &ticket), TENSORSTAT_INVALID);
  EXPECT_EQ(ticket, nullptr);
  tensorstat_device_meter* none = nullptr;
  EXPECT_EQ(tensorstat_device_meter_open(nullptr, UINT64_MAX, &none), TENSORSTAT_INVALID);
  EXPECT_EQ(none, nullptr);
  EXPECT_NE(std::string(tensorstat_last_error()).find("queue"), std::string::npos);
  tensorstat_ticket_close(nullptr);
  tensorstat_device_meter_close(nullptr);
}

// The queue is held, and collect() and step_end() return all the same.
TEST_F(CDeviceMeter, ASessionDoesNotWaitForAnOrderedQueue) {
  const ScratchFolder folder;
  ready_.setStatus(CL_COMPLETE);
  ASSERT_EQ(queue_.finish(), CL_SUCCESS);
  tensorstat_meter_options meter = TENSORSTAT_METER_OPTIONS;
  meter.queue = queue_();
  tensorstat_session_options options = TENSORSTAT_SESSION_OPTIONS;
  options.meter = &meter;
  options.ordered_by_queue = 1;
  const std::string config =
      R"({"common_dump_settings": {"dump_mode": 0, "path": ")" + folder.path() +
      R"(", "net_name": "Net", "iteration": "all", "kernels": [], "saved_data": "statistic", "input_output": 0},
                                "e2e_dump_settings": {"enable": false}})";
  tensorstat_session* session = nullptr;
  ASSERT_EQ(tensorstat_session_from_json(config.c_str(), &options, &session), TENSORSTAT_OK) << tensorstat_last_error();
  const tensorstat_operator* const op = tensorstat_operator_named(session, "Op", "op", 0, 0, 0);
  const auto collect = [&](std::uint64_t step) {
    tensorstat_place place = TENSORSTAT_PLACE;
    place.iteration = step;
    const tensorstat_tensor bits = part(0, 1000);
    const std::uint64_t shape[] = {1000};
    tensorstat_dump_tensor tensor = TENSORSTAT_DUMP_TENSOR;
    tensor.tensor = &bits;
    tensor.shape = shape;
    tensor.dimension_count = 1;
    EXPECT_EQ(tensorstat_collect(session, &place, op, &tensor, 1, 0), TENSORSTAT_OK) << tensorstat_last_error();
    tensorstat_step_end(session, &place);
  };
  collect(0);  // makes the kernel, which may wait
  ASSERT_TRUE(tensorstat_session_flush(session));
  cl::UserEvent set(context_);
  const std::vector<cl::Event> wait{set};
  cl::Event marker;
  ASSERT_EQ(queue_.enqueueMarkerWithWaitList(&wait, &marker), CL_SUCCESS);
  collect(1);
  EXPECT_GT(marker.getInfo<CL_EVENT_COMMAND_EXECUTION_STATUS>(), CL_COMPLETE);
  set.setStatus(CL_COMPLETE);
  EXPECT_TRUE(tensorstat_session_flush(session));
  tensorstat_counters counters = {};
  counters.size = sizeof counters;
  ASSERT_EQ(tensorstat_session_counters(session, &counters), TENSORSTAT_OK);
  EXPECT_EQ(counters.row_count, 2u);
  EXPECT_EQ(counters.device_row_count, 2u);
  EXPECT_EQ(counters.stall_count, 0u);
  tensorstat_session_close(session);
}

}  // namespace c_device_meter_test
}  // namespace tensorstat
