// A layer between the library and OpenCL, loaded by the ICD loader through OPENCL_LAYERS: counts what is
// alive, and makes calls fail. The test and the layer share this struct by the symbol below.
#pragma once

#include <atomic>
#include <cstdint>

struct ClLayer {
  // Read by the test.
  std::atomic<std::int64_t> calls{0};       // that can be made to fail, since they were last set to 0
  std::atomic<std::int64_t> references{0};  // to objects that were made through the layer
  std::atomic<std::int64_t> buffer_bytes{0}, peak_buffer_bytes{0};  // host memory seen through a buffer excluded
  std::atomic<std::int64_t> kernels{0};     // enqueued
  std::atomic<std::int64_t> searches{0};    // calls of clGetDeviceIDs
  std::atomic<std::int64_t> announced_pointers{0}, announced_systems{0};  // by clSetKernelExecInfo, in all
  std::atomic<std::int64_t> stale_pointers{0};  // launches over a cl_mem by a kernel that pointers were announced to
  std::atomic<std::int64_t> builds{0};          // of programs, begun
  // Written by the test.
  std::atomic<std::int64_t> svm_capabilities{-1};  // what the device claims to have; -1: what it has
  // Calls count from 1; 0 is never.
  std::atomic<std::int64_t> fail_at{0};
  std::atomic<bool> sticky{false};          // from then on
  std::atomic<int> code{0};
  std::atomic<std::int64_t> lose_kernel_at{0};  // enqueued as nothing, with success
  std::atomic<int> late_ms{0};              // kernels and uploads begin so much later than they could
  std::atomic<bool> hold_kernels{false};  // enqueued kernels do not run before this is false again; see let_go
  std::atomic<bool> hold_builds{false};   // builds do not end before this is false again
  std::atomic<bool> silent{false};  // waiting for events, and asking for their state, fail
  void (*let_go)() = nullptr;             // lets the kernels run and the builds end that are held
};

// A program that knows nothing of the layer is given CL_LAYER_SILENT_AT=N: from its Nth kernel on they are held, and the
// device is silent, until exit() has been called. Then they run to their end, and the file that CL_LAYER_MARK names is made.

extern "C" ClLayer* tensorstat_cl_layer();
