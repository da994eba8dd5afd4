// Programs with memory beyond plain buffers, and launches beyond plain kernels.
#include <cstring>
#include <limits>

#include "tests/attach/program.hpp"

namespace attached {
namespace {

float* shared(const Program& p, cl_svm_mem_flags flags = CL_MEM_READ_WRITE) {
  void* const made = clSVMAlloc(p.context, flags, kBytes, 0);
  check(made == nullptr ? CL_OUT_OF_RESOURCES : CL_SUCCESS, "shared memory");
  return static_cast<float*>(made);
}

void launch_on_shared(const Program& p, const char* name, const std::vector<const void*>& pointers) {
  const cl_kernel kernel = p.kernel(name, {});
  for (cl_uint i = 0; i < pointers.size(); ++i) check(clSetKernelArgSVMPointer(kernel, i, pointers[i]), "argument");
  clReleaseEvent(p.launch(kernel));
  clReleaseKernel(kernel);
}

void write_shared(const Program& p, float* to, float first) {
  check(clEnqueueSVMMap(p.queue, CL_TRUE, CL_MAP_WRITE, to, kBytes, 0, nullptr, nullptr), "map");
  for (size_t i = 0; i < kCount; ++i) to[i] = first + static_cast<float>(i);
  check(clEnqueueSVMUnmap(p.queue, to, 0, nullptr, nullptr), "unmap");
}

void print_shared(const Program& p, const char* name, float* values) {
  check(clEnqueueSVMMap(p.queue, CL_TRUE, CL_MAP_READ, values, kBytes, 0, nullptr, nullptr), "map");
  size_t nan = 0;
  for (size_t i = 0; i < kCount; ++i) nan += std::isnan(values[i]) ? 1 : 0;
  std::printf("%s: %g, %zu NaN\n", name, values[1], nan);
  check(clEnqueueSVMUnmap(p.queue, values, 0, nullptr, nullptr), "unmap");
}

// Freed by the host, and on a queue behind the launches that use it.
void shared_memory() {
  const Program p;
  float *const a = shared(p), *const b = shared(p), *const c = shared(p);
  write_shared(p, a, 1);
  launch_on_shared(p, "root", {a, b});
  write_shared(p, a, -0.5f);
  launch_on_shared(p, "root", {a, c});
  print_shared(p, "b", b);
  print_shared(p, "c", c);
  check(clEnqueueSVMMemcpy(p.queue, CL_FALSE, b, c, kBytes, 0, nullptr, nullptr), "copy");
  const float one = 1;
  check(clEnqueueSVMMemFill(p.queue, a, &one, sizeof one, kBytes, 0, nullptr, nullptr), "fill");
  launch_on_shared(p, "twice", {b, a});
  void* freed[] = {b, c};
  check(clEnqueueSVMFree(p.queue, 2, freed, nullptr, nullptr, 0, nullptr, nullptr), "free");
  check(clFinish(p.queue), "finish");
  clSVMFree(p.context, a);
}

// The host writes it without a call.
void shared_with_host() {
  const Program p;
  float *const a = shared(p, CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER), *const b = shared(p);
  for (size_t i = 0; i < kCount; ++i) a[i] = 1;
  launch_on_shared(p, "twice", {a, b});
  check(clFinish(p.queue), "finish");
  a[7] = std::numeric_limits<float>::quiet_NaN();
  launch_on_shared(p, "twice", {a, b});
  print_shared(p, "b", b);
}

// A kernel reads an address from its argument, and writes there.
void followed_pointer() {
  const Program p;
  float *const a = shared(p), *const b = shared(p), *const c = shared(p);
  check(clEnqueueSVMMap(p.queue, CL_TRUE, CL_MAP_WRITE, a, kBytes, 0, nullptr, nullptr), "map");
  std::memcpy(a, &b, sizeof b);
  check(clEnqueueSVMUnmap(p.queue, a, 0, nullptr, nullptr), "unmap");
  const cl_kernel kernel = p.kernel("clear_at", {});
  check(clSetKernelArgSVMPointer(kernel, 0, a), "argument");
  const void* const followed[] = {b};
  check(clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof followed, followed), "followed");
  p.launch(kernel);
  launch_on_shared(p, "twice", {b, c});
  print_shared(p, "c", c);
}

template <typename Function>
Function extension(const Program& p, const char* name) {
  cl_platform_id platform = nullptr;
  check(clGetDeviceInfo(p.device, CL_DEVICE_PLATFORM, sizeof platform, &platform, nullptr), "platform");
  void* const address = clGetExtensionFunctionAddressForPlatform(platform, name);
  check(address == nullptr ? CL_INVALID_OPERATION : CL_SUCCESS, name);
  return reinterpret_cast<Function>(address);
}

// cl_khr_command_buffer, as its versions have it: the headers of one year have one of them.
using Commands = struct _cl_command_buffer_khr*;
using Point = cl_uint;
using CreateCommands = Commands(CL_API_CALL*)(cl_uint, const cl_command_queue*, const cl_properties*, cl_int*);
using HoldCommands = cl_int(CL_API_CALL*)(Commands);
using AddKernel = cl_int(CL_API_CALL*)(Commands, cl_command_queue, const void*, cl_kernel, cl_uint, const size_t*,
                                       const size_t*, const size_t*, cl_uint, const Point*, Point*, void*);
using OldFill = cl_int(CL_API_CALL*)(Commands, cl_command_queue, cl_mem, const void*, size_t, size_t, size_t, cl_uint,
                                     const Point*, Point*, void*);
using Fill = cl_int(CL_API_CALL*)(Commands, cl_command_queue, const void*, cl_mem, const void*, size_t, size_t, size_t,
                                  cl_uint, const Point*, Point*, void*);
using OldCopy = cl_int(CL_API_CALL*)(Commands, cl_command_queue, cl_mem, cl_mem, size_t, size_t, size_t, cl_uint,
                                     const Point*, Point*, void*);
using Copy = cl_int(CL_API_CALL*)(Commands, cl_command_queue, const void*, cl_mem, cl_mem, size_t, size_t, size_t,
                                  cl_uint, const Point*, Point*, void*);
using EnqueueCommands = cl_int(CL_API_CALL*)(cl_uint, cl_command_queue*, Commands, cl_uint, const cl_event*, cl_event*);

bool takes_properties(const Program& p) {
  cl_name_version all[512];
  size_t bytes = 0;
  check(clGetDeviceInfo(p.device, CL_DEVICE_EXTENSIONS_WITH_VERSION, sizeof all, all, &bytes), "versions");
  for (size_t i = 0; i < bytes / sizeof *all; ++i) {
    if (std::strcmp(all[i].name, "cl_khr_command_buffer") == 0) return all[i].version >= CL_MAKE_VERSION(0, 9, 5);
  }
  // Debian's pocl 7.1 has it without saying so.
  cl_platform_id platform = nullptr;
  char version[256] = "";
  check(clGetDeviceInfo(p.device, CL_DEVICE_PLATFORM, sizeof platform, &platform, nullptr), "platform");
  check(clGetPlatformInfo(platform, CL_PLATFORM_VERSION, sizeof version, version, nullptr), "version");
  if (std::strstr(version, " PoCL 7.1") == nullptr) check(CL_INVALID_OPERATION, "cl_khr_command_buffer");
  return true;
}

struct Recorder {
  const Program& p;
  const bool is_new = takes_properties(p);
  Commands commands = nullptr;
  Point last = 0;
  cl_uint count = 0;

