// Functions of extensions, which programs ask for by name. A command buffer (cl_khr_command_buffer) is measured as one
// launch: its kernel has the names of its kernels, and their buffers as arguments. Of memory that another extension
// made (cl_intel_unified_shared_memory, cl_ext_buffer_device_address) the layer sees that an argument is in it.
//
// The types are the layer's own: cl_khr_command_buffer is provisional, its functions have changed, and a driver may be
// older or newer than the headers that this is compiled with.
#pragma once

#include "stats/job/attach/program/objects.hpp"

namespace tensorstat::attach {

using CommandBufferHandle = struct _cl_command_buffer_khr*;
using EnqueueCommands = cl_int(CL_API_CALL*)(cl_uint, cl_command_queue*, CommandBufferHandle, cl_uint, const cl_event*,
                                             cl_event*);

// How a platform's recording functions take their arguments. Since version 0.9.5 of the extension (OpenCL's headers of
// July 2024) the third one is a list of properties.
enum class RecordingForm : std::uint8_t { kUnknown, kWithoutProperties, kWithProperties };

// The form of all devices of a platform, by the version that they report; null: of all platforms. kUnknown: they
// differ, or tell no version, or one that this source does not know.
RecordingForm recording_form_of(cl_platform_id platform);

struct CommandBuffer {
  CommandBufferHandle handle = nullptr;
  cl_platform_id platform = nullptr;
  cl_command_queue queue = nullptr;  // that it is enqueued on unless others are named
  std::shared_ptr<Kernel> kernel{};
  std::vector<std::string> names{};  // of its kernels, once each
  cl_uint references = 1;
  // Its kernels and their arguments may be changed later by functions that the layer does not follow
  // (cl_khr_command_buffer_mutable_dispatch).
  bool is_mutable = false;
};

// launch.cpp enqueues it, by the platform's own function. What it changes is not known if it is mutable.
cl_int launch_commands(EnqueueCommands enqueue, const CommandBuffer& commands, cl_uint queue_count,
                       cl_command_queue* queues, cl_uint count, const cl_event* wait, cl_event* event);

}  // namespace tensorstat::attach
