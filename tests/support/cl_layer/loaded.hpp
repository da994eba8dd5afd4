// Gives a test access to the layer. tests/CMakeLists.txt sets OPENCL_LAYERS for such tests.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <tensorstat/meter.hpp>

#include "tests/support/built.hpp"
#include "tests/support/cl_layer/cl_layer.hpp"

// A loader silently ignores a layer that it cannot load. This call then fails.
inline ClLayer& cl_layer() {
  static ClLayer* const layer = [] {
    setenv("OPENCL_LAYERS", built::cl_layer().c_str(), 1);  // before the first call of OpenCL
    static_cast<void>(tensorstat::list_devices());
    void* const library = dlopen(built::cl_layer().c_str(), RTLD_NOW | RTLD_NOLOAD);
    void* const symbol = library == nullptr ? nullptr : dlsym(library, "tensorstat_cl_layer");
    if (symbol == nullptr) throw std::runtime_error("the ICD loader has not loaded " + built::cl_layer());
    auto* const state = reinterpret_cast<ClLayer* (*)()>(symbol)();
    if (state->calls == 0) throw std::runtime_error("no call passed through " + built::cl_layer());
    return state;
  }();
  return *layer;
}