  explicit Recorder(const Program& p, const cl_properties* properties = nullptr) : p(p) {
    cl_int code = 0;
    commands = extension<CreateCommands>(p, "clCreateCommandBufferKHR")(1, &p.queue, properties, &code);
    check(code, "command buffer");
  }
  const Point* behind() const { return count == 0 ? nullptr : &last; }
  void done(cl_int code, const Point& point) {  // which the call before has set
    check(code, "record");
    last = point;
    count = 1;
  }
  void kernel(cl_kernel kernel) {
    const size_t size = kCount;
    Point point = 0;
    const auto add = extension<AddKernel>(p, "clCommandNDRangeKernelKHR");
    done(add(commands, nullptr, nullptr, kernel, 1, nullptr, &size, nullptr, count, behind(), &point, nullptr), point);
  }
  void fill(cl_mem to, float value) {
    constexpr const char* kName = "clCommandFillBufferKHR";
    Point point = 0;
    done(is_new ? extension<Fill>(p, kName)(commands, nullptr, nullptr, to, &value, sizeof value, 0, kBytes, count,
                                            behind(), &point, nullptr)
                : extension<OldFill>(p, kName)(commands, nullptr, to, &value, sizeof value, 0, kBytes, count, behind(),
                                               &point, nullptr),
         point);
  }
  void copy(cl_mem from, cl_mem to) {
    constexpr const char* kName = "clCommandCopyBufferKHR";
    Point point = 0;
    done(is_new ? extension<Copy>(p, kName)(commands, nullptr, nullptr, from, to, 0, 0, kBytes, count, behind(), &point,
                                            nullptr)
                : extension<OldCopy>(p, kName)(commands, nullptr, from, to, 0, 0, kBytes, count, behind(), &point,
                                               nullptr),
         point);
  }
  void finalize() const { check(extension<HoldCommands>(p, "clFinalizeCommandBufferKHR")(commands), "finalize"); }
  cl_event enqueue(std::vector<cl_event> waits = {}) const {
    cl_event event = nullptr;
    check(extension<EnqueueCommands>(p, "clEnqueueCommandBufferKHR")(
              0, nullptr, commands, static_cast<cl_uint>(waits.size()), waits.empty() ? nullptr : waits.data(), &event),
          "enqueue");
    return event;
  }
  ~Recorder() { check(extension<HoldCommands>(p, "clReleaseCommandBufferKHR")(commands), "release"); }
};

void command_buffer() {
  const Program p;
  const cl_mem a = p.buffer(true, CL_MEM_READ_WRITE, 1), b = p.buffer(false), c = p.buffer(false), d = p.buffer(true),
               e = p.buffer(false);
  {
    Recorder recorder(p);
    recorder.fill(d, 5);
    recorder.kernel(p.kernel("twice", {a, b}));
    recorder.kernel(p.kernel("root", {b, c}));
    // pocl 3.1 cannot record a copy.
    if (recorder.is_new) {
      recorder.copy(d, e);
    } else {
      recorder.fill(e, 5);
    }
    recorder.finalize();
    recorder.enqueue();
    p.print("c", c);
    // A launch in between gives it other values.
    p.run("minus", {a, a});
    recorder.enqueue();
    p.print("c", c);
    p.run("twice", {d, a});
    p.print("a", a);
    p.print("e", e);
    p.run("twice", {e, a});
  }
  p.print("a", a);
}

// Enqueued behind an event that the program sets when another queue has written what it reads.
void command_buffer_gate() {
  const Program p;
  const cl_command_queue other = p.new_queue();
  const cl_mem a = p.buffer(true, CL_MEM_READ_WRITE, 1), b = p.buffer(false);
  Recorder recorder(p);
  recorder.kernel(p.kernel("twice", {a, b}));
  recorder.finalize();
  cl_int code = 0;
  const cl_event gate = clCreateUserEvent(p.context, &code);
  recorder.enqueue({gate});
  check(clFlush(p.queue), "flush");
  const float three = 3;
  check(clEnqueueFillBuffer(other, a, &three, sizeof three, 0, kBytes, 0, nullptr, nullptr), "fill");
  check(clFinish(other), "finish");
  check(clSetUserEventStatus(gate, CL_COMPLETE), "gate");
  p.print("b", b);
}

void complex_numbers() {
  const Program p;
  const cl_mem a = p.buffer(true), b = p.buffer(false);
  p.run("complex_root", {a, b}, kCount / 2);
  p.print("b", b);
}

// By itself: pocl 7.1 does not build it.
constexpr const char* kImageSource = R"(
__kernel void to_image(__global const float* a, __write_only image2d_t b) {
  write_imagef(b, (int2)(get_global_id(0), 0), a[get_global_id(0)]);
}
)";

