// A layer between the library and OpenCL. The ICD loader loads it through OPENCL_LAYERS. It counts living objects and
// makes calls fail. The test and the layer share this struct through the symbol below.
#pragma once

#include <atomic>
#include <cstdint>

struct ClLayer {
  // Read by the test.
  std::atomic<std::int64_t> calls{0};       // calls that can be made to fail, since the last reset to 0
  std::atomic<std::int64_t> references{0};  // to objects made through the layer
  std::atomic<std::int64_t> buffer_bytes{0}, peak_buffer_bytes{0};  // without host memory that a buffer maps
  // Buffers over host memory that another one is over; bytes of such buffers that a driver copies, as NEO does if the
  // address or the size is no multiple of 64.
  std::atomic<std::int64_t> overlaps{0}, copied_bytes{0}, peak_copied_bytes{0};
  std::atomic<std::int64_t> kernels{0};                                   // enqueued
  std::atomic<std::int64_t> searches{0};                                  // calls of clGetDeviceIDs
  std::atomic<std::int64_t> announced_pointers{0}, announced_systems{0};  // by clSetKernelExecInfo, in total
  std::atomic<std::int64_t> stale_pointers{0};  // launches with a cl_mem by a kernel that pointers were announced to
  std::atomic<std::int64_t> builds{0};          // programs with a build that began
  // Written by the test.
  std::atomic<std::int64_t> svm_capabilities{-1};  // what the device claims; -1: the truth
  // Pages that the device cannot pin for writing: a buffer over them fails unless the host does not write to it.
  std::atomic<const void*> read_only{nullptr};
  // Calls count from 1; 0: never.
  std::atomic<std::int64_t> fail_at{0};
  std::atomic<bool> sticky{false};  // all later calls fail, too
  std::atomic<int> code{0};
  std::atomic<std::int64_t> lose_kernel_at{0};  // this launch succeeds but runs nothing
  std::atomic<int> late_ms{0};                  // delays the start of kernels and uploads
  std::atomic<bool> hold_kernels{false};        // enqueued kernels do not run before this is false again; see let_go
  std::atomic<bool> hold_builds{false};         // builds do not end before this is false again
  std::atomic<bool> silent{false};              // waiting for events, and querying their state, fail
  void (*let_go)() = nullptr;                   // releases the held kernels and builds
};

// For a program that does not know the layer: CL_LAYER_SILENT_AT=N holds its kernels from the Nth on and makes the
// device silent until exit() has been called. Then the kernels run to their end, and the file in CL_LAYER_MARK is
// created.

// With CL_LAYER_ENDS=1 a call aborts once the driver's own handlers of exit() have run.

extern "C" ClLayer* tensorstat_cl_layer();
