#include "bench/limit_opencl.hpp"

#include <limits>
#include <stdexcept>
#include <vector>

#include "kernels-cl/driver/device.hpp"

namespace tensorstat::bench {
namespace {

// A work-item reads vectors `stride` apart, from its own index on. With stride 1 each work-item reads a contiguous
// slice. With the number of work-items, neighbours read neighbouring vectors.
constexpr const char* kText = R"(
kernel void read(global const ulong8* from, ulong vectors, ulong slice, ulong stride, global ulong* to) {
  ulong8 a = 0, b = 0, c = 0, d = 0;
  ulong index = get_global_id(0) * slice;
  const ulong end = min(index + max(slice, (ulong)1), vectors);
  const ulong stop = stride == 1 ? end : vectors;
  for (; index + 3 * stride < stop; index += 4 * stride) {
    a ^= from[index]; b ^= from[index + stride]; c ^= from[index + 2 * stride]; d ^= from[index + 3 * stride];
  }
  for (; index < stop; index += stride) a ^= from[index];
  a ^= b ^ c ^ d;
  to[get_global_id(0)] = a.s0 ^ a.s1 ^ a.s2 ^ a.s3 ^ a.s4 ^ a.s5 ^ a.s6 ^ a.s7;
})";

void check(cl_int code, const char* call) {
  if (code != CL_SUCCESS) throw std::runtime_error(cl_engine::error("the read-only kernel", call, code).message);
}

struct Shape {
  const char* name;
  std::size_t groups_a_unit, group_size;  // groups per compute unit; work-items per group
};
constexpr Shape kShapes[] = {
    {"a slice a unit", 1, 1}, {"4 slices a unit", 4, 1}, {"16 slices a unit", 16, 1}, {"coalesced", 16, 256}};

class Reader {
 public:
  Reader(const cl_engine::Device& device, std::span<const std::byte> bytes, Shape shape)
      : context_(device.device),
        queue_(context_, device.device),
        shape_(shape),
        items_(shape.groups_a_unit * shape.group_size * device.compute_units),
        results_(items_) {
    cl_int code = CL_SUCCESS;
    cl::Program program(context_, kText, false, &code);
    check(code, "clCreateProgramWithSource");
    check(program.build({device.device}, "-cl-std=CL1.2"), "clBuildProgram");
    kernel_ = cl::Kernel(program, "read", &code);
    check(code, "clCreateKernel");
    from_ = cl::Buffer(context_, CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, bytes.size(),
                       const_cast<std::byte*>(bytes.data()), &code);
    check(code, "clCreateBuffer");
    to_ = cl::Buffer(context_, CL_MEM_WRITE_ONLY, items_ * sizeof(cl_ulong), nullptr, &code);
    check(code, "clCreateBuffer");
    const cl_ulong vectors = bytes.size() / 64;
    const cl_ulong slice = shape.group_size > 1 ? 1 : (vectors + items_ - 1) / items_;
    const cl_ulong stride = shape.group_size > 1 ? items_ : 1;
    check(kernel_.setArg(0, from_), "clSetKernelArg");
    check(kernel_.setArg(1, vectors), "clSetKernelArg");
    check(kernel_.setArg(2, slice), "clSetKernelArg");
    check(kernel_.setArg(3, stride), "clSetKernelArg");
    check(kernel_.setArg(4, to_), "clSetKernelArg");
  }

  std::uint64_t read() {
    check(queue_.enqueueNDRangeKernel(kernel_, cl::NullRange, cl::NDRange(items_), cl::NDRange(shape_.group_size)),
          "clEnqueueNDRangeKernel");
    check(queue_.enqueueReadBuffer(to_, CL_TRUE, 0, items_ * sizeof(cl_ulong), results_.data()), "clEnqueueReadBuffer");
    std::uint64_t result = 0;
    for (const cl_ulong each : results_) result ^= each;
    return result;
  }

 private:
  cl::Context context_;
  cl::CommandQueue queue_;
  cl::Kernel kernel_;
  cl::Buffer from_, to_;
  Shape shape_;
  std::size_t items_;
  std::vector<cl_ulong> results_;
};

}  // namespace

Limit fastest_opencl_read(std::span<const std::byte> bytes) {
  const auto device = cl_engine::choose_device({});
  if (!device) throw std::runtime_error(device.error().message);
  if (!device->shares_host_memory) throw std::runtime_error("the device does not share the host's memory");
  const std::span whole_vectors = bytes.first(bytes.size() / 64 * 64);
  const std::uint64_t expected = plain_xor(whole_vectors);
  Limit fastest;
  double best = std::numeric_limits<double>::infinity();
  for (const Shape& shape : kShapes) {
    const auto reader = std::make_shared<Reader>(*device, whole_vectors, shape);
    const auto read = [reader, expected] {
      if (reader->read() != expected) throw std::runtime_error("the read-only kernel is wrong");
    };
    read();  // the first launch compiles
    const double seconds = best_seconds(read, 3);
    if (seconds >= best) continue;
    best = seconds;
    fastest = {shape.name, read};
  }
  return fastest;
}

}  // namespace tensorstat::bench
