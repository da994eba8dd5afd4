// A thread may be cancelled while it is inside the C library. It ends when the call returns, and the process continues.
#include <gtest/gtest.h>
#include <pthread.h>
#include <tensorstat/tensorstat.h>

#include <atomic>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/scratch_folder.hpp"

namespace c_cancel_test {

struct Work {
  tensorstat_meter* meter = nullptr;
  tensorstat_session* session = nullptr;
  std::string file;
  std::vector<float> numbers = std::vector<float>(1 << 20, 1.5f);
  std::atomic<int> calls = 0;

  tensorstat_tensor tensor() const {
    tensorstat_tensor input = TENSORSTAT_TENSOR;
    input.dtype = tensorstat_dtype_named("float32");
    input.element_count = numbers.size();
    input.address = numbers.data();
    return input;
  }
};

void measure(Work& work) {
  tensorstat_request request = TENSORSTAT_REQUEST;
  const tensorstat_tensor tensor = work.tensor();
  tensorstat_result* result = nullptr;
  tensorstat_measure(work.meter, &tensor, 1, &request, &result);
  tensorstat_result_free(result);
}

void measure_with_a_meter_of_its_own(Work& work) {
  tensorstat_meter_options options = TENSORSTAT_METER_OPTIONS;
  options.thread_count = 3;
  tensorstat_meter* meter = nullptr;
  tensorstat_meter_open(&options, &meter);
  tensorstat_request request = TENSORSTAT_REQUEST;
  const tensorstat_tensor tensor = work.tensor();
  tensorstat_result* result = nullptr;
  tensorstat_measure(meter, &tensor, 1, &request, &result);
  tensorstat_result_free(result);
  tensorstat_meter_close(meter);  // waits for its threads
}

void measure_a_file(Work& work) {
  tensorstat_request request = TENSORSTAT_REQUEST;
  tensorstat_file* file = nullptr;
  tensorstat_file_measure(work.meter, work.file.c_str(), &request, 0, &file);
  tensorstat_file_free(file);
}

void dump(Work& work) {
  const tensorstat_tensor tensor = work.tensor();
  const uint64_t shape = work.numbers.size();
  tensorstat_dump_tensor handed = TENSORSTAT_DUMP_TENSOR;
  handed.tensor = &tensor;
  handed.shape = &shape;
  handed.dimension_count = 1;
  tensorstat_place place = TENSORSTAT_PLACE;
  const tensorstat_operator* const op = tensorstat_operator_named(work.session, "ReLU", "Default/a", 0, 0, 0);
  tensorstat_collect(work.session, &place, op, &handed, 1, 0);
  tensorstat_session_flush(work.session);
}

// Cancels threads one after another, each as soon as it is inside a call.
template <void (*kCall)(Work&)>
void expect_to_survive(Work& work) {
  const auto loop = [](void* context) -> void* {
    auto& its = *static_cast<Work*>(context);
    for (;;) {
      ++its.calls;
      kCall(its);
      pthread_testcancel();
    }
  };
  for (int i = 0; i < 30; ++i) {
    const int before = work.calls;
    pthread_t thread;
    ASSERT_EQ(pthread_create(&thread, nullptr, loop, &work), 0);
    while (work.calls < before + 1 + i % 3) std::this_thread::yield();
    ASSERT_EQ(pthread_cancel(thread), 0);
    void* ended = nullptr;
    ASSERT_EQ(pthread_join(thread, &ended), 0);
    EXPECT_EQ(ended, PTHREAD_CANCELED);
  }
}

TEST(CCancel, WaitsUntilTheCallReturns) {
  const ScratchFolder folder;
  Work work;
  ASSERT_EQ(tensorstat_meter_open(nullptr, &work.meter), TENSORSTAT_OK);
  work.file = folder.path() + "/x.npy";
  std::string header =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(work.numbers.size()) + ",), }";
  header.resize(118 - 1, ' ');
  std::ofstream(work.file, std::ios::binary)
      << std::string("\x93NUMPY\x01\x00\x76\x00", 10) << header << '\n'
      << std::string(reinterpret_cast<const char*>(work.numbers.data()), work.numbers.size() * sizeof(float));
  const std::string config = R"({"common_dump_settings": {"dump_mode": 0, "path": ")" + folder.path() +
                             R"(", "net_name": "Net", "iteration": "all", "kernels": [], "input_output": 0,
                             "support_device": [0], "saved_data": "full"}, "e2e_dump_settings": {"enable": false}})";
  ASSERT_EQ(tensorstat_session_from_json(config.c_str(), nullptr, &work.session), TENSORSTAT_OK)
      << tensorstat_last_error();
  expect_to_survive<measure>(work);
  expect_to_survive<measure_with_a_meter_of_its_own>(work);
  expect_to_survive<measure_a_file>(work);
  expect_to_survive<dump>(work);
  tensorstat_session_close(work.session);
  // The library's state is intact: the file can still be measured.
  tensorstat_request request = TENSORSTAT_REQUEST;
  tensorstat_file* file = nullptr;
  ASSERT_EQ(tensorstat_file_measure(work.meter, work.file.c_str(), &request, 0, &file), TENSORSTAT_OK)
      << tensorstat_last_error();
  EXPECT_EQ(tensorstat_file_tensor_count(file), 1u);
  tensorstat_file_free(file);
  tensorstat_meter_close(work.meter);
}

}  // namespace c_cancel_test
