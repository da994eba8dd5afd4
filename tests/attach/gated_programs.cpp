// Programs in which a host holds a launch back by an event of its own, and meanwhile changes what the launch reads or
// writes: each is right alone, and hangs if a command of the host waits for a reading of the launch. The last ones use
// objects in other ways that a program may.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/attach/program.hpp"

namespace attached {
namespace {

struct Gated {
  Program p;
  cl_command_queue other;
  cl_mem a = p.buffer(true, CL_MEM_READ_WRITE, 1), b = p.buffer(true, CL_MEM_READ_WRITE, 7);
  cl_event gate, done = nullptr;

  Gated() : other(p.new_queue()) {
    cl_int code = 0;
    gate = clCreateUserEvent(p.context, &code);
    check(code, "gate");
    done = p.launch(p.kernel("twice", {a, b}), nullptr, {gate});
    check(clFlush(p.queue), "flush");
  }
  // The work on `other` must end before the gate opens.
  void open() const {
    check(clFinish(other), "finish");
    check(clSetUserEventStatus(gate, CL_COMPLETE), "gate");
    check(clWaitForEvents(1, &done), "wait");
    p.print("a", a);
    p.print("b", b);
  }
};

const std::vector<float> kThree(kCount, 3), kNine(kCount, 9);
constexpr float kFive = 5;

void write_to(cl_command_queue queue, cl_mem memory, const std::vector<float>& content, cl_bool blocking = CL_TRUE) {
  check(clEnqueueWriteBuffer(queue, memory, blocking, 0, kBytes, content.data(), 0, nullptr, nullptr), "write");
}
void fill(cl_command_queue queue, cl_mem memory, std::vector<cl_event> waits = {}, cl_event* event = nullptr) {
  check(clEnqueueFillBuffer(queue, memory, &kFive, sizeof kFive, 0, kBytes, static_cast<cl_uint>(waits.size()),
                            waits.empty() ? nullptr : waits.data(), event),
        "fill");
}

void gate_write() {
  const Gated g;
  write_to(g.other, g.a, kThree);
  write_to(g.other, g.b, kNine);
  g.open();
}
void gate_fill() {
  const Gated g;
  fill(g.other, g.a);
  g.open();
}
void gate_copy() {
  const Gated g;
  const cl_mem from = g.p.buffer(true, CL_MEM_READ_WRITE, 40);
  check(clEnqueueCopyBuffer(g.other, from, g.a, 0, 0, kBytes, 0, nullptr, nullptr), "copy");
  g.open();
}
void gate_rectangle() {
  const Gated g;
  const size_t origin[3] = {}, region[3] = {64, 16, 1};
  check(clEnqueueWriteBufferRect(g.other, g.a, CL_TRUE, origin, origin, region, 64, 0, 64, 0, kThree.data(), 0, nullptr,
                                 nullptr),
        "write");
  const cl_mem from = g.p.buffer(true, CL_MEM_READ_WRITE, 40);
  check(clEnqueueCopyBufferRect(g.other, from, g.b, origin, origin, region, 64, 0, 64, 0, 0, nullptr, nullptr), "copy");
  g.open();
}
void gate_map() {
  const Gated g;
  cl_int code = 0;
  void* const memory = clEnqueueMapBuffer(g.other, g.a, CL_TRUE, CL_MAP_WRITE, 0, kBytes, 0, nullptr, nullptr, &code);
  check(code, "map");
  for (size_t i = 0; i < kCount; ++i) static_cast<float*>(memory)[i] = 11;
  check(clEnqueueUnmapMemObject(g.other, g.a, memory, 0, nullptr, nullptr), "unmap");
  g.open();
}
void CL_CALLBACK set_first(void* arguments) { **static_cast<float**>(arguments) = 13; }
void gate_native() {
  const Gated g;
  void* arguments[1] = {nullptr};
  const void* place = arguments;
  check(clEnqueueNativeKernel(g.other, set_first, arguments, sizeof arguments, 1, &g.a, &place, 0, nullptr, nullptr),
        "native");
  g.open();
}
void gate_launch() {
  const Gated g;
  const cl_mem from = g.p.buffer(true, CL_MEM_READ_WRITE, 2);
  g.p.launch(g.p.kernel("minus", {from, g.a}), g.other);
  g.p.launch(g.p.kernel("clear", {g.b}), g.other);
  g.open();
}
void gate_sub_buffer() {
  const Gated g;
  const cl_buffer_region region{kBytes / 2, kBytes / 2};
  cl_int code = 0;
  const cl_mem part = clCreateSubBuffer(g.a, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
  check(code, "sub-buffer");
  check(clEnqueueWriteBuffer(g.other, part, CL_TRUE, 0, kBytes / 2, kThree.data(), 0, nullptr, nullptr), "write");
  g.open();
}
// Nothing holds the second launch back but the first.
void gate_behind() {
  const Gated g;
  const cl_mem c = g.p.buffer(true, CL_MEM_READ_WRITE, 1), d = g.p.buffer(true, CL_MEM_READ_WRITE, 3);
  g.p.launch(g.p.kernel("root", {c, d}));
  write_to(g.other, c, kNine);
  write_to(g.other, d, kNine);
  g.open();
  g.p.print("d", d);
}
// The gate is the end of what another queue does, which the program only enqueues behind a write.
void gate_of_events() {
  const Program p;
  const cl_command_queue second = p.new_queue(), third = p.new_queue();
  const cl_mem a = p.buffer(true, CL_MEM_READ_WRITE, 1), b = p.buffer(false), c = p.buffer(false);
  cl_int code = 0;
  const cl_event gate = clCreateUserEvent(p.context, &code);
  cl_event filled = nullptr;
  fill(second, c, {gate}, &filled);
  const cl_event done = p.launch(p.kernel("twice", {a, b}), nullptr, {filled});
  check(clFlush(second), "flush");
  check(clFlush(p.queue), "flush");
  write_to(third, a, kThree);
  check(clSetUserEventStatus(gate, CL_COMPLETE), "gate");
  check(clWaitForEvents(1, &done), "wait");
  p.print("b", b);
}
void CL_CALLBACK open_gate(cl_event, cl_int, void* gate) {
  check(clSetUserEventStatus(static_cast<cl_event>(gate), CL_COMPLETE), "gate");
}
void gate_in_callback() {
  const Gated g;
  cl_event filled = nullptr;
  fill(g.other, g.a, {}, &filled);
  check(clSetEventCallback(filled, CL_COMPLETE, open_gate, g.gate), "callback");
  check(clFlush(g.other), "flush");
  check(clWaitForEvents(1, &g.done), "wait");
  g.p.print("b", g.b);
}
void gate_by_thread() {
  const Gated g;
  std::thread writer([&] {
    write_to(g.other, g.a, kThree);
    check(clSetUserEventStatus(g.gate, CL_COMPLETE), "gate");
  });
  check(clFinish(g.p.queue), "finish");
  writer.join();
  g.p.print("b", g.b);
}
void gate_shared() {
  const Program p;
  const cl_command_queue other = p.new_queue();
  float* all[4];
  for (float*& each : all) {
    each = static_cast<float*>(clSVMAlloc(p.context, CL_MEM_READ_WRITE, kBytes, 0));
    check(each == nullptr ? CL_OUT_OF_RESOURCES : CL_SUCCESS, "shared memory");
    check(clEnqueueSVMMemFill(p.queue, each, &kFive, sizeof kFive, kBytes, 0, nullptr, nullptr), "fill");
  }
  check(clFinish(p.queue), "finish");
  cl_int code = 0;
  const cl_event gate = clCreateUserEvent(p.context, &code);
  for (int i = 0; i < 3; ++i) {
    const cl_kernel kernel = p.kernel("twice", {});
    check(clSetKernelArgSVMPointer(kernel, 0, all[i]), "argument");
    check(clSetKernelArgSVMPointer(kernel, 1, all[3]), "argument");
    p.launch(kernel, nullptr, {gate});
  }
  check(clFlush(p.queue), "flush");
  const float one = 1;
  check(clEnqueueSVMMemFill(other, all[0], &one, sizeof one, kBytes, 0, nullptr, nullptr), "fill");
  check(clEnqueueSVMMemcpy(other, CL_TRUE, all[1], kThree.data(), kBytes, 0, nullptr, nullptr), "copy");
  check(clEnqueueSVMMap(other, CL_TRUE, CL_MAP_WRITE, all[2], kBytes, 0, nullptr, nullptr), "map");
  for (size_t i = 0; i < kCount; ++i) all[2][i] = 17;
  check(clEnqueueSVMUnmap(other, all[2], 0, nullptr, nullptr), "unmap");
  check(clFinish(other), "finish");
  check(clSetUserEventStatus(gate, CL_COMPLETE), "gate");
  check(clFinish(p.queue), "finish");
  check(clEnqueueSVMMap(p.queue, CL_TRUE, CL_MAP_READ, all[3], kBytes, 0, nullptr, nullptr), "map");
  std::printf("%g\n", all[3][9]);
}
// The launch never runs: whoever waits for it is told.
void gate_failed() {
  const Gated g;
  write_to(g.other, g.a, kThree);
  check(clSetUserEventStatus(g.gate, -7), "gate");
  std::printf("%d\n", clWaitForEvents(1, &g.done) != CL_SUCCESS);
  g.p.print("a", g.a, g.other);
}

// A write that is held back and enqueued first; the host opens its gate when the launch has ended.
void late_writer() {
  const Program p;
  const cl_command_queue other = p.new_queue();
  const cl_mem a = p.buffer(true), b = p.buffer(false);
  cl_int code = 0;
  const cl_event gate = clCreateUserEvent(p.context, &code);
  fill(other, b, {gate});
  check(clFlush(other), "flush");
  const cl_event done = p.launch(p.kernel("twice", {a, b}));
  check(clWaitForEvents(1, &done), "wait");
  check(clSetUserEventStatus(gate, CL_COMPLETE), "gate");
  check(clFinish(other), "finish");
  p.print("b", b);
}

// Another queue overwrites it behind an event of a later command, by way of a third queue: all of it is measured.
void far_behind() {
  const Program p;
  const cl_command_queue second = p.new_queue(), third = p.new_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  const cl_mem a = p.buffer(true), b = p.buffer(false), c = p.buffer(false);
  for (int i = 0; i < 10; ++i) {
    p.launch(p.kernel(i == 5 ? "root" : "twice", {a, b}));
    const cl_event last = p.launch(p.kernel("twice", {a, c}));
    check(clFlush(p.queue), "flush");
    cl_event marked = nullptr, filled = nullptr;
    check(clEnqueueMarkerWithWaitList(second, 1, &last, &marked), "marker");
    check(clFlush(second), "flush");
    fill(third, b, {marked}, &filled);
    check(clFlush(third), "flush");
    check(clEnqueueBarrierWithWaitList(p.queue, 1, &filled, nullptr), "barrier");
  }
  check(clFinish(p.queue), "finish");
  p.print("b", b);
}

// Everything is let go of while the launch is held back.
void released_early() {
  const Program p;
  const cl_mem a = p.buffer(true, CL_MEM_READ_WRITE, 1), b = p.buffer(false);
  const cl_kernel kernel = p.kernel("twice", {a, b});
  cl_int code = 0;
  const cl_event gate = clCreateUserEvent(p.context, &code);
  const cl_event done = p.launch(kernel, nullptr, {gate});
  check(clFlush(p.queue), "flush");
  clReleaseKernel(kernel);
  clReleaseMemObject(a);
  clReleaseMemObject(b);
  clReleaseCommandQueue(p.queue);
  clReleaseProgram(p.program);
  clReleaseContext(p.context);
  check(clSetUserEventStatus(gate, CL_COMPLETE), "gate");
  check(clWaitForEvents(1, &done), "wait");
  clReleaseEvent(gate);
  clReleaseEvent(done);
  std::printf("done\n");
}

// A function that is called when a buffer goes calls OpenCL itself.
std::atomic<int> gone{0};
void CL_CALLBACK ask_about(cl_mem, void* other) {
  clRetainMemObject(static_cast<cl_mem>(other));
  clReleaseMemObject(static_cast<cl_mem>(other));
  ++gone;
}
void destructors() {
  const Program p;
  const cl_mem a = p.buffer(true, CL_MEM_READ_WRITE, 1);
  for (int i = 0; i < 20; ++i) {
    const cl_mem b = p.buffer(false);
    check(clSetMemObjectDestructorCallback(b, ask_about, a), "callback");
    p.run("twice", {a, b});
    check(clFinish(p.queue), "finish");
    clReleaseMemObject(b);
  }
  for (int i = 0; i < 6000 && gone < 20; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  std::printf("%d gone\n", gone.load());
}

// Daemons close unknown descriptors, and open files of their own.
void closes_files() {
  const Program p;
  const cl_mem a = p.buffer(true, CL_MEM_READ_WRITE, 1), b = p.buffer(false), bad = p.buffer(true);
  for (int i = 0; i < 3; ++i) p.run("twice", {a, b});
  check(clFinish(p.queue), "finish");
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  for (int fd = 3; fd < 256; ++fd) close(fd);
  std::FILE* files[40];
  for (auto& each : files) {
    each = std::tmpfile();
    std::fputs("mine\n", each);
    std::fflush(each);
  }
  for (int i = 0; i < 5; ++i) p.run(i == 2 ? "root" : "twice", {bad, b});
  check(clFinish(p.queue), "finish");
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  int changed = 0;
  for (auto* each : files) {
    std::fseek(each, 0, SEEK_END);
    changed += std::ftell(each) != 5 ? 1 : 0;
  }
  std::printf("%d files changed\n", changed);
}

// Who may write the folder cuts all of its files.
void cuts_files() {
  const Program p;
  const cl_mem a = p.buffer(true), b = p.buffer(false);
  p.run("twice", {a, b});
  check(clFinish(p.queue), "finish");
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const char* const folder = std::getenv("CUT_FOLDER");
  const std::string command = std::string("find '") + (folder == nullptr ? "/nowhere" : folder) +
                              "' -type f -exec truncate -s 0 {} + 2>/dev/null; true";
  check(std::system(command.c_str()), "cut");
  p.run("root", {a, b});
  p.print("b", b);
}

}  // namespace

const std::map<std::string, std::function<void()>> kGatedPrograms = {
    {"gate_write", gate_write},
    {"gate_fill", gate_fill},
    {"gate_copy", gate_copy},
    {"gate_rectangle", gate_rectangle},
    {"gate_map", gate_map},
    {"gate_native", gate_native},
    {"gate_launch", gate_launch},
    {"gate_sub_buffer", gate_sub_buffer},
    {"gate_behind", gate_behind},
    {"gate_of_events", gate_of_events},
    {"gate_in_callback", gate_in_callback},
    {"gate_by_thread", gate_by_thread},
    {"gate_shared", gate_shared},
    {"gate_failed", gate_failed},
    {"late_writer", late_writer},
    {"far_behind", far_behind},
    {"released_early", released_early},
    {"destructors", destructors},
    {"closes_files", closes_files},
    {"cuts_files", cuts_files},
};

}  // namespace attached
