// Small OpenCL programs, as somebody else might write them: `attached_programs NAME`. Each prints what a program can
// notice. attach_test.py runs each alone and under `tensorstat attach`, and compares.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr size_t kCount = 1024, kBytes = kCount * sizeof(float);
constexpr const char* kSource = R"(
typedef float real;
typedef float2 pair;
__kernel void twice(__global const real* a, __global real* b) { size_t i = get_global_id(0); b[i] = 2 * a[i]; }
__kernel void root(__global const float* a, __global float* b) { size_t i = get_global_id(0); b[i] = sqrt(a[i]); }
__kernel void clear(__global float* b) { b[get_global_id(0)] = 0; }
__kernel void half_of(__global const float* a, __global float* b) {
  size_t i = get_global_id(0);
  if (i < 512) b[i] = a[i];
}
__kernel void in_place(__global pair* x) { x[get_global_id(0)] = log(x[get_global_id(0)]); }
__kernel void slow(__global const float* a, __global float* b) {
  size_t i = get_global_id(0);
  float x = a[i];
  for (int k = 0; k < 20000; ++k) x = x * 0.999f + 0.001f;
  b[i] = x;
}
__kernel void sum(__global const float* a, __global float* b) {
  float s = 0;
  for (int i = 0; i < 1024; ++i) s += a[i];
  b[get_global_id(0)] = s;
}
)";

void check(cl_int code, const char* what) {
  if (code == CL_SUCCESS) return;
  std::printf("%s: %d\n", what, code);
  std::fflush(stdout);
  std::_Exit(3);
}

struct Program {
  cl_device_id device = nullptr;
  cl_context context = nullptr;
  cl_program program = nullptr;
  cl_command_queue queue = nullptr;

  explicit Program(cl_command_queue_properties properties = 0) {
    cl_platform_id platforms[8];
    cl_uint count = 0;
    check(clGetPlatformIDs(8, platforms, &count), "platforms");
    check(clGetDeviceIDs(platforms[0], CL_DEVICE_TYPE_ALL, 1, &device, nullptr), "devices");
    cl_int code = 0;
    context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &code);
    check(code, "context");
    const char* text = kSource;
    program = clCreateProgramWithSource(context, 1, &text, nullptr, &code);
    check(code, "program");
    check(clBuildProgram(program, 1, &device, "-cl-std=CL1.2", nullptr, nullptr), "build");
    char options[256] = "";
    check(clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_OPTIONS, sizeof options, options, nullptr),
          "options");
    std::printf("options '%s'\n", options);
    queue = new_queue(properties);
  }
  cl_command_queue new_queue(cl_command_queue_properties properties = 0) const {
    cl_int code = 0;
    const cl_command_queue made = clCreateCommandQueue(context, device, properties, &code);
    check(code, "queue");
    return made;
  }
  // Holds -0.5, 0.5, 1.5, ...; without content where `filled` is false.
  cl_mem buffer(bool filled, cl_mem_flags flags = CL_MEM_READ_WRITE, float first = -0.5f) const {
    std::vector<float> content(kCount);
    for (size_t i = 0; i < kCount; ++i) content[i] = first + static_cast<float>(i);
    cl_int code = 0;
    const cl_mem made = clCreateBuffer(context, flags | (filled ? CL_MEM_COPY_HOST_PTR : 0), kBytes,
                                       filled ? content.data() : nullptr, &code);
    check(code, "buffer");
    return made;
  }
  cl_kernel kernel(const char* name, const std::vector<cl_mem>& arguments) const {
    cl_int code = 0;
    const cl_kernel made = clCreateKernel(program, name, &code);
    check(code, name);
    set(made, arguments);
    return made;
  }
  static void set(cl_kernel kernel, const std::vector<cl_mem>& arguments) {
    for (cl_uint i = 0; i < arguments.size(); ++i) {
      check(clSetKernelArg(kernel, i, sizeof(cl_mem), &arguments[i]), "argument");
    }
  }
  cl_event launch(cl_kernel kernel, cl_command_queue on = nullptr, std::vector<cl_event> waits = {},
                  size_t size = kCount) const {
    cl_event event = nullptr;
    check(clEnqueueNDRangeKernel(on == nullptr ? queue : on, kernel, 1, nullptr, &size, nullptr,
                                 static_cast<cl_uint>(waits.size()), waits.empty() ? nullptr : waits.data(), &event),
          "launch");
    return event;
  }
  void run(const char* name, const std::vector<cl_mem>& arguments, size_t size = kCount) const {
    const cl_kernel made = kernel(name, arguments);
    clReleaseEvent(launch(made, nullptr, {}, size));
    clReleaseKernel(made);
  }
  void print(const char* name, cl_mem memory, cl_command_queue on = nullptr, size_t bytes = kBytes) const {
    std::vector<float> content(bytes / sizeof(float));
    check(
        clEnqueueReadBuffer(on == nullptr ? queue : on, memory, CL_TRUE, 0, bytes, content.data(), 0, nullptr, nullptr),
        "read");
    size_t nan = 0;
    for (const float each : content) nan += std::isnan(each) ? 1 : 0;
    std::printf("%s: %g %g, %zu NaN\n", name, std::isnan(content[0]) ? 0.0 : content[0], content[1], nan);
  }
};

