// The layer, for a test that runs with OPENCL_LAYERS naming it (tests/CMakeLists.txt).
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <tensorstat/meter.hpp>

#include "tests/support/cl_layer/cl_layer.hpp"

// A loader ignores in silence a layer that it cannot load: whoever asks for this one gets a failure then.
inline ClLayer& cl_layer() {
  static ClLayer* const layer = [] {
    setenv("OPENCL_LAYERS", CL_LAYER, 1);  // before the first call of OpenCL
    static_cast<void>(tensorstat::list_devices());
    void* const library = dlopen(CL_LAYER, RTLD_NOW | RTLD_NOLOAD);
    void* const symbol = library == nullptr ? nullptr : dlsym(library, "tensorstat_cl_layer");
    if (symbol == nullptr) throw std::runtime_error("the ICD loader has not loaded " CL_LAYER);
    auto* const found = reinterpret_cast<ClLayer* (*)()>(symbol)();
    if (found->calls == 0) throw std::runtime_error("no call passed through " CL_LAYER);
    return found;
  }();
  return *layer;
}
