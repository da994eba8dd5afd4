// A program may use OpenCL's C++ bindings with exceptions and without optimisation, so that it exports their functions.
// The library must not call these. Whatever OpenCL call fails, no exception of the bindings is thrown in the library.
#define CL_HPP_TARGET_OPENCL_VERSION 120
#define CL_HPP_MINIMUM_OPENCL_VERSION 120
#define CL_TARGET_OPENCL_VERSION 120
#define CL_HPP_ENABLE_EXCEPTIONS
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wignored-attributes"
#include <CL/opencl.hpp>
#pragma GCC diagnostic pop

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <tensorstat/meter.hpp>
#include <typeinfo>
#include <vector>

#include "tests/support/cl_layer/loaded.hpp"
#include "tests/support/samples.hpp"

namespace {
std::atomic<int> thrown{0};  // exceptions of the bindings, caught or not
}

// Counts, then throws. Declared as compilers declare it without <cxxabi.h>.
extern "C" [[noreturn]] void __cxa_throw(void* object, void* type, void (*destroy)(void*)) {
  if (*static_cast<const std::type_info*>(type) == typeid(cl::Error)) ++thrown;
  using Throw = void (*)(void*, void*, void (*)(void*));
  reinterpret_cast<Throw>(dlsym(RTLD_NEXT, "__cxa_throw"))(object, type, destroy);
  std::abort();
}

namespace tensorstat {
namespace callers_exceptions_test {

// The program's own use of the bindings, on the first device.
void use_the_bindings() {
  std::vector<cl::Platform> platforms;
  cl::Platform::get(&platforms);
  std::vector<cl::Device> devices;
  platforms.at(0).getDevices(CL_DEVICE_TYPE_ALL, &devices);
  const cl::Context context(devices.at(0));
  const cl::CommandQueue queue(context, devices.at(0));
  const cl::Buffer buffer(context, CL_MEM_READ_WRITE, 64);
  static_cast<void>(devices.at(0).getInfo<CL_DEVICE_NAME>());
  static_cast<void>(context.getInfo<CL_CONTEXT_DEVICES>());
  static_cast<void>(queue.getInfo<CL_QUEUE_CONTEXT>());
}

TEST(CallersExceptions, AreNotTheLibrarys) {
  if (std::getenv("TENSORSTAT_NO_DEVICE") != nullptr) GTEST_SKIP() << "this machine has no OpenCL device";
  ClLayer& layer = cl_layer();
  ASSERT_NO_THROW(use_the_bindings());
  const std::vector<float> values(100'000, 1.0f);
  const Tensor tensor{.dtype = Dtype::kFloat32, .element_count = values.size(), .address = values.data()};
  const auto measured = [&] {
    return Meter().measure({&tensor, 1}, {.categories = {Category::kMax, Category::kL2norm}, .on = On::kDevice});
  };
  ASSERT_TRUE(measured());
  layer.calls = 0;
  ASSERT_TRUE(measured());
  const std::int64_t calls = layer.calls;
  layer.code = CL_OUT_OF_RESOURCES;
  int errors = 0;
  for (std::int64_t call = 1; call <= calls; ++call) {
    layer.calls = 0;
    layer.fail_at = call;
    const auto result = measured();
    layer.fail_at = 0;
    if (result) continue;
    ++errors;
    EXPECT_NE(result.error().code, Code::kOutOfMemory) << "call " << call << ": " << result.error().message;
  }
  EXPECT_GT(errors, 0);
  EXPECT_EQ(thrown, 0);

  layer.calls = 0;
  layer.fail_at = 1;
  EXPECT_THROW(use_the_bindings(), cl::Error);
  layer.fail_at = 0;
  EXPECT_EQ(thrown, 1) << "the program's own are counted";
}

}  // namespace callers_exceptions_test
}  // namespace tensorstat
