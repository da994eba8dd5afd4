// CUDA's driver and ROCm's runtime, as far as copies of device memory to the host need them, and CUDA's as far as
// launches do. Both have the same functions under other names, so one list declares both, and the build needs no
// package of either.
//
// No driver is linked or loaded here. A tensor in a GPU's memory exists only if the driver is already in the process,
// and then it must be that copy of it: PyTorch for ROCm brings one of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <tensorstat/status.hpp>
#include <tensorstat/tensor.hpp>

namespace tensorstat::gpu {

using Outcome = int;            // CUresult, hipError_t
using Handle = struct Opaque*;  // a context, a stream or an event

constexpr Outcome kSuccess = 0, kOutOfMemory = 2, kNotReady = 600, kCaptureImplicit = 906;
constexpr int kContextOf = 1, kOrdinalOf = 9;              // attributes of a pointer
constexpr int kUnits = 16, kMajor = 75, kMinor = 76;       // attributes of a device
constexpr int kCaptureModeRelaxed = 2;                     // nothing that this thread calls ends a capture
constexpr int kCaptureInvalidated = 2;                     // the state of a stream
constexpr std::uintptr_t kPerThreadStream = 2;             // a handle; another stream in each thread
constexpr unsigned kNonBlocking = 1;                       // a flag of a stream
constexpr unsigned kBlockingSync = 1, kDisableTiming = 2;  // flags of an event; the first: who waits, sleeps

// F(member, CUDA's name, ROCm's name, parameters...), as in NVIDIA's "CUDA Driver API" and AMD's "HIP Runtime API".
#define TENSORSTAT_GPU_FUNCTIONS(F)                                                                  \
  F(error_name, "cuGetErrorName", "hipDrvGetErrorName", Outcome, const char**)                       \
  F(pointer_attribute, "cuPointerGetAttribute", "hipPointerGetAttribute", void*, int, std::uint64_t) \
  F(device_get, "cuDeviceGet", "hipDeviceGet", int*, int)                                            \
  F(context_retain, "cuDevicePrimaryCtxRetain", "hipDevicePrimaryCtxRetain", Handle*, int)           \
  F(context_release, "cuDevicePrimaryCtxRelease_v2", "hipDevicePrimaryCtxRelease", int)              \
  F(context_current, "cuCtxGetCurrent", "hipCtxGetCurrent", Handle*)                                 \
  F(context_set, "cuCtxSetCurrent", "hipCtxSetCurrent", Handle)                                      \
  F(capture_mode, "cuThreadExchangeStreamCaptureMode", "hipThreadExchangeStreamCaptureMode", int*)   \
  F(stream_create, "cuStreamCreate", "hipStreamCreateWithFlags", Handle*, unsigned)                  \
  F(stream_destroy, "cuStreamDestroy_v2", "hipStreamDestroy", Handle)                                \
  F(stream_is_capturing, "cuStreamIsCapturing", "hipStreamIsCapturing", Handle, int*)                \
  F(stream_wait_event, "cuStreamWaitEvent", "hipStreamWaitEvent", Handle, Handle, unsigned)          \
  F(stream_synchronize, "cuStreamSynchronize", "hipStreamSynchronize", Handle)                       \
  F(event_create, "cuEventCreate", "hipEventCreateWithFlags", Handle*, unsigned)                     \
  F(event_destroy, "cuEventDestroy_v2", "hipEventDestroy", Handle)                                   \
  F(event_record, "cuEventRecord", "hipEventRecord", Handle, Handle)                                 \
  F(host_allocate, "cuMemHostAlloc", "hipHostMalloc", void**, std::size_t, unsigned)                 \
  F(host_free, "cuMemFreeHost", "hipHostFree", void*)                                                \
  F(copy_to_host, "cuMemcpyDtoHAsync_v2", "hipMemcpyDtoHAsync", void*, std::uint64_t, std::size_t, Handle)

// F(member, CUDA's name, parameters...): what launches need. An old driver may lack one.
#define TENSORSTAT_CUDA_FUNCTIONS(F)                                                                                \
  F(driver_version, "cuDriverGetVersion", int*)                                                                     \
  F(context_state, "cuDevicePrimaryCtxGetState", int, unsigned*, int*)                                              \
  F(device_name, "cuDeviceGetName", char*, int, int)                                                                \
  F(device_attribute, "cuDeviceGetAttribute", int*, int, int)                                                       \
  F(module_load, "cuModuleLoadData", Handle*, const void*)                                                          \
  F(module_unload, "cuModuleUnload", Handle)                                                                        \
  F(module_function, "cuModuleGetFunction", Handle*, Handle, const char*)                                           \
  F(allocate, "cuMemAlloc_v2", std::uint64_t*, std::size_t)                                                         \
  F(free, "cuMemFree_v2", std::uint64_t)                                                                            \
  F(address_range, "cuMemGetAddressRange_v2", std::uint64_t*, std::size_t*, std::uint64_t)                          \
  F(copy_to_device, "cuMemcpyHtoDAsync_v2", std::uint64_t, const void*, std::size_t, Handle)                        \
  F(capture_info, "cuStreamGetCaptureInfo", Handle, int*, std::uint64_t*)                                           \
  F(event_query, "cuEventQuery", Handle)                                                                            \
  F(event_synchronize, "cuEventSynchronize", Handle)                                                                \
  F(launch, "cuLaunchKernel", Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle, \
    void**, void**)

template <typename... Parameters>
struct Function {
  const char* name = nullptr;
  Outcome (*address)(Parameters...) = nullptr;
};

// The result of a call of the driver.
struct Called {
  const char* function = nullptr;
  Outcome outcome = kSuccess;
  explicit operator bool() const { return outcome == kSuccess; }
};

struct Driver {
  const char* name = nullptr;  // "CUDA" or "ROCm"
#define TENSORSTAT_GPU_MEMBER(member, cuda, rocm, ...) Function<__VA_ARGS__> member{};
  TENSORSTAT_GPU_FUNCTIONS(TENSORSTAT_GPU_MEMBER)
#undef TENSORSTAT_GPU_MEMBER
#define TENSORSTAT_CUDA_MEMBER(member, cuda, ...) Function<__VA_ARGS__> member{};
  TENSORSTAT_CUDA_FUNCTIONS(TENSORSTAT_CUDA_MEMBER)
#undef TENSORSTAT_CUDA_MEMBER
  const char* launches_miss = nullptr;  // a function that launches need and the driver lacks
  std::string folder = {};              // of the driver's file, where others of the same driver lie

  // The driver of this memory; an error if it is not in the process.
  static Result<Driver> find(Where where);

  template <typename... Parameters, typename... Arguments>
  Called call(const Function<Parameters...>& function, Arguments... arguments) const {
    return {function.name, function.address(arguments...)};
  }
  // Runs `work` in a context. Afterwards the caller's context is current again. A capture of another thread goes on.
  template <typename Work>
  Called inside(Handle context, const Work& work) const noexcept;
  // "cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS"
  std::string words(const Called& called) const;
  // "CUDA memory cannot be read: cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS"
  Status status(const Called& called) const;
};

template <typename Work>
Called Driver::inside(Handle context, const Work& work) const noexcept {
  Handle before = nullptr;
  int mode = kCaptureModeRelaxed;
  Called called = call(capture_mode, &mode);
  if (!called) return called;
  called = call(context_current, &before);
  if (called) {
    called = call(context_set, context);
    if (called) called = work();
    const Called restored = call(context_set, before);
    if (called) called = restored;
  }
  const Called restored = call(capture_mode, &mode);
  return called ? restored : called;
}

}  // namespace tensorstat::gpu