// The launch waits for an event that the program sets later.
void user_event() {
  const Program p;
  const cl_mem a = p.buffer(true), b = p.buffer(false);
  cl_int code = 0;
  const cl_event gate = clCreateUserEvent(p.context, &code);
  p.launch(p.kernel("root", {a, b}), nullptr, {gate});
  check(clFlush(p.queue), "flush");
  check(clSetUserEventStatus(gate, CL_COMPLETE), "gate");
  p.print("b", b);
}

// A launch on one queue waits for an event that a launch on another lets the program set.
void gate_of_another_queue() {
  const Program p;
  const cl_command_queue other = p.new_queue();
  const cl_mem a = p.buffer(true), b = p.buffer(false), c = p.buffer(false);
  cl_int code = 0;
  const cl_event gate = clCreateUserEvent(p.context, &code);
  p.launch(p.kernel("twice", {a, b}), nullptr, {gate});
  const cl_event done = p.launch(p.kernel("root", {a, c}), other);
  check(clFlush(other), "flush");
  check(clWaitForEvents(1, &done), "wait");
  check(clSetUserEventStatus(gate, CL_COMPLETE), "gate");
  p.print("b", b);
  p.print("c", c);
}

// Another queue overwrites the result as soon as the launch's event has completed.
void two_queues() {
  const Program p;
  const cl_command_queue other = p.new_queue();
  const cl_mem a = p.buffer(true), b = p.buffer(false);
  for (int i = 0; i < 20; ++i) {
    const cl_event done = p.launch(p.kernel(i == 10 ? "root" : "twice", {a, b}));
    p.launch(p.kernel("clear", {b}), other, {done});
    check(clFinish(other), "finish");
  }
  p.print("b", b);
}

