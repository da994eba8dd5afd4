// A libcuda.so.1 without a GPU: device memory is host memory. The first line of a module has its kernel's name. If
// there is nothing else, a launch folds each slice with the reference lift. If PTX follows, it runs the PTX instruction
// by instruction. Refuses what a driver would refuse, and launches that would crash a kernel. FAKE_CUDA_WRONG makes one
// bit of each fold wrong. FAKE_CUDA_FAILS names a call that fails.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "bench/device/gpu.hpp"
#include "stats/core/engine/accumulator_layout.hpp"
#include "tests/device/group_fold.hpp"
#include "tests/device/ptx_machine.hpp"

using tensorstat::bench::KernelSpec;

namespace {

constexpr int kSuccess = 0, kInvalidValue = 1, kNotInitialized = 3, kInvalidContext = 201, kInvalidPtx = 218,
              kNotFound = 500, kIllegalAddress = 700;

struct Module {
  KernelSpec spec;
  std::unique_ptr<ptx::Program> program;  // nullptr: the module has only a name
};

struct State {
  bool initialized = false, has_context = false;
  std::map<std::uint64_t, std::unique_ptr<std::vector<std::byte>>> memory;
  std::map<std::string, KernelSpec> kernels;
  std::vector<std::unique_ptr<Module>> modules;
  std::set<const void*> events;
};
State& state() {
  static State all;
  return all;
}

// `bytes` of one allocation, or nullptr.
std::byte* at(std::uint64_t pointer, std::uint64_t bytes) {
  auto after = state().memory.upper_bound(pointer);
  if (after == state().memory.begin()) return nullptr;
  const auto& [first, memory] = *--after;
  return pointer - first + bytes <= memory->size() ? reinterpret_cast<std::byte*>(pointer) : nullptr;
}

int ready(const char* call) {
  const char* fails = std::getenv("FAKE_CUDA_FAILS");
  if (fails != nullptr && std::strcmp(fails, call) == 0) return kInvalidValue;
  if (!state().initialized) return kNotInitialized;
  return state().has_context ? kSuccess : kInvalidContext;
}

std::int64_t* words(std::uint64_t pointer, std::uint64_t count) {
  return reinterpret_cast<std::int64_t*>(at(pointer, count * sizeof(std::int64_t)));
}

int fold(const KernelSpec& spec, std::size_t groups, std::uint64_t source, std::uint64_t workspace,
         std::uint64_t slices_at, std::uint64_t partials_at) {
  const std::size_t partial = tensorstat::partial_words(spec.dtype, spec.needs);
  for (std::size_t group = 0; group < groups; ++group) {
    const std::int64_t* slice = words(workspace + slices_at + group * 40, 5);  // Slice in slice.cl
    if (slice == nullptr) return kInvalidValue;
    const auto count = static_cast<std::uint64_t>(slice[1]), bytes = tensorstat::bytes_of(spec.dtype, count);
    const std::byte* elements = at(source + static_cast<std::uint64_t>(slice[0]), bytes);
    std::int64_t* result = words(workspace + partials_at + static_cast<std::uint64_t>(slice[2]) * partial * 8, partial);
    if (elements == nullptr || result == nullptr) return kInvalidValue;
    tensorstat::test::fold_as_a_group(spec.dtype, spec.needs, {elements, bytes}, count,
                                      std::getenv("FAKE_CUDA_WRONG") != nullptr, {result, partial});
  }
  return kSuccess;
}

int read(std::size_t groups, std::uint64_t source, std::uint64_t results, std::uint64_t run, std::uint64_t vectors) {
  for (std::size_t group = 0; group < groups; ++group) {
    std::int64_t* result = words(results + group * 16, 2);
    if (result == nullptr) return kInvalidValue;
    result[0] = result[1] = 0;
    for (std::uint64_t i = group * run; i < std::min(vectors, (group + 1) * run); ++i) {
      const std::int64_t* vector = words(source + i * 16, 2);
      if (vector == nullptr) return kInvalidValue;
      result[0] ^= vector[0], result[1] ^= vector[1];
    }
  }
  return kSuccess;
}

}  // namespace

