// Small OpenCL programs, as somebody else might write them: `attached_programs NAME`. Each prints what a program can
// notice. attach_test.py runs each alone and under `tensorstat attach`, and compares.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <limits>
#include <thread>

#include "tests/attach/program.hpp"

namespace {

using namespace attached;

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
  const cl_event launch = p.launch(p.kernel("twice", {a, b}), nullptr, {gate});
  const cl_event done = p.launch(p.kernel("root", {a, c}));
  check(clWaitForEvents(1, &done), "wait");
  check(clSetUserEventStatus(gate, CL_COMPLETE), "gate");
  check(clWaitForEvents(1, &launch), "wait");
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
  constexpr size_t kOwnBytes = 16 << 20;  // to read it takes longer than the launch
  const Program p;
  const cl_mem a = p.buffer(true);
  void* const memory = mmap(nullptr, kOwnBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  cl_int code = 0;
  const cl_mem b = clCreateBuffer(p.context, CL_MEM_USE_HOST_PTR, kOwnBytes, memory, &code);
  check(code, "buffer");
  const cl_event done = p.launch(p.kernel("root", {a, b}));
  check(clWaitForEvents(1, &done), "wait");
  clReleaseMemObject(b);
  munmap(memory, kOwnBytes);
  check(clFinish(p.queue), "finish");
  std::printf("done\n");
}

// The launches of seven wait for what the eighth does behind its own.
void threads() {
  const Program p;
  const cl_mem a = p.buffer(true);
  cl_int code = 0;
  const cl_event gate = clCreateUserEvent(p.context, &code);
  std::vector<std::thread> all;
  std::vector<float> sums(8);
  for (int t = 0; t < 8; ++t) {
    all.emplace_back([&, t] {
      const cl_command_queue queue = p.new_queue();
      const cl_mem b = p.buffer(false);
      for (int i = 0; i < 25; ++i) {
        const cl_kernel kernel = p.kernel(t == 5 && i == 12 ? "root" : "twice", {a, b});
        clReleaseEvent(p.launch(kernel, queue, t == 7 ? std::vector<cl_event>() : std::vector<cl_event>{gate}));
        clReleaseKernel(kernel);
      }
      if (t == 7) check(clSetUserEventStatus(gate, CL_COMPLETE), "gate");
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
  p.run("clear", {b});
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
  // Both are filled: a naive layer is to be right here, and it would take NaN in memory that nobody wrote for an input.
  const cl_mem a = p.buffer(true), b = p.buffer(true);
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

// New memory that is full of an older buffer's NaN, if the driver reuses memory.
cl_mem full_of_old_nan(const Program& p) {
  constexpr cl_uint kOld = 0x7fc01234;
  cl_mem fresh = nullptr;
  std::vector<cl_uint> content(kCount);
  // Memory that is not reused is kept, so that the driver takes other memory next time.
  for (int i = 0; i < 64 && content[kCount / 2] != kOld; ++i) {
    const cl_mem old = p.buffer(false);
    check(clEnqueueFillBuffer(p.queue, old, &kOld, sizeof kOld, 0, kBytes, 0, nullptr, nullptr), "fill");
    check(clFinish(p.queue), "finish");
    clReleaseMemObject(old);
    fresh = p.buffer(false);
    check(clEnqueueReadBuffer(p.queue, fresh, CL_TRUE, 0, kBytes, content.data(), 0, nullptr, nullptr), "read");
  }
  return fresh;
}

// It is overwritten by the launch that makes one NaN.
void reused_memory() {
  const Program p;
  const cl_mem a = p.buffer(true), fresh = full_of_old_nan(p);
  p.run("root", {a, fresh});
  p.print("fresh", fresh);
}

// Reads unwritten memory; it is 0, because it is new.
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
  void* const memory = clEnqueueMapBuffer(p.queue, a, CL_TRUE, CL_MAP_WRITE, 0, kBytes, 0, nullptr, nullptr, &code);
  check(code, "map");
  static_cast<float*>(memory)[7] = -1;
  check(clEnqueueUnmapMemObject(p.queue, a, memory, 0, nullptr, nullptr), "unmap");
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

// Half of it was written, and is copied along with the rest.
void copied_in_part() {
  const Program p;
  const cl_mem a = p.buffer(false), b = p.buffer(false), c = p.buffer(false);
  const std::vector<float> half(kCount / 2, 3);
  check(clEnqueueWriteBuffer(p.queue, a, CL_TRUE, 0, kBytes / 2, half.data(), 0, nullptr, nullptr), "write");
  check(clEnqueueCopyBuffer(p.queue, a, b, 0, 0, kBytes, 0, nullptr, nullptr), "copy");
  p.run("half_of", {b, c});
  p.print("c", c, nullptr, kBytes / 2);
}

// Half of it was written, and is copied along with the rest, in rows, over what was written.
void copied_in_rows() {
  const Program p;
  const cl_mem a = full_of_old_nan(p), b = p.buffer(true), c = p.buffer(false);
  const std::vector<float> half(kCount / 2, 3);
  check(clEnqueueWriteBuffer(p.queue, a, CL_TRUE, 0, kBytes / 2, half.data(), 0, nullptr, nullptr), "write");
  const size_t region[] = {kBytes / 32, 16, 1};
  for (const size_t slice : {0, 1}) {
    const size_t origin[] = {0, 0, slice};
    check(clEnqueueCopyBufferRect(p.queue, a, b, origin, origin, region, 0, 0, 0, 0, 0, nullptr, nullptr), "copy");
  }
  p.run("half_of", {b, c});
  p.print("c", c, nullptr, kBytes / 2);
}

// The events to wait for are counted and missing.
void missing_list() {
  const Program p;
  const cl_mem a = p.buffer(true), b = p.buffer(false);
  const cl_kernel kernel = p.kernel("root", {a, b});
  const size_t size = kCount;
  std::printf("%d\n", clEnqueueNDRangeKernel(p.queue, kernel, 1, nullptr, &size, nullptr, 2, nullptr, nullptr));
  p.run("root", {a, b});
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
    {"reused_memory", reused_memory},
    {"reads_unwritten", reads_unwritten},
    {"refused_launch", refused_launch},
    {"mapped", mapped},
    {"many", many},
    {"copied_in_part", copied_in_part},
    {"copied_in_rows", copied_in_rows},
    {"missing_list", missing_list},
    {"given_by_host", given_by_host},
    {"clean", clean},
};

}  // namespace

int main(int count, char** arguments) {
  auto programs = kPrograms;
  programs.insert(kMorePrograms.begin(), kMorePrograms.end());
  programs.insert(kGatedPrograms.begin(), kGatedPrograms.end());
  const auto program = count == 2 ? programs.find(arguments[1]) : programs.end();
  if (program == programs.end()) {
    for (const auto& [name, run] : programs) std::printf("%s\n", name.c_str());
    return count == 1 ? 0 : 2;
  }
  program->second();
  return 0;
}