// The same on one queue that keeps no order.
void out_of_order() {
  const Program p(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  const cl_mem a = p.buffer(true), b = p.buffer(false);
  cl_event last = nullptr;
  for (int i = 0; i < 20; ++i) {
    std::vector<cl_event> waits;
    if (last != nullptr) waits.push_back(last);
    const cl_event done = p.launch(p.kernel(i == 10 ? "root" : "twice", {a, b}), nullptr, waits);
    last = p.launch(p.kernel("clear", {b}), nullptr, {done});
  }
  check(clWaitForEvents(1, &last), "wait");
  p.print("b", b);
}

// A launch on a queue without order waits for what a later launch lets the program do.
void out_of_order_gate() {
  const Program p(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  const cl_mem a = p.buffer(true), b = p.buffer(false), c = p.buffer(false);
  cl_int code = 0;
  const cl_event gate = clCreateUserEvent(p.context, &code);
  const cl_event held = p.launch(p.kernel("twice", {a, b}), nullptr, {gate});
  const cl_event done = p.launch(p.kernel("root", {a, c}));
  check(clWaitForEvents(1, &done), "wait");
  check(clSetUserEventStatus(gate, CL_COMPLETE), "gate");
  check(clWaitForEvents(1, &held), "wait");
  p.print("b", b);
  p.print("c", c);
}

void released_at_once() {
  const Program p;
  const cl_mem a = p.buffer(true);
  for (int i = 0; i < 50; ++i) {
    const cl_mem b = p.buffer(false);
    const cl_kernel kernel = p.kernel(i == 25 ? "root" : "twice", {a, b});
    clReleaseEvent(p.launch(kernel));
    clReleaseKernel(kernel);
    clReleaseMemObject(b);
  }
  check(clFinish(p.queue), "finish");
  p.print("a", a);
}

// The memory of a buffer is the program's, and is gone as soon as the launch has ended.
void own_memory() {
  const Program p;
  const cl_mem a = p.buffer(true);
  void* const memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  cl_int code = 0;
  const cl_mem b = clCreateBuffer(p.context, CL_MEM_USE_HOST_PTR, kBytes, memory, &code);
  check(code, "buffer");
  const cl_event done = p.launch(p.kernel("root", {a, b}));
  check(clWaitForEvents(1, &done), "wait");
  clReleaseMemObject(b);
  munmap(memory, kBytes);
  check(clFinish(p.queue), "finish");
  std::printf("done\n");
}

void threads() {
  const Program p;
  const cl_mem a = p.buffer(true);
  std::vector<std::thread> all;
  std::vector<float> sums(8);
  for (int t = 0; t < 8; ++t) {
    all.emplace_back([&, t] {
      const cl_command_queue queue = p.new_queue();
      const cl_mem b = p.buffer(false);
      for (int i = 0; i < 25; ++i) {
        const cl_kernel kernel = p.kernel(t == 5 && i == 12 ? "root" : "twice", {a, b});
        clReleaseEvent(p.launch(kernel, queue));
        clReleaseKernel(kernel);
      }
      check(clFinish(queue), "finish");
      float first[2] = {};
      check(clEnqueueReadBuffer(queue, b, CL_TRUE, 0, sizeof first, first, 0, nullptr, nullptr), "read");
      sums[static_cast<size_t>(t)] = first[1];
      clReleaseMemObject(b);
      clReleaseCommandQueue(queue);
    });
  }
  for (auto& each : all) each.join();
  for (const float each : sums) std::printf("%g\n", each);
}

void forks() {
  const Program p;
  const cl_mem a = p.buffer(true), b = p.buffer(false);
  p.run("twice", {a, b});
  check(clFinish(p.queue), "finish");
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) std::exit(5);  // with its atexit handlers
  int status = 0;
  waitpid(child, &status, 0);
  std::printf("child %d\n", WEXITSTATUS(status));
  p.run("root", {a, b});
  p.print("b", b);
}

void exits() {
  const Program p;
  const cl_mem a = p.buffer(true), b = p.buffer(false);
  p.run("root", {a, b});
  std::printf("bye\n");
  std::exit(9);
}

// Without an end of its launch.
void exits_blocked() {
  const Program p;
  const cl_mem a = p.buffer(true), b = p.buffer(false), c = p.buffer(false);
  p.run("root", {a, b});
  check(clFinish(p.queue), "finish");
  cl_int code = 0;
  const cl_event gate = clCreateUserEvent(p.context, &code);
  p.launch(p.kernel("twice", {a, c}), nullptr, {gate});
  check(clFlush(p.queue), "flush");
  std::printf("bye\n");
  std::exit(4);
}

void aborts() {
  const Program p;
  const cl_mem a = p.buffer(true), b = p.buffer(false);
  p.run("root", {a, b});
  p.print("b", b);
  std::fflush(stdout);
  usleep(300'000);
  std::abort();
}

void references() {
  const Program p;
  const cl_mem a = p.buffer(true), b = p.buffer(false);
  const cl_kernel kernel = p.kernel("root", {a, b});
  const cl_event done = p.launch(kernel);
  check(clWaitForEvents(1, &done), "wait");
  usleep(100'000);  // what was enqueued lets go
  cl_uint queue = 0, memory = 0, of_kernel = 0;
  check(clGetCommandQueueInfo(p.queue, CL_QUEUE_REFERENCE_COUNT, sizeof queue, &queue, nullptr), "queue");
  check(clGetMemObjectInfo(b, CL_MEM_REFERENCE_COUNT, sizeof memory, &memory, nullptr), "memory");
  check(clGetKernelInfo(kernel, CL_KERNEL_REFERENCE_COUNT, sizeof of_kernel, &of_kernel, nullptr), "kernel");
  std::printf("references %u %u\n", memory, of_kernel);
  p.print("b", b);
}

void profiling() {
  const Program p(CL_QUEUE_PROFILING_ENABLE);
  const cl_mem a = p.buffer(true), b = p.buffer(false);
  const cl_event done = p.launch(p.kernel("root", {a, b}));
  check(clWaitForEvents(1, &done), "wait");
  cl_ulong begin = 0, end = 0;
  check(clGetEventProfilingInfo(done, CL_PROFILING_COMMAND_START, sizeof begin, &begin, nullptr), "start");
  check(clGetEventProfilingInfo(done, CL_PROFILING_COMMAND_END, sizeof end, &end, nullptr), "end");
  cl_command_type type = 0;
  check(clGetEventInfo(done, CL_EVENT_COMMAND_TYPE, sizeof type, &type, nullptr), "type");
  std::printf("type %x, %s\n", type, begin != 0 && end >= begin ? "timed" : "not timed");
}

void set_again() {
  const Program p;
  const cl_mem a = p.buffer(true), b = p.buffer(false), c = p.buffer(false), d = p.buffer(true, CL_MEM_READ_WRITE, 1);
  const cl_kernel kernel = p.kernel("root", {d, b});
  p.launch(kernel);
  Program::set(kernel, {a, c});
  p.launch(kernel);
  Program::set(kernel, {d, b});
  p.print("b", b);
  p.print("c", c);
}

void sub_buffers() {
  const Program p;
  const cl_mem a = p.buffer(true), whole = p.buffer(true, CL_MEM_READ_WRITE, 1), out = p.buffer(false);
  const cl_buffer_region region{kBytes / 2, kBytes / 2};
  cl_int code = 0;
  const cl_mem part = clCreateSubBuffer(whole, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
  check(code, "sub-buffer");
  p.run("twice", {whole, out});
  p.run("root", {a, part}, kCount / 2);
  p.run("twice", {whole, out});
  p.print("out", out);
}

void in_place() {
  const Program p;
  const cl_mem x = p.buffer(true, CL_MEM_READ_WRITE, 2);
  for (int i = 0; i < 4; ++i) p.run("in_place", {x}, kCount / 2);
  p.print("x", x);
}

// New memory holds NaN of an older buffer; nobody who writes a part of it made them.
void unwritten_memory() {
  const Program p;
  const cl_mem a = p.buffer(true), good = p.buffer(true, CL_MEM_READ_WRITE, 1), out = p.buffer(false);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  cl_int code = 0;
  // Over 32 buffers, the driver reuses some memory.
  for (int i = 0; i < 32; ++i) {
    const cl_mem old = p.buffer(false);
    check(clEnqueueFillBuffer(p.queue, old, &nan, sizeof nan, 0, kBytes, 0, nullptr, nullptr), "fill");
    check(clFinish(p.queue), "finish");
    clReleaseMemObject(old);
    const cl_mem fresh = p.buffer(false);
    p.run("half_of", {good, fresh});
    check(clFinish(p.queue), "finish");
    clReleaseMemObject(fresh);
  }
  p.run("root", {a, out});
  p.print("out", out);
  static_cast<void>(code);
}

// Reads what nobody wrote; the memory is 0 there, because it is new.
void reads_unwritten() {
  const Program p;
  const cl_mem none = p.buffer(false), out = p.buffer(false), good = p.buffer(true, CL_MEM_READ_WRITE, 1);
  p.run("twice", {good, out});
  p.run("sum", {none, out}, 1);
  check(clFinish(p.queue), "finish");
  std::printf("done\n");
}

void refused_launch() {
  const Program p;
  const cl_mem a = p.buffer(true), b = p.buffer(false);
  const cl_kernel kernel = p.kernel("root", {a, b});
  const size_t size = kCount, local = kCount + 1;
  std::printf("%d\n", clEnqueueNDRangeKernel(p.queue, kernel, 1, nullptr, &size, &local, 0, nullptr, nullptr));
  std::printf("%d\n", clEnqueueNDRangeKernel(p.queue, kernel, 7, nullptr, &size, nullptr, 0, nullptr, nullptr));
  std::printf("%d\n", clEnqueueNDRangeKernel(nullptr, kernel, 1, nullptr, &size, nullptr, 0, nullptr, nullptr));
  p.run("root", {a, b});
  p.print("b", b);
}

void mapped() {
  const Program p;
  const cl_mem a = p.buffer(true, CL_MEM_READ_WRITE, 1), b = p.buffer(false);
  p.run("root", {a, b});
  cl_int code = 0;
  void* const at = clEnqueueMapBuffer(p.queue, a, CL_TRUE, CL_MAP_WRITE, 0, kBytes, 0, nullptr, nullptr, &code);
  check(code, "map");
  static_cast<float*>(at)[7] = -1;
  check(clEnqueueUnmapMemObject(p.queue, a, at, 0, nullptr, nullptr), "unmap");
  p.run("root", {a, b});
  p.print("b", b);
}

void many() {
  const Program p;
  const cl_mem a = p.buffer(true), b = p.buffer(false);
  const cl_kernel twice = p.kernel("twice", {a, b}), root = p.kernel("root", {a, b});
  for (int i = 0; i < 2000; ++i) clReleaseEvent(p.launch(i == 1500 ? root : twice));
  p.print("b", b);
}

void given_by_host() {
  const Program p;
  const cl_mem a = p.buffer(true, CL_MEM_READ_WRITE, std::numeric_limits<float>::quiet_NaN()), b = p.buffer(false);
  p.run("twice", {a, b});
  p.print("b", b);
}

void clean() {
  const Program p;
  const cl_mem a = p.buffer(true), b = p.buffer(false);
  for (int i = 0; i < 3; ++i) p.run("twice", {a, b});
  p.print("b", b);
}

const std::map<std::string, std::function<void()>> kPrograms = {
    {"user_event", user_event},
    {"gate_of_another_queue", gate_of_another_queue},
    {"two_queues", two_queues},
    {"out_of_order", out_of_order},
    {"out_of_order_gate", out_of_order_gate},
    {"released_at_once", released_at_once},
    {"own_memory", own_memory},
    {"threads", threads},
    {"forks", forks},
    {"exits", exits},
    {"exits_blocked", exits_blocked},
    {"aborts", aborts},
    {"references", references},
    {"profiling", profiling},
    {"set_again", set_again},
    {"sub_buffers", sub_buffers},
    {"in_place", in_place},
    {"unwritten_memory", unwritten_memory},
    {"reads_unwritten", reads_unwritten},
    {"refused_launch", refused_launch},
    {"mapped", mapped},
    {"many", many},
    {"given_by_host", given_by_host},
    {"clean", clean},
};

}  // namespace

int main(int count, char** arguments) {
  const auto found = count == 2 ? kPrograms.find(arguments[1]) : kPrograms.end();
  if (found == kPrograms.end()) {
    for (const auto& [name, run] : kPrograms) std::printf("%s\n", name.c_str());
    return count == 1 ? 0 : 2;
  }
  found->second();
  return 0;
}