extern "C" {

int cuInit(unsigned flags) {
  if (flags != 0 || ready("cuInit") == kInvalidValue) return kInvalidValue;
  state().initialized = true;
  for (const KernelSpec& spec : tensorstat::bench::nvidia_kernels()) state().kernels[name(spec)] = spec;
  return kSuccess;
}
int cuDeviceGet(int* device, int ordinal) {
  return *device = 7, ordinal == 0 && state().initialized ? kSuccess : kNotInitialized;
}
int cuDeviceGetName(char* name, int bytes, int device) {
  if (device != 7 || bytes < 10) return kInvalidValue;
  std::strcpy(name, "Fake GPU");
  return kSuccess;
}
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  const std::map<int, int> known = {{16, 4}, {75, 9}, {76, 0}};
  if (device != 7 || known.count(attribute) == 0) return kInvalidValue;
  *value = known.at(attribute);
  return kSuccess;
}
int cuDeviceTotalMem_v2(std::size_t* bytes, int device) {
  return *bytes = std::size_t{1} << 30, device == 7 ? kSuccess : kInvalidValue;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  return *context = &state(), device == 7 ? kSuccess : kInvalidValue;
}
int cuCtxSetCurrent(void* context) {
  if (context != &state()) return kInvalidValue;
  state().has_context = true;
  return kSuccess;
}
int cuModuleLoadData(void** module, const void* image) {
  if (const int code = ready("cuModuleLoadData"); code != kSuccess) return code;
  const std::string text = static_cast<const char*>(image);
  const std::string first = text.substr(0, text.find('\n'));
  const auto known = state().kernels.find(first.size() > 3 ? first.substr(3) : first);
  if (known == state().kernels.end()) return kInvalidPtx;
  auto made = std::make_unique<Module>(Module{known->second, nullptr});
  if (text.find(".entry") != text.npos) {
    try {
      made->program = std::make_unique<ptx::Program>(text);
    } catch (const std::exception& refused) {
      std::fprintf(stderr, "%s\n", refused.what());
      return kInvalidPtx;
    }
  }
  *module = state().modules.emplace_back(std::move(made)).get();
  return kSuccess;
}
int cuModuleGetFunction(void** function, void* module, const char* name) {
  const KernelSpec& spec = static_cast<const Module*>(module)->spec;
  *function = module;
  return std::strcmp(name, spec.kind == KernelSpec::Kind::kRead ? "read" : "fold") == 0 ? kSuccess : kNotFound;
}
int cuMemAlloc_v2(std::uint64_t* pointer, std::size_t bytes) {
  if (const int code = ready("cuMemAlloc"); code != kSuccess || bytes == 0)
    return code != kSuccess ? code : kInvalidValue;
  auto memory = std::make_unique<std::vector<std::byte>>(bytes, std::byte{0xa5});
  *pointer = reinterpret_cast<std::uintptr_t>(memory->data());
  state().memory[*pointer] = std::move(memory);
  return kSuccess;
}
int cuMemcpyHtoD_v2(std::uint64_t to, const void* from, std::size_t bytes) {
  std::byte* const memory = at(to, bytes);
  if (memory == nullptr) return kInvalidValue;
  std::memcpy(memory, from, bytes);
  return ready("cuMemcpyHtoD");
}
int cuMemcpyDtoH_v2(void* to, std::uint64_t from, std::size_t bytes) {
  const std::byte* const memory = at(from, bytes);
  if (memory == nullptr) return kInvalidValue;
  std::memcpy(to, memory, bytes);
  return ready("cuMemcpyDtoH");
}
int cuLaunchKernel(void* function, unsigned x, unsigned y, unsigned z, unsigned lanes, unsigned lanes_y,
                   unsigned lanes_z, unsigned shared_bytes, void* stream, void** arguments, void** extra) {
  if (const int code = ready("cuLaunchKernel"); code != kSuccess) return code;
  const auto& module = *static_cast<const Module*>(function);
  const KernelSpec& spec = module.spec;
  const bool sound = x != 0 && y == 1 && z == 1 && lanes == spec.group_size && lanes_y == 1 && lanes_z == 1 &&
                     shared_bytes == 0 && stream == nullptr && arguments != nullptr && extra == nullptr;
  if (!sound) return kInvalidValue;
  std::uint64_t values[4];
  for (int i = 0; i < 4; ++i) std::memcpy(&values[i], arguments[i], sizeof values[i]);
  if (module.program != nullptr) {
    try {
      module.program->run(spec.kind == KernelSpec::Kind::kRead ? "read" : "fold", x, lanes, values, at);
      return kSuccess;
    } catch (const std::exception& refused) {
      std::fprintf(stderr, "%s\n", refused.what());
      return kIllegalAddress;
    }
  }
  return spec.kind == KernelSpec::Kind::kRead ? read(x, values[0], values[1], values[2], values[3])
                                              : fold(spec, x, values[0], values[1], values[2], values[3]);
}
int cuEventCreate(void** event, unsigned flags) {
  *event = new int(0);
  state().events.insert(*event);
  return flags == 0 ? kSuccess : kInvalidValue;
}
int cuEventRecord(void* event, void* stream) {
  return state().events.count(event) != 0 && stream == nullptr ? kSuccess : kInvalidValue;
}
int cuEventSynchronize(void* event) {
  return state().events.count(event) != 0 ? ready("cuEventSynchronize") : kInvalidValue;
}
int cuEventElapsedTime(float* milliseconds, void* begin, void* end) {
  *milliseconds = 0.25F;
  return begin != end && state().events.count(begin) + state().events.count(end) == 2 ? kSuccess : kInvalidValue;
}
int cuGetErrorName(int code, const char** name) {
  *name = code == kInvalidValue ? "CUDA_ERROR_INVALID_VALUE"
          : code == kInvalidPtx ? "CUDA_ERROR_INVALID_PTX"
                                : "CUDA_ERROR";
  return kSuccess;
}
}
