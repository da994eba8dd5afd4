// Commands of the host that change buffers. Each is done as asked, behind readings that it would disturb.
#include "stats/job/attach/program/objects.hpp"
#include "stats/job/attach/program/waits.hpp"

namespace tensorstat::attach {
namespace {

constexpr size_t kAll = SIZE_MAX;

cl_int CL_API_CALL write_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t bytes,
                                const void* from, cl_uint count, const cl_event* wait, cl_event* event) {
  return writing(queue, buffer, offset, bytes, count, wait, [&](cl_uint more, const cl_event* events) {
    return below.clEnqueueWriteBuffer(queue, buffer, blocking, offset, bytes, from, more, events, event);
  });
}

struct Bytes {
  size_t first = 0, count = kAll;
};
// The bytes of a rectangle of a buffer, and those between its rows; all if the program leaves something out. A row or
// slice of 0 is as long as the region.
Bytes rectangle(const size_t* origin, const size_t* region, size_t row, size_t slice) {
  if (origin == nullptr || region == nullptr) return {};
  if (row == 0) row = region[0];
  if (slice == 0) slice = region[1] * row;
  return {origin[0] + origin[1] * row + origin[2] * slice, region[0] + (region[1] - 1) * row + (region[2] - 1) * slice};
}

cl_int CL_API_CALL write_rectangle(cl_command_queue queue, cl_mem buffer, cl_bool blocking, const size_t* origin,
                                   const size_t* host_origin, const size_t* region, size_t row, size_t slice,
                                   size_t host_row, size_t host_slice, const void* from, cl_uint count,
                                   const cl_event* wait, cl_event* event) {
  const Bytes written = rectangle(origin, region, row, slice);
  return writing(queue, buffer, written.first, written.count, count, wait, [&](cl_uint more, const cl_event* events) {
    return below.clEnqueueWriteBufferRect(queue, buffer, blocking, origin, host_origin, region, row, slice, host_row,
                                          host_slice, from, more, events, event);
  });
}

cl_int CL_API_CALL fill_buffer(cl_command_queue queue, cl_mem buffer, const void* pattern, size_t pattern_bytes,
                               size_t offset, size_t bytes, cl_uint count, const cl_event* wait, cl_event* event) {
  return writing(queue, buffer, offset, bytes, count, wait, [&](cl_uint more, const cl_event* events) {
    return below.clEnqueueFillBuffer(queue, buffer, pattern, pattern_bytes, offset, bytes, more, events, event);
  });
}

cl_int CL_API_CALL copy_buffer(cl_command_queue queue, cl_mem from, cl_mem to, size_t from_at, size_t to_at,
                               size_t bytes, cl_uint count, const cl_event* wait, cl_event* event) {
  const cl_int code = writing(queue, to, to_at, bytes, count, wait, [&](cl_uint more, const cl_event* events) {
    return below.clEnqueueCopyBuffer(queue, from, to, from_at, to_at, bytes, more, events, event);
  });
  if (code == CL_SUCCESS && layer().is_active()) {
    guarded([&] {
      const std::lock_guard lock(layer().objects.mutex);
      layer().objects.copied(from, from_at, to, to_at, bytes);
    });
  }
  return code;
}

// A rectangle of a buffer; a row or slice of 0 is as long as the region.
struct Rectangle {
  cl_mem memory;
  const size_t* origin;
  size_t row, slice;
  Rectangle(cl_mem memory, const size_t* origin, const size_t* region, size_t row, size_t slice)
      : memory(memory),
        origin(origin),
        row(row == 0 ? region[0] : row),
        slice(slice == 0 ? region[1] * this->row : slice) {}
  size_t first_of_row(size_t y, size_t z) const { return origin[0] + (origin[1] + y) * row + (origin[2] + z) * slice; }
};

// Undefined bytes are undefined in the copy, row by row. Of more rows than this all counts as written. With the
// objects' mutex held.
constexpr size_t kMostRows = size_t{1} << 16;
void copied(const Rectangle& from, const Rectangle& to, const size_t* region) {
  Objects& objects = layer().objects;
  const Buffer* source = objects.buffer(from.memory);
  if (source == nullptr || region[1] > kMostRows || region[2] > kMostRows / region[1]) return;
  const Bytes read = rectangle(from.origin, region, from.row, from.slice);
  const std::uint64_t begin = source->origin + read.first;
  if (!source->storage->undefined.overlaps(begin, begin + read.count)) return;
  for (size_t z = 0; z < region[2]; ++z) {
    for (size_t y = 0; y < region[1]; ++y)
      objects.copied(from.memory, from.first_of_row(y, z), to.memory, to.first_of_row(y, z), region[0]);
  }
}

cl_int CL_API_CALL copy_rectangle(cl_command_queue queue, cl_mem from, cl_mem to, const size_t* from_origin,
                                  const size_t* to_origin, const size_t* region, size_t from_row, size_t from_slice,
                                  size_t to_row, size_t to_slice, cl_uint count, const cl_event* wait,
                                  cl_event* event) {
  const Bytes written = rectangle(to_origin, region, to_row, to_slice);
  const auto copy = [&](cl_uint more, const cl_event* events) {
    return below.clEnqueueCopyBufferRect(queue, from, to, from_origin, to_origin, region, from_row, from_slice, to_row,
                                         to_slice, more, events, event);
  };
  const cl_int code = writing(queue, to, written.first, written.count, count, wait, copy);
  if (code == CL_SUCCESS && layer().is_active()) {
    guarded([&] {
      const std::lock_guard lock(layer().objects.mutex);
      copied({from, from_origin, region, from_row, from_slice}, {to, to_origin, region, to_row, to_slice}, region);
    });
  }
  return code;
}

cl_int CL_API_CALL copy_image(cl_command_queue queue, cl_mem from, cl_mem to, const size_t* origin,
                              const size_t* region, size_t offset, cl_uint count, const cl_event* wait,
                              cl_event* event) {
  return writing(queue, to, offset, kAll, count, wait, [&](cl_uint more, const cl_event* events) {
    return below.clEnqueueCopyImageToBuffer(queue, from, to, origin, region, offset, more, events, event);
  });
}

void* CL_API_CALL map_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags, size_t offset,
                             size_t bytes, cl_uint count, const cl_event* wait, cl_event* event, cl_int* code) {
  const auto map = [&](cl_uint more, const cl_event* events) {
    return below.clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, bytes, more, events, event, code);
  };
  if ((flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION)) == 0) return map(count, wait);
  return writing(queue, buffer, offset, bytes, count, wait, map);
}

