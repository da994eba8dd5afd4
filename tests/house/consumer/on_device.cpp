// A backend whose tensor is in a cl_mem: dumps its statistics in two steps and prints where they were measured, then
// what the session logged. Its argument is the folder of the dump.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <cstdio>
#include <string>
#include <tensorstat/dump.hpp>
#include <vector>

using namespace tensorstat;

int main(int, char** argv) {
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  if (clGetPlatformIDs(1, &platform, nullptr) != CL_SUCCESS ||
      clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr) != CL_SUCCESS) {
    return std::puts("no device"), 0;
  }
  const cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
  const cl_command_queue queue = clCreateCommandQueue(context, device, 0, nullptr);
  std::vector<float> values(1000, 2.5f);
  const cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, 4000, values.data(), nullptr);
  std::string messages;
  DumpOptions options{.log = [&](Severity, std::string_view text) { messages.append(text).append("\n"); }};
  options.meter.queue = queue;
  options.path = argv[1];
  auto session = DumpSession::from_json(
      R"({"common_dump_settings": {"op_debug_mode": 0, "dump_mode": 0, "path": "/tmp/x", "net_name": "N", "iteration": "all",
          "saved_data": "statistic", "input_output": 0, "kernels": [], "support_device": [0]},
          "e2e_dump_settings": {"enable": true, "stat_calc_mode": "device"}})",
      std::move(options));
  if (!session) return std::puts(session.error().message.c_str()), 1;
  const DumpOperator* const op = session->operator_named("ReLU", "Default/ReLU-op1");
  for (std::uint64_t iteration = 0; iteration < 2; ++iteration) {
    const DumpPlace place{.iteration = iteration};
    const DumpTensor tensor{
        .tensor = {.dtype = Dtype::kFloat32, .element_count = 1000, .address = buffer, .where = Where::kClBuffer},
        .shape = {1000}};
    session->collect(place, op, {&tensor, 1});
    session->step_end(place);
  }
  const bool is_written = session->close();
  const DumpCounters counted = session->counters();
  std::printf("%d rows: %d on a device, %d on the host, %d fallen back\n%s", static_cast<int>(counted.row_count),
              static_cast<int>(counted.device_row_count), static_cast<int>(counted.host_row_count),
              static_cast<int>(counted.fallback_row_count), messages.c_str());
  clReleaseMemObject(buffer);
  clReleaseCommandQueue(queue);
  clReleaseContext(context);
  return is_written ? 0 : 1;
}
