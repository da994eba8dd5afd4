#include <algorithm>
#include <chrono>
#include <string>
#include <tensorstat/opencl.hpp>

#include "kernels-cl/driver/device.hpp"
#include "kernels-cl/program/program.hpp"
#include "stats/core/base/caught.hpp"
#include "stats/core/base/float_environment.hpp"

namespace tensorstat {
namespace {

using Clock = std::chrono::steady_clock;
using cl_engine::error;

constexpr int kRounds = 9;

// Reads the tensor and writes the exclusive or of it, so that the compiler can remove no load. On a CPU each work-item
// reads a contiguous part in vectors of 64 bytes. On other devices neighbouring work-items read neighbouring 16 bytes.
constexpr const char* kRead = R"(
#ifdef ON_CPU
#define VECTOR uint16
#define FIRST id * ((vectors + items - 1) / items)
#define END min(FIRST + (vectors + items - 1) / items, vectors)
#define STEP 1
#else
#define VECTOR uint4
#define FIRST id
#define END vectors
#define STEP items
#endif
kernel void read_elements(global const VECTOR* from, global VECTOR* to, ulong bytes) {
  const ulong vectors = bytes / sizeof(VECTOR), items = get_global_size(0), id = get_global_id(0), end = END;
  VECTOR a = 0, b = 0, c = 0, d = 0;
  ulong i = FIRST;
  for (; i + 3 * STEP < end; i += 4 * STEP) {
    a ^= from[i];
    b ^= from[i + STEP];
    c ^= from[i + 2 * STEP];
    d ^= from[i + 3 * STEP];
  }
  for (; i < end; i += STEP) a ^= from[i];
  to[id] = a ^ b ^ c ^ d;
}
)";
constexpr std::size_t kMostVectorBytes = 64;

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + std::ssize(values) / 2);
  return values[values.size() / 2];
}

}  // namespace

Result<DeviceSpeed> device_speed(const MeterOptions& options, std::uint64_t bytes) try {
  const FloatEnvironment ieee;
  if (bytes < 4096 || bytes % 4096 != 0)
    return Error{Code::kInvalid, "bytes must be a multiple of 4096; got " + std::to_string(bytes)};
  auto device = cl_engine::choose_device(options);
  if (!device) return device.error();
  const std::string doing = "timing " + device->info.name;
  cl_int code = CL_SUCCESS;
  const cl::Context context(device->device, nullptr, nullptr, nullptr, &code);
  if (code != CL_SUCCESS) return error(doing, "clCreateContext", code);
  const cl::CommandQueue queue(context, device->device, cl_command_queue_properties{0}, &code);
  if (code != CL_SUCCESS) return error(doing, "clCreateCommandQueue", code);
  const std::size_t group = device->is_cpu ? 1 : 256;
  const std::size_t items = group * device->compute_units * (device->is_cpu ? 4 : 16);
  const std::uint64_t needed = bytes + items * kMostVectorBytes;
  if (options.budget_bytes && needed > *options.budget_bytes) {
    return Error{Code::kOverBudget, doing + " takes " + std::to_string(needed) + " bytes"};
  }
  const cl::Buffer from(context, CL_MEM_READ_WRITE, bytes, nullptr, &code);
  if (code != CL_SUCCESS) return error(doing, "clCreateBuffer", code);
  const cl::Buffer to(context, CL_MEM_READ_WRITE, items * kMostVectorBytes, nullptr, &code);
  if (code != CL_SUCCESS) return error(doing, "clCreateBuffer", code);
  // Floats between 1 and 2, of random digits.
  std::vector<std::uint32_t> some(std::size_t{1} << 18);
  std::uint32_t random = 1;
  for (std::uint32_t& each : some) each = 0x3f800000 | (random = random * 1664525 + 1013904223) >> 9;
  for (std::uint64_t offset = 0; offset < bytes && code == CL_SUCCESS; offset += 4 * some.size()) {
    code = queue.enqueueWriteBuffer(from, CL_TRUE, offset, std::min<std::uint64_t>(4 * some.size(), bytes - offset),
                                    some.data());
  }
  if (code != CL_SUCCESS) return error(doing, "clEnqueueWriteBuffer", code);

  auto meter = DeviceMeter::on(queue(), options.budget_bytes);
  if (!meter) return meter.error();
  const Tensor tensor{
      .dtype = Dtype::kFloat32, .element_count = bytes / 4, .address = from(), .where = Where::kClBuffer};
  const Request request{.categories = *categories_from("max,min,avg,l2norm,nan count,zero count,negative zero count")};
  const auto measure = [&]() -> Status {
    auto ticket = meter->submit({&tensor, 1}, request);
    if (!ticket) return ticket.error();
    const auto results = ticket->collect();
    return results ? Status() : Status(results.error());
  };
  // The first call builds the kernel, after a trial in the helper process. The small kernel below gets no trial: it is
  // no greater risk than a kernel of the caller's.
  if (Status measured = measure(); !measured) return measured.error();
  const char* const told = device->is_cpu ? "-cl-std=CL1.2 -DON_CPU" : "-cl-std=CL1.2";
  const auto program =
      cl_engine::build_program(context, *device, {.doing = doing, .source = kRead, .options = told, .key = {}});
  if (!program) return program.error();
  cl::Kernel kernel(*program, "read_elements", &code);
  if (code == CL_SUCCESS) code = kernel.setArg(0, from);
  if (code == CL_SUCCESS) code = kernel.setArg(1, to);
  if (code == CL_SUCCESS) code = kernel.setArg(2, cl_ulong{bytes});
  if (code != CL_SUCCESS) return error(doing, "clSetKernelArg", code);
  const auto read = [&]() -> Status {
    cl_int run = queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(items), cl::NDRange(group));
    if (run == CL_SUCCESS) run = queue.finish();
    return run == CL_SUCCESS ? Status() : Status(error(doing, "clEnqueueNDRangeKernel", run));
  };
  if (Status warm = read(); !warm) return warm.error();

  std::vector<double> measured_seconds,
      read_seconds;  // measured in turns, because the speed of a shared machine's memory varies
  for (int round = 0; round < kRounds; ++round) {
    for (const bool is_measured : {true, false}) {
      const auto begin = Clock::now();
      if (Status done = is_measured ? measure() : read(); !done) return done.error();
      const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
      (is_measured ? measured_seconds : read_seconds).push_back(std::max(seconds, 1e-9));
    }
  }
  const double gigabytes = static_cast<double>(bytes) * 1e-9;
  return DeviceSpeed{gigabytes / median(measured_seconds), gigabytes / median(read_seconds)};
} catch (...) {
  return caught();
}

}  // namespace tensorstat
