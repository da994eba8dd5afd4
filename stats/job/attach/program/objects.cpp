#include "stats/job/attach/program/objects.hpp"

#include <algorithm>
#include <iterator>

#include "stats/job/attach/collector.hpp"

namespace tensorstat::attach {

void Ranges::add(std::uint64_t begin, std::uint64_t end) {
  remove(begin, end);
  if (begin < end) ends_[begin] = end;
}

void Ranges::remove(std::uint64_t begin, std::uint64_t end) {
  if (begin >= end) return;
  auto range = ends_.upper_bound(begin);
  if (range != ends_.begin()) --range;
  while (range != ends_.end() && range->first < end) {
    const auto [first, last] = *range;
    if (last <= begin) {
      ++range;
      continue;
    }
    range = ends_.erase(range);
    if (first < begin) ends_[first] = begin;
    if (last > end) range = ends_.emplace(end, last).first;
  }
}

bool Ranges::overlaps(std::uint64_t begin, std::uint64_t end) const {
  const auto behind = ends_.lower_bound(end);
  return behind != ends_.begin() && std::prev(behind)->second > begin;
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> Ranges::within(std::uint64_t begin, std::uint64_t end) const {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> parts;
  for (const auto& [first, last] : ends_) {
    if (first < end && last > begin) parts.emplace_back(std::max(first, begin), std::min(last, end));
  }
  return parts;
}

Layer& layer() {
  static Layer& all = *new Layer;
  return all;
}

Buffer* Objects::buffer(const void* handle) {
  const auto entry = buffers.find(static_cast<cl_mem>(const_cast<void*>(handle)));
  return entry == buffers.end() ? nullptr : &entry->second;
}

Objects::InShared Objects::shared_at(const void* pointer) const {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  auto entry = shared.upper_bound(address);
  if (entry == shared.begin()) return {};
  --entry;
  const std::uint64_t before = address - entry->first;
  return before < entry->second.bytes ? InShared{entry->second.buffer, before} : InShared{};
}

std::shared_ptr<Queue> Objects::queue(cl_command_queue handle) {
  const auto entry = queues.find(handle);
  return entry == queues.end() ? nullptr : entry->second;
}

std::shared_ptr<Kernel> Objects::kernel(cl_kernel handle) {
  const auto entry = kernels.find(handle);
  return entry == kernels.end() ? nullptr : entry->second;
}

void Objects::add_buffer(cl_mem memory, cl_mem_flags flags, std::uint64_t bytes, bool is_defined) {
  Buffer buffer{.storage = std::make_shared<Storage>(), .bytes = bytes, .flags = flags};
  buffer.storage->number = storage_count++;
  buffer.storage->is_host_memory = (flags & CL_MEM_USE_HOST_PTR) != 0;
  if (!is_defined) buffer.storage->undefined.add(0, bytes);
  forget_buffer(memory);
  buffers.insert_or_assign(memory, std::move(buffer));
}

void Objects::wrote(Buffer& buffer, std::uint64_t first, std::uint64_t bytes) {
  ++buffer.storage->version;
  const std::uint64_t begin = buffer.origin + std::min(first, buffer.bytes);
  buffer.storage->undefined.remove(begin, begin + std::min(bytes, buffer.end() - begin));
}

void Objects::copied(cl_mem from, std::uint64_t from_at, cl_mem to, std::uint64_t to_at, std::uint64_t bytes) {
  const Buffer* source = buffer(from);
  Buffer* target = buffer(to);
  if (source == nullptr || target == nullptr) return;
  const std::uint64_t begin = source->origin + from_at, to_begin = target->origin + to_at;
  for (const auto& [first, last] : source->storage->undefined.within(begin, begin + bytes))
    target->storage->undefined.add(to_begin + (first - begin), to_begin + (last - begin));
}

void Objects::wrote_anything(cl_command_queue queue) {
  for (auto& [memory, buffer] : buffers) {
    wrote(buffer, 0, buffer.bytes);
    for (const OpenReading& each : buffer.storage->readings) {
      const OpenLaunch& launch = *each.launch;
      if ((launch.place.queue != queue || !launch.place.is_in_order) && !launch.has_been_read())
        each.is_disturbed->store(true);
    }
  }
}

void Objects::writes(Storage& storage, const OnQueue& place, cl_event event) {
  forget_completed(storage.writers);
  storage.writers.push_back(std::make_shared<OpenWriter>(OpenWriter{place, HeldEvent(event)}));
}

void Objects::forget_completed(std::vector<std::shared_ptr<OpenWriter>>& writers) {
  std::erase_if(writers, [&](const std::shared_ptr<OpenWriter>& each) {
    const bool has_completed = each->event.has_completed();
    if (has_completed) dropped.push_back(each);
    return has_completed;
  });
}

void Objects::forget_buffer(cl_mem memory) {
  const auto known = buffers.find(memory);
  if (known == buffers.end()) return;
  dropped.push_back(known->second.storage);
  buffers.erase(known);
}

void Objects::destroy_dropped() {
  std::vector<std::shared_ptr<void>> all;
  const std::lock_guard lock(mutex);
  all.swap(dropped);
}

std::shared_ptr<Context> Objects::context(cl_context handle) {
  auto& context = contexts[handle];
  if (!context) {
    context = std::make_shared<Context>();
    context->handle = handle;
  }
  return context;
}

Reader* reader_of(const Queue& queue) {
  const std::lock_guard lock(queue.context->mutex);
  const auto [entry, is_new] = queue.context->readers.try_emplace(queue.device);
  if (is_new) {
    auto opened = Reader::open(queue.context->handle, queue.device, layer().settings.statistics);
    if (opened) {
      entry->second = *std::move(opened);
    } else {
      layer().tally->left_out_because(opened.error().message);
    }
  }
  return entry->second.get();
}

namespace {

constexpr cl_mem_flags kWithContent = CL_MEM_COPY_HOST_PTR | CL_MEM_USE_HOST_PTR;

cl_context add_context(cl_context made) {
  if (made == nullptr || !layer().is_active()) return made;
  guarded([&] {
    collector().end_with_process();
    const std::lock_guard lock(layer().objects.mutex);
    static_cast<void>(layer().objects.context(made));
  });
  return made;
}

cl_context CL_API_CALL create_context(const cl_context_properties* properties, cl_uint count,
                                      const cl_device_id* devices,
                                      void(CL_CALLBACK* notify)(const char*, const void*, size_t, void*), void* data,
                                      cl_int* code) {
  return add_context(below.clCreateContext(properties, count, devices, notify, data, code));
}

cl_context CL_API_CALL create_context_from_type(const cl_context_properties* properties, cl_device_type type,
                                                void(CL_CALLBACK* notify)(const char*, const void*, size_t, void*),
                                                void* data, cl_int* code) {
  return add_context(below.clCreateContextFromType(properties, type, notify, data, code));
}

cl_int CL_API_CALL retain_context(cl_context context) {
  if (layer().is_active()) {
    const std::lock_guard lock(layer().objects.mutex);
    const auto known = layer().objects.contexts.find(context);
    if (known != layer().objects.contexts.end()) ++known->second->references;
  }
  return below.clRetainContext(context);
}

cl_int CL_API_CALL release_context(cl_context context) {
  if (layer().is_active()) {
    std::unique_lock lock(layer().objects.mutex);
    const auto known = layer().objects.contexts.find(context);
    if (known != layer().objects.contexts.end() && --known->second->references == 0) {
      std::shared_ptr<Context> last = std::move(known->second);
      layer().objects.contexts.erase(known);
      lock.unlock();
      guarded([&] { collector().retire(std::move(last)); });
    }
  }
  return below.clReleaseContext(context);
}

void add_queue(cl_command_queue made, cl_context context, cl_device_id device, cl_command_queue_properties properties) {
  if (made == nullptr || !layer().is_active()) return;
  guarded([&] {
    auto queue = std::make_shared<Queue>();
    queue->device = device;
    queue->is_in_order = (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) == 0;
    queue->is_profiling = (properties & CL_QUEUE_PROFILING_ENABLE) != 0;
    const std::lock_guard lock(layer().objects.mutex);
    queue->context = layer().objects.context(context);
    queue->number = layer().objects.queue_count++;
    layer().objects.queues.insert_or_assign(made, std::move(queue));
  });
}

cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id device,
                                          cl_command_queue_properties properties, cl_int* code) {
  const cl_command_queue made = below.clCreateCommandQueue(context, device, properties, code);
  add_queue(made, context, device, properties);
  return made;
}

cl_command_queue CL_API_CALL create_queue_with(cl_context context, cl_device_id device,
                                               const cl_queue_properties* properties, cl_int* code) {
  const cl_command_queue made = below.clCreateCommandQueueWithProperties(context, device, properties, code);
  cl_command_queue_properties flags = 0;
  for (const cl_queue_properties* each = properties; each != nullptr && *each != 0; each += 2) {
    if (*each == CL_QUEUE_PROPERTIES) flags = each[1];
  }
  // A queue on the device cannot take commands from the host.
  if ((flags & CL_QUEUE_ON_DEVICE) == 0) add_queue(made, context, device, flags);
  return made;
}

cl_int CL_API_CALL retain_queue(cl_command_queue queue) {
  if (layer().is_active()) {
    const std::lock_guard lock(layer().objects.mutex);
    if (const auto known = layer().objects.queue(queue)) ++known->references;
  }
  return below.clRetainCommandQueue(queue);
}

cl_int CL_API_CALL release_queue(cl_command_queue queue) {
  if (layer().is_active()) {
    std::unique_lock lock(layer().objects.mutex);
    std::shared_ptr<Queue> known = layer().objects.queue(queue);
    if (known && --known->references == 0) {
      layer().objects.queues.erase(queue);
      lock.unlock();
      guarded([&] { collector().retire(std::move(known)); });
    }
  }
  return below.clReleaseCommandQueue(queue);
}

// Answers with the program's own references: ours are not among them.
bool answers_references(cl_uint references, size_t bytes, void* value, size_t* needed) {
  if (value != nullptr && bytes < sizeof references) return false;
  if (value != nullptr) *static_cast<cl_uint*>(value) = references;
  if (needed != nullptr) *needed = sizeof references;
  return true;
}

cl_int CL_API_CALL queue_info(cl_command_queue queue, cl_command_queue_info what, size_t bytes, void* value,
                              size_t* needed) {
  if (what == CL_QUEUE_REFERENCE_COUNT && layer().is_active()) {
    const std::lock_guard lock(layer().objects.mutex);
    const auto known = layer().objects.queue(queue);
    if (known && answers_references(known->references, bytes, value, needed)) return CL_SUCCESS;
  }
  return below.clGetCommandQueueInfo(queue, what, bytes, value, needed);
}

void add_buffer(cl_mem made, cl_mem_flags flags, size_t bytes) {
  if (made == nullptr || !layer().is_active()) return;
  guarded([&] {
    const std::lock_guard lock(layer().objects.mutex);
    layer().objects.add_buffer(made, flags, bytes, (flags & kWithContent) != 0);
  });
}

cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t bytes, void* host, cl_int* code) {
  const cl_mem made = below.clCreateBuffer(context, flags, bytes, host, code);
  add_buffer(made, flags, bytes);
  return made;
}

cl_mem CL_API_CALL create_buffer_with(cl_context context, const cl_mem_properties* properties, cl_mem_flags flags,
                                      size_t bytes, void* host, cl_int* code) {
  const cl_mem made = below.clCreateBufferWithProperties(context, properties, flags, bytes, host, code);
  add_buffer(made, flags, bytes);
  return made;
}

cl_mem CL_API_CALL create_from_gl(cl_context context, cl_mem_flags flags, cl_GLuint name, cl_int* code) {
  const cl_mem made = below.clCreateFromGLBuffer(context, flags, name, code);
  size_t bytes = 0;
  if (made == nullptr || below.clGetMemObjectInfo(made, CL_MEM_SIZE, sizeof bytes, &bytes, nullptr) != CL_SUCCESS)
    return made;
  add_buffer(made, flags | CL_MEM_USE_HOST_PTR, bytes);
  return made;
}

cl_mem CL_API_CALL create_sub_buffer(cl_mem parent, cl_mem_flags flags, cl_buffer_create_type type, const void* region,
                                     cl_int* code) {
  const cl_mem made = below.clCreateSubBuffer(parent, flags, type, region, code);
  if (made == nullptr || type != CL_BUFFER_CREATE_TYPE_REGION || !layer().is_active()) return made;
  guarded([&] {
    const std::lock_guard lock(layer().objects.mutex);
    const Buffer* whole = layer().objects.buffer(parent);
    if (whole == nullptr) return;
    const auto& part = *static_cast<const cl_buffer_region*>(region);
    constexpr cl_mem_flags kAccess = CL_MEM_READ_WRITE | CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY;
    Buffer buffer{.storage = whole->storage,
                  .origin = whole->origin + part.origin,
                  .bytes = part.size,
                  .flags = (flags & kAccess) != 0 ? flags : whole->flags};
    layer().objects.forget_buffer(made);
    layer().objects.buffers.insert_or_assign(made, std::move(buffer));
  });
  return made;
}

// `over`: the memory object that the image is made of, or null.
cl_mem image(cl_mem made, cl_mem over = nullptr) {
  if (made == nullptr || !layer().is_active()) return made;
  guarded([&] {
    const std::lock_guard lock(layer().objects.mutex);
    layer().objects.add_buffer(made, 0, 0, true);
    Buffer& image = layer().objects.buffers[made];
    image.is_image = true;
    const Buffer* whole = layer().objects.buffer(over);
    if (whole == nullptr) return;
    image.storage = whole->storage;
    image.storage->is_open_to_others = true;
  });
  return made;
}

cl_mem CL_API_CALL create_image(cl_context context, cl_mem_flags flags, const cl_image_format* format,
                                const cl_image_desc* facts, void* host, cl_int* code) {
  return image(below.clCreateImage(context, flags, format, facts, host, code),
               facts == nullptr ? nullptr : facts->buffer);
}

cl_mem CL_API_CALL create_image_with(cl_context context, const cl_mem_properties* properties, cl_mem_flags flags,
                                     const cl_image_format* format, const cl_image_desc* facts, void* host,
                                     cl_int* code) {
  return image(below.clCreateImageWithProperties(context, properties, flags, format, facts, host, code),
               facts == nullptr ? nullptr : facts->buffer);
}

cl_mem CL_API_CALL create_image_2d(cl_context context, cl_mem_flags flags, const cl_image_format* format, size_t width,
                                   size_t height, size_t pitch, void* host, cl_int* code) {
  return image(below.clCreateImage2D(context, flags, format, width, height, pitch, host, code));
}

cl_mem CL_API_CALL create_image_3d(cl_context context, cl_mem_flags flags, const cl_image_format* format, size_t width,
                                   size_t height, size_t depth, size_t row, size_t slice, void* host, cl_int* code) {
  return image(below.clCreateImage3D(context, flags, format, width, height, depth, row, slice, host, code));
}

cl_int CL_API_CALL retain_memory(cl_mem memory) {
  if (layer().is_active()) {
    const std::lock_guard lock(layer().objects.mutex);
    if (Buffer* known = layer().objects.buffer(memory)) ++known->references;
  }
  return below.clRetainMemObject(memory);
}

cl_int CL_API_CALL release_memory(cl_mem memory) {
  if (layer().is_active()) {
    const std::lock_guard lock(layer().objects.mutex);
    Buffer* known = layer().objects.buffer(memory);
    if (known != nullptr && --known->references == 0) layer().objects.forget_buffer(memory);
  }
  guarded([] { layer().objects.destroy_dropped(); });
  return below.clReleaseMemObject(memory);
}

cl_int CL_API_CALL memory_info(cl_mem memory, cl_mem_info what, size_t bytes, void* value, size_t* needed) {
  if (what == CL_MEM_REFERENCE_COUNT && layer().is_active()) {
    const std::lock_guard lock(layer().objects.mutex);
    const Buffer* known = layer().objects.buffer(memory);
    if (known != nullptr && answers_references(known->references, bytes, value, needed)) return CL_SUCCESS;
  }
  return below.clGetMemObjectInfo(memory, what, bytes, value, needed);
}

}  // namespace

