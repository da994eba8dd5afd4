// A device stops answering while the command measures. Its tensors are kept until the process ends, and the rows equal
// the host's. The held kernels run at exit() and read their tensors.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/support/built.hpp"
#include "tests/support/command_run.hpp"
#include "tests/support/npy_files.hpp"

namespace tensorstat::test {
namespace command_silent_device_test {

class CommandSilentDevice : public testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv("TENSORSTAT_NO_DEVICE") != nullptr) GTEST_SKIP() << "this machine has no OpenCL device";
  }

  void write(const std::string& name, std::size_t bytes) {
    write_file(folder_ / name,
               npy("{'descr': '|u1', 'fortran_order': False, 'shape': (" + std::to_string(bytes) + ",), }",
                   std::string(bytes, '\x07')));
  }

  // The first kernel is a check, the second reads the tensors. Freed memory is unmapped, so reading it would end the
  // process.
  Ran run_silent(const std::string& arguments) {
    return run(
        folder_, arguments,
        "OPENCL_LAYERS='" + built::cl_layer() + "' CL_LAYER_SILENT_AT=2 CL_LAYER_MARK='" + (marks_ / "mark") +
            "' TENSORSTAT_PREFLIGHT=0 TENSORSTAT_CL_PATIENCE=20 TENSORSTAT_CL_AUTO=1 MALLOC_MMAP_THRESHOLD_=65536 "
            "MALLOC_TRIM_THRESHOLD_=0 ASAN_OPTIONS=verify_asan_link_order=0");
  }

  void expect_hosts_rows(const std::string& files) {
    const std::string arguments = files + " --format csv --stats max,count --on ";
    const Ran host = run(folder_, arguments + "host");
    ASSERT_EQ(host.exit, 0) << host.err;
    const Ran ran = run_silent(arguments + "auto");
    EXPECT_EQ(ran.exit, 0) << ran.err;
    EXPECT_EQ(ran.out, host.out);
    EXPECT_PRED2(holds, ran.err, "does not answer");
    EXPECT_TRUE(std::filesystem::remove(marks_ / "mark")) << "the kernels did not run to their end";

    const Ran insisting = run_silent(arguments + "device");
    EXPECT_EQ(insisting.exit, 4) << insisting.err;
    EXPECT_PRED2(holds, insisting.err, "until the process ends");
    EXPECT_TRUE(std::filesystem::remove(marks_ / "mark")) << "the kernels did not run to their end";
  }

  const ScratchFolder folder_, marks_;
};

TEST_F(CommandSilentDevice, ThatHasABatchOfFiles) {
  for (const char* name : {"a.npy", "b.npy", "c.npy"}) write(name, std::size_t{2} << 20);
  expect_hosts_rows("a.npy b.npy c.npy");
}

TEST_F(CommandSilentDevice, ThatHasThePiecesOfALargeFile) {
  write("large.npy", std::size_t{40} << 20);
  expect_hosts_rows("large.npy");
}

}  // namespace command_silent_device_test
}  // namespace tensorstat::test
