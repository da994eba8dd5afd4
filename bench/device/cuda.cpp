// CUDA's driver, loaded at run time. Its functions are declared here, so that the build needs no CUDA package.
#include <dlfcn.h>

#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

#include "bench/device/gpu.hpp"

namespace tensorstat::bench {
namespace {

// As in NVIDIA's "CUDA Driver API".
using CuResult = int;
using CuDevice = int;
using CuPointer = std::uint64_t;
using CuHandle = struct CuOpaque*;  // a context, a module, a function, a stream, an event
constexpr int kMultiprocessorCount = 16, kMajor = 75, kMinor = 76;

struct Driver {
  CuResult (*init)(unsigned);
  CuResult (*device_get)(CuDevice*, int);
  CuResult (*device_get_name)(char*, int, CuDevice);
  CuResult (*device_get_attribute)(int*, int, CuDevice);
  CuResult (*device_total_memory)(std::size_t*, CuDevice);
  CuResult (*primary_context_retain)(CuHandle*, CuDevice);
  CuResult (*context_set_current)(CuHandle);
  CuResult (*module_load_data)(CuHandle*, const void*);
  CuResult (*module_get_function)(CuHandle*, CuHandle, const char*);
  CuResult (*memory_allocate)(CuPointer*, std::size_t);
  CuResult (*copy_to_device)(CuPointer, const void*, std::size_t);
  CuResult (*copy_to_host)(void*, CuPointer, std::size_t);
  CuResult (*launch_kernel)(CuHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CuHandle,
                            void**, void**);
  CuResult (*event_create)(CuHandle*, unsigned);
  CuResult (*event_record)(CuHandle, CuHandle);
  CuResult (*event_synchronize)(CuHandle);
  CuResult (*event_elapsed_time)(float*, CuHandle, CuHandle);
  CuResult (*get_error_name)(CuResult, const char**);

  Driver() {
    void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(std::string("no CUDA driver: ") + dlerror());
    const auto find = [&](auto& function, const char* symbol) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, symbol));
      if (function == nullptr) throw std::runtime_error(std::string("libcuda.so.1 has no ") + symbol);
    };
    find(init, "cuInit");
    find(device_get, "cuDeviceGet");
    find(device_get_name, "cuDeviceGetName");
    find(device_get_attribute, "cuDeviceGetAttribute");
    find(device_total_memory, "cuDeviceTotalMem_v2");
    find(primary_context_retain, "cuDevicePrimaryCtxRetain");
    find(context_set_current, "cuCtxSetCurrent");
    find(module_load_data, "cuModuleLoadData");
    find(module_get_function, "cuModuleGetFunction");
    find(memory_allocate, "cuMemAlloc_v2");
    find(copy_to_device, "cuMemcpyHtoD_v2");
    find(copy_to_host, "cuMemcpyDtoH_v2");
    find(launch_kernel, "cuLaunchKernel");
    find(event_create, "cuEventCreate");
    find(event_record, "cuEventRecord");
    find(event_synchronize, "cuEventSynchronize");
    find(event_elapsed_time, "cuEventElapsedTime");
    find(get_error_name, "cuGetErrorName");
  }

  void check(CuResult result, const std::string& doing) const {
    if (result == 0) return;
    const char* name = nullptr;
    get_error_name(result, &name);
    throw std::runtime_error(doing + " failed: " + (name == nullptr ? std::to_string(result) : name));
  }
};

