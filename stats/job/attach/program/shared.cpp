// Shared virtual memory. The layer creates a buffer over each allocation, as OpenCL allows, and measures it like any
// other buffer.
#include "stats/job/attach/program/objects.hpp"
#include "stats/job/attach/program/waits.hpp"

namespace tensorstat::attach {
namespace {

void* CL_API_CALL allocate_shared(cl_context context, cl_svm_mem_flags flags, size_t bytes, cl_uint alignment) {
  void* const made = below.clSVMAlloc(context, flags, bytes, alignment);
  if (made == nullptr || !layer().is_active()) return made;
  guarded([&] {
    constexpr cl_mem_flags kAccess = CL_MEM_READ_WRITE | CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY;
    const cl_mem_flags access = flags & kAccess;
    cl_int code = CL_SUCCESS;
    const cl_mem over = below.clCreateBuffer(context, access | CL_MEM_USE_HOST_PTR, bytes, made, &code);
    if (code != CL_SUCCESS) return;
    const bool is_open = (flags & CL_MEM_SVM_FINE_GRAIN_BUFFER) != 0;
    Objects& objects = layer().objects;
    const std::lock_guard lock(objects.mutex);
    objects.add_buffer(over, access | CL_MEM_USE_HOST_PTR, bytes, is_open);
    objects.buffers[over].storage->is_open_to_others = is_open;
    objects.shared[reinterpret_cast<std::uintptr_t>(made)] = {over, bytes};
  });
  return made;
}

// Readings that are under way keep the buffer.
void forget_shared(const void* pointer) {
  cl_mem over = nullptr;
  {
    Objects& objects = layer().objects;
    const std::lock_guard lock(objects.mutex);
    const auto entry = objects.shared.find(reinterpret_cast<std::uintptr_t>(pointer));
    if (entry == objects.shared.end()) return;
    over = entry->second.buffer;
    objects.forget_buffer(over);
    objects.shared.erase(entry);
  }
  below.clReleaseMemObject(over);
}

void CL_API_CALL release_shared(cl_context context, void* pointer) {
  if (layer().is_active()) guarded([&] { forget_shared(pointer); });
  below.clSVMFree(context, pointer);
}

cl_int CL_API_CALL release_shared_later(cl_command_queue queue, cl_uint pointer_count, void* pointers[],
                                        void(CL_CALLBACK* release_them)(cl_command_queue, cl_uint, void*[], void*),
                                        void* data, cl_uint count, const cl_event* wait, cl_event* event) {
  Waits waits(queue, count, wait);
  if (layer().is_active()) {
    guarded([&] {
      for (cl_uint i = 0; pointers != nullptr && i < pointer_count; ++i) {
        {
          const std::lock_guard lock(layer().objects.mutex);
          const Buffer* buffer = layer().objects.buffer(layer().objects.shared_at(pointers[i]).buffer);
          if (buffer != nullptr) waits.come_behind(buffer->storage);
        }
        // A function of the program frees it by clSVMFree.
        if (release_them == nullptr) forget_shared(pointers[i]);
      }
    });
  }
  return below.clEnqueueSVMFree(queue, pointer_count, pointers, release_them, data, waits.count(), waits.events(),
                                event);
}

// writing() of what a pointer points to.
template <typename Enqueue>
cl_int writing_shared(cl_command_queue queue, const void* pointer, size_t bytes, cl_uint count, const cl_event* wait,
                      const Enqueue& enqueue) {
  Objects::InShared to;
  if (layer().is_active()) {
    const std::lock_guard lock(layer().objects.mutex);
    to = layer().objects.shared_at(pointer);
  }
  return writing(queue, to.buffer, to.offset, bytes, count, wait, enqueue);
}

cl_int CL_API_CALL copy_shared(cl_command_queue queue, cl_bool blocking, void* to, const void* from, size_t bytes,
                               cl_uint count, const cl_event* wait, cl_event* event) {
  const cl_int code = writing_shared(queue, to, bytes, count, wait, [&](cl_uint more, const cl_event* events) {
    return below.clEnqueueSVMMemcpy(queue, blocking, to, from, bytes, more, events, event);
  });
  if (code == CL_SUCCESS && layer().is_active()) {
    guarded([&] {
      const std::lock_guard lock(layer().objects.mutex);
      const auto source = layer().objects.shared_at(from), target = layer().objects.shared_at(to);
      layer().objects.copied(source.buffer, source.offset, target.buffer, target.offset, bytes);
    });
  }
  return code;
}

cl_int CL_API_CALL fill_in_shared(cl_command_queue queue, void* pointer, const void* pattern, size_t pattern_bytes,
                                  size_t bytes, cl_uint count, const cl_event* wait, cl_event* event) {
  return writing_shared(queue, pointer, bytes, count, wait, [&](cl_uint more, const cl_event* events) {
    return below.clEnqueueSVMMemFill(queue, pointer, pattern, pattern_bytes, bytes, more, events, event);
  });
}

cl_int CL_API_CALL map_shared(cl_command_queue queue, cl_bool blocking, cl_map_flags flags, void* pointer, size_t bytes,
                              cl_uint count, const cl_event* wait, cl_event* event) {
  const auto enqueue = [&](cl_uint more, const cl_event* events) {
    return below.clEnqueueSVMMap(queue, blocking, flags, pointer, bytes, more, events, event);
  };
  if ((flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION)) == 0) return enqueue(count, wait);
  return writing_shared(queue, pointer, bytes, count, wait, enqueue);
}

cl_int CL_API_CALL unmap_shared(cl_command_queue queue, void* pointer, cl_uint count, const cl_event* wait,
                                cl_event* event) {
  // The range was recorded when it was mapped; its content is new from now on.
  return writing_shared(queue, pointer, 0, count, wait, [&](cl_uint more, const cl_event* events) {
    return below.clEnqueueSVMUnmap(queue, pointer, more, events, event);
  });
}

// The program names memory to which a kernel has pointers beside its arguments.
cl_int CL_API_CALL set_followed(cl_kernel kernel, cl_kernel_exec_info what, size_t bytes, const void* value) {
  const cl_int code = below.clSetKernelExecInfo(kernel, what, bytes, value);
  if (code != CL_SUCCESS || what != CL_KERNEL_EXEC_INFO_SVM_PTRS || value == nullptr || !layer().is_active())
    return code;
  guarded([&] {
    const std::lock_guard lock(layer().objects.mutex);
    for (size_t i = 0; i < bytes / sizeof(void*); ++i) {
      const void* const pointer = static_cast<void* const*>(value)[i];
      const Buffer* buffer = layer().objects.buffer(layer().objects.shared_at(pointer).buffer);
      if (buffer != nullptr) buffer->storage->is_open_to_others = true;
    }
  });
  return code;
}

}  // namespace

void fill_shared(cl_icd_dispatch& table) {
  table.clSVMAlloc = allocate_shared;
  table.clSVMFree = release_shared;
  table.clSetKernelExecInfo = set_followed;
  table.clEnqueueSVMFree = release_shared_later;
  table.clEnqueueSVMMemcpy = copy_shared;
  table.clEnqueueSVMMemFill = fill_in_shared;
  table.clEnqueueSVMMap = map_shared;
  table.clEnqueueSVMUnmap = unmap_shared;
}

}  // namespace tensorstat::attach
