#include "kernels-cl/driver/opencl.hpp"

// All members of cl_icd_dispatch have their types.
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <dlfcn.h>

#include <atomic>
#include <type_traits>

namespace tensorstat::cl_engine {
namespace {

using Table = cl_icd_dispatch;

constexpr const char* kLoader = "libOpenCL.so.1";

std::atomic<const Table*> chosen{nullptr};

// Takes the functions from the process if its program links OpenCL or a tool such as Oclgrind is preloaded, and else
// from the loader. An old loader lacks some functions, and these stay null. The table is never freed, because other
// threads may use it.
const Table* load() {
  const bool is_there = ::dlsym(RTLD_DEFAULT, "clGetPlatformIDs") != nullptr;
  void* const loader = is_there ? RTLD_DEFAULT : ::dlopen(kLoader, RTLD_NOW | RTLD_LOCAL);
  if (!is_there && loader == nullptr) return nullptr;
  auto* const table = new Table{};
#define OPENCL_CALL(result, name, parameters, arguments) \
  table->name = reinterpret_cast<decltype(table->name)>(::dlsym(loader, #name));
#include "kernels-cl/driver/opencl_calls.inc"
#undef OPENCL_CALL
  const Table* other = nullptr;
  if (chosen.compare_exchange_strong(other, table)) return table;
  delete table;
  return other;
}

// Returns nullptr without OpenCL. The next call then looks again: the process may have been out of descriptors.
const Table* opencl() {
  const Table* const table = chosen.load(std::memory_order_acquire);
  return table != nullptr ? table : load();
}

// The error code of a call without OpenCL.
constexpr cl_int kNowhere = CL_PLATFORM_NOT_FOUND_KHR;

template <typename Argument>
void say_nowhere(Argument) {}
void say_nowhere(cl_int* code) {
  if (code != nullptr) *code = kNowhere;
}

template <typename Answer, typename... Arguments>
Answer nowhere(Arguments... arguments) {
  (say_nowhere(arguments), ...);
  if constexpr (std::is_same_v<Answer, cl_int>) {
    return kNowhere;
  } else {
    return nullptr;
  }
}

// Each handle of a driver points to an object that begins with the table of the driver's functions.
const Table& of(const void* handle) { return **static_cast<const Table* const*>(handle); }

// A function of the driver that the first argument is a handle of.
template <auto kMember>
struct Direct;
template <typename Answer, typename Handle, typename... Rest, Answer (CL_API_CALL* Table::*kMember)(Handle, Rest...)>
struct Direct<kMember> {
  static Answer CL_API_CALL call(Handle handle, Rest... rest) {
    return handle == nullptr ? nowhere<Answer>(handle, rest...) : (of(handle).*kMember)(handle, rest...);
  }
};

using Platforms = std::vector<cl_platform_id>;

Platforms& direct_platforms() {
  static Platforms& all = *new Platforms;
  return all;
}

cl_int CL_API_CALL direct_platform_ids(cl_uint room, cl_platform_id* platforms, cl_uint* count) {
  const Platforms& all = direct_platforms();
  for (cl_uint i = 0; platforms != nullptr && i < room && i < all.size(); ++i) platforms[i] = all[i];
  if (count != nullptr) *count = static_cast<cl_uint>(all.size());
  return all.empty() ? kNowhere : CL_SUCCESS;
}

cl_context CL_API_CALL direct_context(const cl_context_properties* properties, cl_uint count,
                                      const cl_device_id* devices,
                                      void(CL_CALLBACK* notify)(const char*, const void*, size_t, void*), void* user,
                                      cl_int* code) {
  if (devices == nullptr || count == 0) return nowhere<cl_context>(code);
  return of(devices[0]).clCreateContext(properties, count, devices, notify, user, code);
}

cl_int CL_API_CALL direct_wait(cl_uint count, const cl_event* events) {
  return events == nullptr || count == 0 ? CL_INVALID_VALUE : of(events[0]).clWaitForEvents(count, events);
}

// The platforms of a driver, as the loader finds them.
void add_platforms(const std::string& library, Platforms& all) {
  void* const driver = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) return;
  const auto function =
      reinterpret_cast<decltype(&clGetExtensionFunctionAddress)>(::dlsym(driver, "clGetExtensionFunctionAddress"));
  if (function == nullptr) return;
  const auto ids = reinterpret_cast<clIcdGetPlatformIDsKHR_fn>(function("clIcdGetPlatformIDsKHR"));
  cl_uint count = 0;
  if (ids == nullptr || ids(0, nullptr, &count) != CL_SUCCESS || count == 0) return;
  Platforms own(count);
  if (ids(count, own.data(), nullptr) != CL_SUCCESS) return;
  all.insert(all.end(), own.begin(), own.end());
}

}  // namespace

bool has_opencl() { return opencl() != nullptr; }

std::string opencl_file() {
  const Table* const table = opencl();
  Dl_info facts{};
  if (table == nullptr || ::dladdr(reinterpret_cast<const void*>(table->clGetPlatformIDs), &facts) == 0) return "";
  return facts.dli_fname == nullptr ? "" : facts.dli_fname;
}

void call_drivers(const std::vector<std::string>& libraries) {
  static const Table direct = [] {
    Table table{};
#define OPENCL_CALL(result, name, parameters, arguments)                                       \
  if constexpr (!std::is_same_v<decltype(&Table::name), decltype(&Table::clGetPlatformIDs)> && \
                !std::is_same_v<decltype(&Table::name), decltype(&Table::clCreateContext)> &&  \
                !std::is_same_v<decltype(&Table::name), decltype(&Table::clWaitForEvents)>) {  \
    table.name = &Direct<&Table::name>::call;                                                  \
  }
#include "kernels-cl/driver/opencl_calls.inc"
#undef OPENCL_CALL
    table.clGetPlatformIDs = &direct_platform_ids;
    table.clCreateContext = &direct_context;
    table.clWaitForEvents = &direct_wait;
    return table;
  }();
  Platforms platforms;
  for (const std::string& each : libraries) add_platforms(each, platforms);
  direct_platforms() = std::move(platforms);
  chosen = &direct;
}

void call_opencl(const _cl_icd_dispatch* table) { chosen = table; }

}  // namespace tensorstat::cl_engine

#define OPENCL_CALL(result, name, parameters, arguments)                                                     \
  result tensorstat_##name parameters {                                                                      \
    const cl_icd_dispatch* const table = tensorstat::cl_engine::opencl();                                    \
    if (table == nullptr || table->name == nullptr) return tensorstat::cl_engine::nowhere<result> arguments; \
    return table->name arguments;                                                                            \
  }
#include "kernels-cl/driver/opencl_calls.inc"
#undef OPENCL_CALL