void adopt_queue(cl_command_queue handle) {
  cl_context context = nullptr;
  cl_device_id device = nullptr;
  cl_command_queue_properties properties = 0;
  if (handle == nullptr ||
      below.clGetCommandQueueInfo(handle, CL_QUEUE_CONTEXT, sizeof context, &context, nullptr) != CL_SUCCESS ||
      below.clGetCommandQueueInfo(handle, CL_QUEUE_DEVICE, sizeof device, &device, nullptr) != CL_SUCCESS ||
      below.clGetCommandQueueInfo(handle, CL_QUEUE_PROPERTIES, sizeof properties, &properties, nullptr) != CL_SUCCESS) {
    return;
  }
  add_queue(handle, context, device, properties);
}

void fill_objects(cl_icd_dispatch& table) {
  table.clCreateContext = create_context;
  table.clCreateContextFromType = create_context_from_type;
  table.clRetainContext = retain_context;
  table.clReleaseContext = release_context;
  table.clCreateCommandQueue = create_queue;
  table.clCreateCommandQueueWithProperties = create_queue_with;
  table.clRetainCommandQueue = retain_queue;
  table.clReleaseCommandQueue = release_queue;
  table.clGetCommandQueueInfo = queue_info;
  table.clCreateBuffer = create_buffer;
  table.clCreateBufferWithProperties = create_buffer_with;
  table.clCreateFromGLBuffer = create_from_gl;
  table.clCreateSubBuffer = create_sub_buffer;
  table.clCreateImage = create_image;
  table.clCreateImageWithProperties = create_image_with;
  table.clCreateImage2D = create_image_2d;
  table.clCreateImage3D = create_image_3d;
  table.clRetainMemObject = retain_memory;
  table.clReleaseMemObject = release_memory;
  table.clGetMemObjectInfo = memory_info;
}

}  // namespace tensorstat::attach