cl_int CL_API_CALL unmap(cl_command_queue queue, cl_mem memory, void* mapped, cl_uint count, const cl_event* wait,
                         cl_event* event) {
  // The range was recorded when it was mapped; its content is new from now on.
  return writing(queue, memory, 0, 0, count, wait, [&](cl_uint more, const cl_event* events) {
    return below.clEnqueueUnmapMemObject(queue, memory, mapped, more, events, event);
  });
}

cl_int CL_API_CALL native_kernel(cl_command_queue queue, void(CL_CALLBACK* function)(void*), void* arguments,
                                 size_t bytes, cl_uint memory_count, const cl_mem* memory, const void** places,
                                 cl_uint count, const cl_event* wait, cl_event* event) {
  Waits waits(queue, count, wait);
  if (layer().is_active()) {
    guarded([&] {
      const std::lock_guard lock(layer().objects.mutex);
      for (cl_uint i = 0; memory != nullptr && i < memory_count; ++i) {
        Buffer* buffer = layer().objects.buffer(memory[i]);
        if (buffer == nullptr) continue;
        waits.come_behind(buffer->storage);
        layer().objects.wrote(*buffer, 0, kAll);
      }
    });
  }
  return below.clEnqueueNativeKernel(queue, function, arguments, bytes, memory_count, memory, places, waits.count(),
                                     waits.events(), event);
}

}  // namespace

void fill_writes(cl_icd_dispatch& table) {
  table.clEnqueueWriteBuffer = write_buffer;
  table.clEnqueueWriteBufferRect = write_rectangle;
  table.clEnqueueFillBuffer = fill_buffer;
  table.clEnqueueCopyBuffer = copy_buffer;
  table.clEnqueueCopyBufferRect = copy_rectangle;
  table.clEnqueueCopyImageToBuffer = copy_image;
  table.clEnqueueMapBuffer = map_buffer;
  table.clEnqueueUnmapMemObject = unmap;
  table.clEnqueueNativeKernel = native_kernel;
}

}  // namespace tensorstat::attach