void image() {
  const Program p;
  const cl_mem a = p.buffer(true), b = p.buffer(false);
  const cl_image_format format{CL_R, CL_FLOAT};
  cl_image_desc facts{};
  facts.image_type = CL_MEM_OBJECT_IMAGE2D;
  facts.image_width = kCount;
  facts.image_height = 1;
  cl_int code = 0;
  const cl_mem made = clCreateImage(p.context, CL_MEM_READ_WRITE, &format, &facts, nullptr, &code);
  check(code, "image");
  const char* text = kImageSource;
  const cl_program program = clCreateProgramWithSource(p.context, 1, &text, nullptr, &code);
  check(code, "program");
  check(clBuildProgram(program, 1, &p.device, "", nullptr, nullptr), "build");
  const cl_kernel to_image = clCreateKernel(program, "to_image", &code);
  check(code, "to_image");
  Program::set(to_image, {a, made});
  p.launch(to_image);
  p.run("root", {a, b});
  p.print("b", b);
}

// Memory of an extension that pocl does not have; failing_layer.cpp has the function.
void unified_memory() {
  const Program p;
  using SetPointer = cl_int(CL_API_CALL*)(cl_kernel, cl_uint, const void*);
  const auto set = extension<SetPointer>(p, "clSetKernelArgMemPointerINTEL");
  std::vector<float> a(kCount, 4), b(kCount);
  const cl_kernel kernel = p.kernel("root", {});
  check(set(kernel, 0, a.data()), "argument");
  check(set(kernel, 1, b.data()), "argument");
  p.launch(kernel);
  check(clFinish(p.queue), "finish");
  std::printf("%g\n", b[1023]);
}

// A queue that an extension's function makes; failing_layer.cpp has the function.
void queue_of_extension() {
  Program p;
  using CreateQueue = cl_command_queue(CL_API_CALL*)(cl_context, cl_device_id, const cl_queue_properties*, cl_int*);
  cl_int code = 0;
  p.queue = extension<CreateQueue>(p, "clCreateCommandQueueWithPropertiesKHR")(p.context, p.device, nullptr, &code);
  check(code, "queue");
  const cl_mem a = p.buffer(true), b = p.buffer(false);
  p.run("root", {a, b});
  p.print("b", b);
}

}  // namespace

const std::map<std::string, std::function<void()>> kMorePrograms = {
    {"shared_memory", shared_memory},
    {"shared_with_host", shared_with_host},
    {"followed_pointer", followed_pointer},
    {"command_buffer", command_buffer},
    {"image", image},
    {"command_buffer_gate", command_buffer_gate},
    {"complex_numbers", complex_numbers},
    {"unified_memory", unified_memory},
    {"queue_of_extension", queue_of_extension},
};

}  // namespace attached