class Cuda final : public Gpu {
 public:
  explicit Cuda(std::string folder) : folder_(std::move(folder)) {
    CuDevice device = 0;
    CuHandle context = nullptr;
    char name[256] = {};
    int units = 0, major = 0, minor = 0;
    std::size_t bytes = 0;
    driver_.check(driver_.init(0), "cuInit");
    driver_.check(driver_.device_get(&device, 0), "cuDeviceGet");
    driver_.check(driver_.device_get_name(name, sizeof name - 1, device), "cuDeviceGetName");
    driver_.check(driver_.device_get_attribute(&units, kMultiprocessorCount, device), "cuDeviceGetAttribute");
    driver_.check(driver_.device_get_attribute(&major, kMajor, device), "cuDeviceGetAttribute");
    driver_.check(driver_.device_get_attribute(&minor, kMinor, device), "cuDeviceGetAttribute");
    driver_.check(driver_.device_total_memory(&bytes, device), "cuDeviceTotalMem");
    driver_.check(driver_.primary_context_retain(&context, device), "cuDevicePrimaryCtxRetain");
    driver_.check(driver_.context_set_current(context), "cuCtxSetCurrent");
    driver_.check(driver_.event_create(&begin_, 0), "cuEventCreate");
    driver_.check(driver_.event_create(&end_, 0), "cuEventCreate");
    traits_ = nvidia_gpu();
    traits_.info.name = name;
    traits_.info.driver = "sm_" + std::to_string(major) + std::to_string(minor);
    traits_.info.memory_bytes = bytes;
    traits_.compute_units = static_cast<std::uint32_t>(units);
  }

  std::string description() const override {
    return "CUDA's driver: " + traits_.info.name + ", " + traits_.info.driver;
  }
  const cl_engine::Device& traits() const override { return traits_; }

  Buffer make(std::uint64_t bytes) override {
    CuPointer pointer = 0;
    driver_.check(driver_.memory_allocate(&pointer, bytes), "cuMemAlloc");
    return pointer;
  }
  void write(Buffer to, std::span<const std::byte> bytes) override {
    driver_.check(driver_.copy_to_device(to, bytes.data(), bytes.size()), "cuMemcpyHtoD");
  }
  void read(Buffer from, std::span<std::byte> bytes) override {
    driver_.check(driver_.copy_to_host(bytes.data(), from, bytes.size()), "cuMemcpyDtoH");
  }

  double run(const KernelSpec& spec, std::size_t groups, Buffer source, Buffer workspace, std::uint64_t first,
             std::uint64_t second) override {
    const CuHandle function = loaded(spec);
    CuPointer from = source, to = workspace;
    void* arguments[] = {&from, &to, &first, &second};
    driver_.check(driver_.event_record(begin_, nullptr), "cuEventRecord");
    driver_.check(driver_.launch_kernel(function, static_cast<unsigned>(groups), 1, 1,
                                        static_cast<unsigned>(spec.group_size), 1, 1, 0, nullptr, arguments, nullptr),
                  "launching " + name(spec));
    driver_.check(driver_.event_record(end_, nullptr), "cuEventRecord");
    driver_.check(driver_.event_synchronize(end_), "running " + name(spec));
    float milliseconds = 0;
    driver_.check(driver_.event_elapsed_time(&milliseconds, begin_, end_), "cuEventElapsedTime");
    return milliseconds * 1e-3;
  }

 private:
  CuHandle loaded(const KernelSpec& spec) {
    const auto known = functions_.find(spec);
    if (known != functions_.end()) return known->second;
    const std::string path = folder_ + "/" + name(spec) + ".ptx";
    std::ifstream file(path);
    if (!file) throw std::runtime_error(path + " cannot be read: `bench/gpu --pack` makes these");
    std::ostringstream ptx;
    ptx << file.rdbuf();
    CuHandle module = nullptr, function = nullptr;
    driver_.check(driver_.module_load_data(&module, ptx.str().c_str()), "loading " + path);
    driver_.check(
        driver_.module_get_function(&function, module, spec.kind == KernelSpec::Kind::kRead ? "read" : "fold"),
        "finding the kernel of " + path);
    return functions_[spec] = function;
  }

  Driver driver_;
  std::string folder_;
  cl_engine::Device traits_;
  CuHandle begin_ = nullptr, end_ = nullptr;
  std::map<KernelSpec, CuHandle> functions_;
};

}  // namespace

std::unique_ptr<Gpu> open_cuda(const std::string& folder) { return std::make_unique<Cuda>(folder); }

}  // namespace tensorstat::bench
