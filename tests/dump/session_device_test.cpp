// Tensors in the caller's cl_mem are dumped in every form, with and without the caller's queue. A tensor that cannot be
// read back is counted and reported.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <numeric>

#include "tests/support/dump_session.hpp"

namespace tensorstat {
namespace session_device_test {

// The parameter: whether the session is given a queue.
class SessionDevice : public SessionTest, public testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    if (std::getenv("TENSORSTAT_NO_DEVICE") != nullptr) GTEST_SKIP() << "this machine has no OpenCL device";
    cl_platform_id platform = nullptr;
    cl_device_id device = nullptr;
    ASSERT_EQ(clGetPlatformIDs(1, &platform, nullptr), CL_SUCCESS);
    ASSERT_EQ(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr), CL_SUCCESS);
    context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
    ASSERT_NE(context, nullptr);
    options.dialect = Dialect::kOurs;
    if (!GetParam()) return;
    queue = clCreateCommandQueue(context, device, 0, nullptr);
    ASSERT_NE(queue, nullptr);
    options.meter.queue = queue;
  }
  void TearDown() override {
    if (queue != nullptr) clReleaseCommandQueue(queue);
    if (context != nullptr) clReleaseContext(context);
  }

  std::shared_ptr<void> buffer_of(std::vector<std::uint8_t> bytes) {
    return {clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes.size(), bytes.data(), nullptr),
            [](void* memory) { clReleaseMemObject(static_cast<cl_mem>(memory)); }};
  }

  // Packed values in a buffer, after 5 bytes of other data.
  DumpTensor in_buffer(const std::vector<std::uint8_t>& packed, Stored stored, std::uint64_t values) {
    std::vector<std::uint8_t> bytes(5, 0xee);
    bytes.insert(bytes.end(), packed.begin(), packed.end());
    const auto buffer = buffer_of(bytes);
    DumpTensor tensor;
    tensor.tensor = {.address = buffer.get(), .offset_bytes = 5, .where = Where::kClBuffer};
    tensor.shape = {values};
    tensor.stored = stored;
    tensor.keep_alive = buffer;
    return tensor;
  }

  cl_context context = nullptr;
  cl_command_queue queue = nullptr;
};

// stats/job/dump/README.md's "A backend in twenty lines".
TEST_P(SessionDevice, TheBackendOfTheReadme) {
  auto session = open(R"({"saved_data": "full", "statistic_category": ["max", "min", "md5"]})");
  std::vector<float> values(24);
  std::iota(values.begin(), values.end(), 0.5f);
  const void* const x = values.data();
  const auto owner = buffer_of({0x00, 0x3c, 0x00, 0xc0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});  // 1 -2 0 0 0 0 0 0
  const void* const buffer = owner.get();

  const DumpOperator* conv = session.operator_named("Conv2D", "Default/net/Conv2D-op12");
  const DumpPlace place{};
  if (session.wants(place, conv)) {
    const DumpTensor tensors[] = {
        {.tensor = {.dtype = Dtype::kFloat32, .element_count = 24, .address = x}, .shape = {2, 3, 4}, .io = Io::kInput},
        {.tensor = {.dtype = Dtype::kFloat16, .element_count = 8, .address = buffer, .where = Where::kClBuffer},
         .shape = {8},
         .keep_alive = owner},
        {.tensor = {.address = buffer, .where = Where::kClBuffer},
         .shape = {32},
         .slot = 1,
         .stored = Stored::kInt4,
         .keep_alive = owner}};
    session.collect(place, conv, tensors);
  }
  session.step_end(place);

  EXPECT_TRUE(session.close());
  EXPECT_EQ(messages, std::vector<std::string>{});
  EXPECT_EQ(session.counters().lost_tensor_count, 0u);
  EXPECT_EQ(session.counters().file_count, 3u);
  const auto table = rows();
  ASSERT_EQ(table.size(), 3u);
  EXPECT_EQ(table[0].statistics.values[0], Value{23.5});
  EXPECT_EQ(table[1].data_type, "float16");
  const std::vector<Value> float16{1.0, -2.0, Value{*Digest::from("5e4e6aa6b92a7daad65ade4b64aa17c4")}};
  EXPECT_EQ(table[1].statistics.values, float16);
  EXPECT_EQ(table[2].data_type, "int4");
  EXPECT_EQ(table[2].statistics.values[1], Value{std::int64_t{-4}});
  EXPECT_EQ(table[2].statistics.values[2], table[1].statistics.values[2]);  // the same bytes
  for (const auto& file : files()) {
    if (!file.ends_with(".float16.npy")) continue;
    EXPECT_EQ(content_of(folder / file).substr(128), std::string({0, 0x3c, 0, '\xc0'}) + std::string(12, '\0'));
  }
}

TEST_P(SessionDevice, PackedTensorsAreMeasuredAndSaved) {
  auto session = open(R"({"saved_data": "full", "statistic_category": ["max", "min", "count", "md5"]})");
  const auto int4 = in_buffer({0x7f, 0x81}, Stored::kInt4, 4);     // -1 7 1 -8
  const auto uint1 = in_buffer({0x81, 0x40}, Stored::kUint1, 10);  // 1 0 0 0 0 0 0 1 0 1
  auto let_go = int4;
  let_go.keep_alive.reset();
  collect(session, {}, "packed", {int4, uint1});
  collect(session, {}, "let-go", {let_go});
  session.close();
  EXPECT_EQ(messages, std::vector<std::string>{});
  EXPECT_EQ(session.counters().lost_tensor_count, 0u);
  EXPECT_EQ(session.counters().file_count, 3u);
  const auto table = rows();
  ASSERT_EQ(table.size(), 3u);
  for (const std::size_t i : {0, 2}) {
    EXPECT_EQ(table[i].data_type, "int4");
    EXPECT_EQ(table[i].statistics.values[1], Value{std::int64_t{-8}});
    EXPECT_EQ(table[i].statistics.values[2], Value{std::uint64_t{4}});
  }
  EXPECT_EQ(table[0].statistics.values, table[2].statistics.values);
  EXPECT_EQ(table[1].data_type, "uint1");
  EXPECT_EQ(table[1].statistics.values[2], Value{std::uint64_t{10}});
}

TEST_P(SessionDevice, APackedTensorThatCannotBeReadIsCountedAndSaid) {
  auto session = open();
  auto beyond = in_buffer({0x7f}, Stored::kInt4, 2);
  beyond.shape = {2000};  // more than the buffer holds
  const std::vector<float> values{1};
  collect(session, {}, "x", {beyond, tensor(values, Dtype::kFloat32)});
  session.close();
  EXPECT_EQ(session.counters().lost_tensor_count, 1u);
  EXPECT_EQ(session.counters().row_count, 1u);
  EXPECT_EQ(messages.size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Queue, SessionDevice, testing::Bool(),
                         [](const auto& given) { return given.param ? "OfTheCaller" : "OfTheSession"; });

}  // namespace session_device_test
}  // namespace tensorstat
