// The kernels of tests/device/fake_gpu.cpp, planted in the cache on disk (XDG_CACHE_HOME).
#pragma once

#include <string>
#include <tensorstat/meter.hpp>

#include "kernels-cl/cuda/ptx.hpp"
#include "kernels-cl/program/binary_cache.hpp"

namespace tensorstat::test {

// The answers of the double.
inline const cl_engine::CudaGpu kFakeGpu{.name = "Fake GPU", .capability = 90, .driver_version = 13000, .folder = ""};

inline void plant(Dtype dtype, const Categories& categories, Precision precision = Precision::kHigh) {
  const Partial partial(dtype, precision, static_cast<Needs>(needs(categories, precision) & ~kDigests));
  const cl_engine::KernelKind kind{dtype, cl_engine::kernel_needs(partial)};
  const std::string text = "fold " + std::to_string(static_cast<int>(dtype)) + " " + std::to_string(kind.needs) + '\n';
  cl_engine::store_binary(recipe_of(device_of(kFakeGpu), kind).key, {text.begin(), text.end()});
}

inline void plant(Dtype a, Dtype b) {
  const std::string text = "pair " + std::to_string(static_cast<int>(a)) + " " + std::to_string(static_cast<int>(b));
  const cl_engine::Recipe recipe = recipe_of(device_of(kFakeGpu), {a, kNothing, b});
  cl_engine::store_binary(recipe.key, {text.begin(), text.end()});
}

}  // namespace tensorstat::test
