// Every kernel's text is OpenCL C 1.2 and nothing else. The compilers of pocl and Oclgrind take more; NVIDIA's refuses
// macros of variable length, and then builds no kernel. If clang is installed, it compiles the texts without a warning.
// A quick run compiles one dtype a family.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <tensorstat/catalog.hpp>
#include <vector>

#include "kernels-cl/program/program.hpp"
#include "stats/core/engine/accumulator_layout.hpp"
#include "tests/support/samples.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tensorstat {
namespace opencl_c_test {

using cl_engine::Device;
using cl_engine::Shape;

struct Kernel {
  Dtype dtype;
  std::string name, text, options;
};

// For a device of each shape, with and without fp64.
std::vector<Kernel> kernels() {
  std::vector<Kernel> all;
  for (const Shape shape : {Shape::kSlice, Shape::kGroup}) {
    for (const bool fp64 : {true, false}) {
      Device device;
      device.shape = shape;
      device.fp64 = device.float_subnormals = fp64;
      const std::string suffix =
          std::string(shape == Shape::kGroup ? ", group" : ", slice") + (fp64 ? "" : ", no fp64");
      for (int d = 0; d < kDtypeCount; ++d) {
        const auto dtype = static_cast<Dtype>(d);
        const std::string called = std::string(name(dtype)) + suffix;
        for (const Needs needs : {kept(dtype, NEED_EXTREMA), kept(dtype, NEED_ALL)}) {
          all.push_back({dtype, called, source(device, dtype), build_options(device, dtype, needs)});
        }
        if (!is_complex(dtype) && facts(dtype).has_low && fp64) {
          all.push_back({dtype, called + ", low", source(device, dtype, true),
                         build_options(device, dtype, kept(dtype, NEED_SQUARES) | cl_engine::kLowKernel)});
        }
        if (is_complex(dtype) || !fp64) continue;
        for (const Dtype beside : {dtype, Dtype::kFloat32, Dtype::kFloat64}) {
          all.push_back({dtype, called + ", " + std::string(name(beside)), pair_source(device, dtype, beside),
                         pair_build_options(device, dtype, beside)});
        }
      }
    }
  }
  return all;
}

TEST(OpenClC, HasNoMacrosOfVariableLength) {
  for (const Kernel& kernel : kernels()) {
    std::size_t offset = 0;
    while ((offset = kernel.text.find("\n#define ", offset + 1)) != kernel.text.npos) {
      const std::string head = kernel.text.substr(offset + 1, kernel.text.find('\n', offset + 1) - offset - 1);
      ASSERT_EQ(head.find("...)"), head.npos) << kernel.name << ": " << head;
    }
    ASSERT_EQ(kernel.text.find("__VA_ARGS__"), kernel.text.npos) << kernel.name;
  }
}

TEST(OpenClC, CompilesWithoutAWarning) {
  if (std::system("command -v clang >/dev/null") != 0) GTEST_SKIP() << "clang is not installed";
  const ScratchFolder folder;
  std::vector<std::string> seen;
  for (const Kernel& kernel : kernels()) {
    if (!samples::is_built_on_a_device(kernel.dtype)) continue;
    std::ofstream(folder / "kernel.cl") << kernel.text;
    const std::string command =
        "clang -x cl --target=spir64 -Xclang -finclude-default-header -fsyntax-only -Wpedantic " + kernel.options +
        " '" + (folder / "kernel.cl") + "' >'" + (folder / "log") + "' 2>&1";
    EXPECT_EQ(std::system(command.c_str()), 0) << kernel.name;
    EXPECT_EQ(content_of(folder / "log"), "") << kernel.name << ", " << kernel.options;
  }
}

}  // namespace opencl_c_test
}  // namespace tensorstat
