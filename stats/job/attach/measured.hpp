// Reads arguments on the program's own queue, behind its earlier commands, without waiting.
#pragma once

#include <CL/cl.h>

#include <cstdint>
#include <memory>
#include <span>
#include <tensorstat/meter.hpp>
#include <vector>

namespace tensorstat::attach {

// Elements of a buffer.
struct Extent {
  cl_mem memory = nullptr;
  Dtype dtype = Dtype::kFloat32;
  std::uint64_t count = 0;
};

// A reading on its way.
class Reading {
 public:
  virtual ~Reading() = default;
  // Completes when the extents have been read. Owned by the reading.
  virtual cl_event event() const = 0;
  // Call it once the event has completed. One measurement an extent, in order.
  virtual Result<Measurements> collect() = 0;
};

// Reads in one context, on one of its devices. Thread-safe. It keeps a reference to the context, but to no queue.
class Reader {
 public:
  // Asks the device for its abilities, on a queue of its own.
  static Result<std::unique_ptr<Reader>> open(cl_context context, cl_device_id device, Categories statistics);
  virtual ~Reader() = default;

  // Enqueues a reading behind `wait_list`. The first of a dtype builds and checks a kernel on the reader's own queue.
  // The extents must not change until the reading's event has completed.
  virtual Result<std::unique_ptr<Reading>> read(cl_command_queue queue, std::span<const Extent> extents,
                                                std::span<const cl_event> wait_list) = 0;

  virtual cl_command_queue own_queue() const = 0;
};

}  // namespace tensorstat::attach
