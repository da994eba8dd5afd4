// The two functions that OpenCL's loader asks a layer for.
#include "stats/job/attach/below.hpp"
#pragma GCC visibility push(default)
#include <CL/cl_layer.h>
#pragma GCC visibility pop

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "kernels-cl/driver/opencl.hpp"
#include "stats/job/attach/program/objects.hpp"

using namespace tensorstat::attach;

namespace {

// A program may close libOpenCL and open it again. The layer's thread, its handlers for the end of the process and its
// callbacks are still there then. So the layer stays, and what its calls go to: the loader, which holds the drivers,
// and other layers.
void stay_loaded(const void* address) {
  static const void* known = nullptr;
  Dl_info library;
  if (address == nullptr || dladdr(address, &library) == 0 || library.dli_fbase == known) return;
  known = library.dli_fbase;
  dlopen(library.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}
void stay_loaded_with(const cl_icd_dispatch& target) {
  constexpr std::size_t kCount = sizeof target / sizeof(void*);
  void* functions[kCount];
  std::memcpy(functions, static_cast<const void*>(&target), sizeof functions);
  stay_loaded(reinterpret_cast<const void*>(&stay_loaded_with));
  for (const void* each : functions) stay_loaded(each);
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t bytes, void* value, size_t* needed) {
  const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
  constexpr char kName[] = "tensorstat";
  const bool is_name = what == CL_LAYER_NAME;
  if (!is_name && what != CL_LAYER_API_VERSION) return CL_INVALID_VALUE;
  const size_t size = is_name ? sizeof kName : sizeof version;
  if (value != nullptr && bytes < size) return CL_INVALID_VALUE;
  if (value != nullptr) std::memcpy(value, is_name ? static_cast<const void*>(kName) : &version, size);
  if (needed != nullptr) *needed = size;
  return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint count, const cl_icd_dispatch* target, cl_uint* made_count,
                                            const cl_icd_dispatch** made) {
  if (target == nullptr || made_count == nullptr || made == nullptr) return CL_INVALID_VALUE;
  // A loader may be older than these headers, or newer.
  static cl_icd_dispatch table{};
  static bool is_made = false;
  constexpr cl_uint kOurs = sizeof table / sizeof(void*);
  const cl_uint shared = std::min(count, kOurs);
  if (is_made) {
    // A second loader, or the layer is named twice: it stands aside.
    auto* const aside = new cl_icd_dispatch{};
    std::memcpy(static_cast<void*>(aside), target, shared * sizeof(void*));
    *made_count = shared;
    *made = aside;
    return CL_SUCCESS;
  }
  is_made = true;
  std::memcpy(static_cast<void*>(&below), target, shared * sizeof(void*));
  table = below;
  tensorstat::cl_engine::call_opencl(&below);
  *made_count = shared;
  *made = &table;
  // Without settings nothing is wanted, and no call is served.
  const char* const text = std::getenv(kVariable);
  if (text == nullptr || *text == '\0') return CL_SUCCESS;
  guarded([&] {
    auto settings = Settings::from(text);
    if (!settings) return;
    layer().settings = *std::move(settings);
    layer().tally = &open_tally(layer().settings.out);
    fill_objects(table);
    fill_programs(table);
    fill_writes(table);
    fill_shared(table);
    fill_extensions(table);
    fill_launches(table);
    follow_order(table);
    stay_loaded_with(below);
    layer().is_open = true;
  });
  return CL_SUCCESS;
}

}  // extern "C"
#pragma GCC visibility pop
