// The two functions that OpenCL's loader asks a layer for.
#include "stats/attach/below.hpp"
#pragma GCC visibility push(default)
#include <CL/cl_layer.h>
#pragma GCC visibility pop

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "stats/attach/program/objects.hpp"

using namespace tensorstat::attach;

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
  constexpr cl_uint kOurs = sizeof table / sizeof(void*);
  const cl_uint shared = std::min(count, kOurs);
  std::memcpy(static_cast<void*>(&below), target, shared * sizeof(void*));
  table = below;
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
    layer().is_open = true;
  });
  return CL_SUCCESS;
}

}  // extern "C"
#pragma GCC visibility pop
