// bench/gpu's program launches the right kernels. Through CUDA's driver: a fake one checks every argument and folds by
// the definition. Through OpenCL: the GPU's kernels run on the CPU. Figures are printed. The test flips one bit and
// expects a failure. An error names the call that failed.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "bench/device/gpu.hpp"
#include "tests/support/built.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tensorstat {
namespace gpu_bench_test {

class GpuBench : public testing::Test {
 protected:
  // Runs `gpu_bench ARGUMENTS` in an environment. Returns the exit code.
  int run(const std::string& environment, const std::string& arguments) {
    const int status = std::system(
        ("env " + environment + " '" + built::gpu_bench() + "' --quick " + arguments + " >'" + out() + "' 2>&1")
            .c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string out() { return folder_ / "out"; }

  // The fake driver, with PTX files that have only the kernels' names.
  std::string fake_cuda() {
    std::filesystem::create_symlink(built::fake_cuda(), folder_ / "libcuda.so.1");
    for (const bench::KernelSpec& spec : bench::nvidia_kernels()) {
      std::ofstream(folder_ / (name(spec) + ".ptx")) << "// " << name(spec) << "\n";
    }
    // The fake driver's memory has no redzones, and gpu_bench does not free everything at its end.
    return "ASAN_OPTIONS=detect_leaks=0 LD_LIBRARY_PATH=" + folder_.path();
  }
  std::string cuda() { return "--cuda '" + folder_.path() + "' "; }

  ScratchFolder folder_;
};

TEST_F(GpuBench, LaunchesThroughCudasDriver) {
  const std::string environment = fake_cuda();
  for (const char* stage : {"check", "ceiling", "folds", "beside", "batch", "tune"}) {
    EXPECT_EQ(run(environment + " TENSORSTAT_FIGURES=" + (folder_ / "figures"), cuda() + stage), 0)
        << stage << ": " << content_of(out());
    EXPECT_NE(content_of(out()).find("CUDA's driver: Fake GPU, sm_90"), std::string::npos) << content_of(out());
  }
  const std::string figures = content_of(folder_ / "figures");
  for (const char* figure : {"read stream\t", "fold/float32\t", "fold/int8/of read stream\t",
                             "batch/256x1024/a tensor\t", "beside/bfloat16/exponents/of the ten\t"}) {
    EXPECT_NE(figures.find(figure), std::string::npos) << figure << " in\n" << figures;
  }
}

TEST_F(GpuBench, NoticesAWrongBit) {
  EXPECT_EQ(run(fake_cuda() + " FAKE_CUDA_WRONG=1", cuda() + "check"), 1);
  EXPECT_NE(content_of(out()).find("DIFFERENT: fold-bool-15-256x4"), std::string::npos) << content_of(out());
  EXPECT_NE(content_of(out()).find("partials are not the host's"), std::string::npos) << content_of(out());
}

TEST_F(GpuBench, NamesTheCallThatFails) {
  const std::string environment = fake_cuda();
  for (const char* call :
       {"cuInit", "cuModuleLoadData", "cuMemAlloc", "cuMemcpyHtoD", "cuMemcpyDtoH", "cuEventSynchronize"}) {
    EXPECT_EQ(run(environment + " FAKE_CUDA_FAILS=" + call, cuda() + "batch"), 1) << call;
    EXPECT_NE(content_of(out()).find("CUDA_ERROR_INVALID_VALUE"), std::string::npos)
        << call << ": " << content_of(out());
  }
  EXPECT_EQ(run(environment, "--cuda /nonexistent check"), 1);
  EXPECT_NE(content_of(out()).find("/nonexistent/fold-bool-15-256x4.ptx cannot be read"), std::string::npos)
      << content_of(out());
}

// The packed operations exist only on NVIDIA GPUs.
TEST_F(GpuBench, ItsPtxGivesTheHostsBits) {
  if (std::system("command -v clang >/dev/null") != 0) GTEST_SKIP() << "clang is not installed";
  const std::string environment = fake_cuda();
  const std::string script = "'" + built::source_dir() + "/bench/gpu' --quick --programs \"$(dirname '" +
                             built::gpu_bench() + "')\" --ptx '" + folder_.path() + "'";
  ASSERT_EQ(std::system((script + " >'" + out() + "' 2>&1").c_str()), 0) << content_of(out());
  ASSERT_NE(content_of(folder_ / "fold-bfloat16-15-256x4.ptx").find("max.u16x2"), std::string::npos);
  EXPECT_EQ(run(environment, cuda() + "check"), 0) << content_of(out());
  EXPECT_NE(content_of(out()).find(" cases held against the host engine, 0 different"), std::string::npos);
  EXPECT_EQ(run(environment, cuda() + "ceiling"), 0) << content_of(out());
}

TEST_F(GpuBench, RunsTheGpusKernelsThroughOpenCl) {
  for (const char* stage : {"devices", "ceiling", "folds", "batch", "api", "tune"}) {
    EXPECT_EQ(run("TENSORSTAT_CL_SHAPE=group TENSORSTAT_FIGURES=" + (folder_ / "figures"), stage), 0)
        << stage << ": " << content_of(out());
  }
  EXPECT_NE(content_of(out()).find("{\"VENDOR\", {.lanes = "), std::string::npos) << content_of(out());
  EXPECT_NE(content_of(folder_ / "figures").find("upload/of plain copy\t"), std::string::npos);
}

}  // namespace gpu_bench_test
}  // namespace tensorstat
