// Functions of extensions, which programs ask for by name. A command buffer (cl_khr_command_buffer) is measured as one
// launch: its kernel has the names of its kernels, and their buffers as arguments. Of unified shared memory
// (cl_intel_unified_shared_memory) the layer sees that an argument is in it.
#pragma once

#include <CL/cl_ext.h>

#include "stats/attach/program/objects.hpp"

namespace tensorstat::attach {

// Of one platform. Null: the program has not asked for it.
struct ExtensionFunctions {
  clCreateCommandBufferKHR_fn create;
  clRetainCommandBufferKHR_fn retain;
  clReleaseCommandBufferKHR_fn release;
  clCommandNDRangeKernelKHR_fn kernel;
  clCommandFillBufferKHR_fn fill;
  clCommandCopyBufferKHR_fn copy;
  clCommandCopyBufferRectKHR_fn copy_rectangle;
  clCommandCopyImageToBufferKHR_fn copy_image;
  clEnqueueCommandBufferKHR_fn enqueue;
  clSetKernelArgMemPointerINTEL_fn set_unified;
};

struct CommandBuffer {
  cl_command_buffer_khr handle = nullptr;
  const ExtensionFunctions* functions = nullptr;
  cl_command_queue queue = nullptr;  // that it is enqueued on unless others are named
  std::shared_ptr<Kernel> kernel{};
  std::vector<std::string> names{};  // of its kernels, once each
  cl_uint references = 1;
};

// launch.cpp enqueues it, by the platform's own function.
cl_int launch_commands(clEnqueueCommandBufferKHR_fn enqueue, const CommandBuffer& commands, cl_uint queue_count,
                       cl_command_queue* queues, cl_uint count, const cl_event* wait, cl_event* event);

}  // namespace tensorstat::attach
