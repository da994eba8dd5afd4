#include <cstdio>
#include <deque>
#include <map>
#include <stdexcept>
#include <utility>

#include "bench/device/gpu.hpp"
#include "kernels-cl/program/program.hpp"

namespace tensorstat::bench {
namespace {

void check(cl_int code, const std::string& doing, const char* call) {
  if (code != CL_SUCCESS) throw std::runtime_error(cl_engine::error(doing, call, code).message);
}

class OpenCl final : public Gpu {
 public:
  explicit OpenCl(cl_engine::Device device) : device_(std::move(device)), doing_("using " + device_.info.name) {
    cl_int code = CL_SUCCESS;
    context_ = cl::Context(device_.device, nullptr, nullptr, nullptr, &code);
    check(code, doing_, "clCreateContext");
    queue_ = cl::CommandQueue(context_, device_.device, CL_QUEUE_PROFILING_ENABLE, &code);
    check(code, doing_, "clCreateCommandQueue");
  }

  std::string description() const override {
    return "OpenCL: " + device_.info.platform_name + ": " + device_.info.name + ", driver " + device_.info.driver +
           (device_.ptx != 0 ? ", PTX for sm_" + std::to_string(device_.ptx) : "");
  }
  const cl_engine::Device& traits() const override { return device_; }

  Buffer make(std::uint64_t bytes) override {
    cl_int code = CL_SUCCESS;
    buffers_.emplace_back(context_, CL_MEM_READ_WRITE, bytes, nullptr, &code);
    check(code, doing_, "clCreateBuffer");
    return reinterpret_cast<Buffer>(buffers_.back()());
  }
  void write(Buffer to, std::span<const std::byte> bytes) override {
    check(clEnqueueWriteBuffer(queue_(), memory(to), CL_TRUE, 0, bytes.size(), bytes.data(), 0, nullptr, nullptr),
          doing_, "clEnqueueWriteBuffer");
  }
  void read(Buffer from, std::span<std::byte> bytes) override {
    check(clEnqueueReadBuffer(queue_(), memory(from), CL_TRUE, 0, bytes.size(), bytes.data(), 0, nullptr, nullptr),
          doing_, "clEnqueueReadBuffer");
  }

  double run(const KernelSpec& spec, std::size_t groups, Buffer source, Buffer workspace, std::uint64_t first,
             std::uint64_t second) override {
    cl::Kernel& kernel = built(spec);
    const cl_mem from = memory(source), to = memory(workspace);
    const cl_ulong numbers[] = {first, second};
    check(clSetKernelArg(kernel(), 0, sizeof from, &from), doing_, "clSetKernelArg");
    check(clSetKernelArg(kernel(), 1, sizeof to, &to), doing_, "clSetKernelArg");
    check(clSetKernelArg(kernel(), 2, sizeof numbers[0], &numbers[0]), doing_, "clSetKernelArg");
    check(clSetKernelArg(kernel(), 3, sizeof numbers[1], &numbers[1]), doing_, "clSetKernelArg");
    cl::Event done;
    check(queue_.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(groups * spec.group_size),
                                      cl::NDRange(spec.group_size), nullptr, &done),
          doing_, "clEnqueueNDRangeKernel");
    check(done.wait(), doing_, "clWaitForEvents");
    cl_int begin_code = CL_SUCCESS, end_code = CL_SUCCESS;
    const cl_ulong begin = done.getProfilingInfo<CL_PROFILING_COMMAND_START>(&begin_code);
    const cl_ulong end = done.getProfilingInfo<CL_PROFILING_COMMAND_END>(&end_code);
    check(begin_code, doing_, "clGetEventProfilingInfo");
    check(end_code, doing_, "clGetEventProfilingInfo");
    return static_cast<double>(end - begin) * 1e-9;
  }

 private:
  static cl_mem memory(Buffer buffer) { return reinterpret_cast<cl_mem>(buffer); }

  cl::Kernel& built(const KernelSpec& spec) {
    const auto known = kernels_.find(spec);
    if (known != kernels_.end()) return known->second;
    const std::string doing = "building " + name(spec);
    cl_int code = CL_SUCCESS;
    const cl::Program program(context_, text(device_, spec), false, &code);
    check(code, doing, "clCreateProgramWithSource");
    if (program.build({device_.device}, options(device_, spec).c_str()) != CL_SUCCESS) {
      if (std::exchange(device_.ptx, 0) != 0) {  // as the library does
        std::printf("%s: inline PTX does not compile: %s\n", doing.c_str(),
                    program.getBuildInfo<CL_PROGRAM_BUILD_LOG>(device_.device).c_str());
        return built(spec);
      }
      throw std::runtime_error(doing + " failed: " + program.getBuildInfo<CL_PROGRAM_BUILD_LOG>(device_.device));
    }
    cl::Kernel kernel(program, spec.kind == KernelSpec::Kind::kRead ? "read" : "fold", &code);
    check(code, doing, "clCreateKernel");
    return kernels_[spec] = std::move(kernel);
  }

  cl_engine::Device device_;
  std::string doing_;
  cl::Context context_;
  cl::CommandQueue queue_;
  std::deque<cl::Buffer> buffers_;
  std::map<KernelSpec, cl::Kernel> kernels_;
};

}  // namespace

std::unique_ptr<Gpu> open_opencl() {
  auto device = cl_engine::choose_device({});
  if (!device) throw std::runtime_error(device.error().message);
  return std::make_unique<OpenCl>(*std::move(device));
}

}  // namespace tensorstat::bench
