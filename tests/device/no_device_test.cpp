// Without a usable device the command writes the same statistic.csv from the host, whatever the reason, and reports it
// if the device was requested. In odd environments with a device, both write it. A child that forks after the device
// was used works, too.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <tensorstat/meter.hpp>
#include <vector>

#include "tests/support/built.hpp"
#include "tests/support/command_run.hpp"
#include "tests/support/npy_files.hpp"
#include "tests/support/samples.hpp"

namespace tensorstat::test {
namespace no_device_test {

// Large enough for the device to be chosen if there is one.
constexpr std::size_t kElements = 500'000;

std::vector<std::byte> values() {
  samples::Random random(samples::seed());
  return samples::of(Dtype::kFloat32)[0].make(Dtype::kFloat32, kElements, random);
}

class NoDevice : public testing::Test {
 protected:
  NoDevice() {
    setenv("TENSORSTAT_CL_AUTO", "1", 1);  // without it the command would not use a device that is the CPU
    const auto bytes = values();
    write_file(folder_ / "x.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (500000,), }",
                                      {reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
    for (const char* name : {"empty", "locked"}) std::filesystem::create_directory(folder_ / name);
    std::filesystem::permissions(folder_ / "locked", std::filesystem::perms::owner_read);
    std::filesystem::permissions(folder_.path(), std::filesystem::perms(0755));  // so that the plain user can enter it
    write_file(folder_ / "file", "");
  }

  Ran measured(const std::string& where, const std::string& environment = "") {
    return run(folder_, "x.npy --format csv --stats max,min,avg,l2norm,zero_count --on " + where, environment);
  }

  // Runs a command without root's rights, because root can enter every folder.
  static std::string as_plain_user() {
    return ::geteuid() == 0 ? "setpriv --reuid=65534 --regid=65534 --clear-groups" : "";
  }

  ScratchFolder folder_;
};

TEST_F(NoDevice, EveryEnvironmentGivesTheHostsRows) {
  const Ran host = measured("host");
  ASSERT_EQ(host.exit, 0) << host.err;
  const std::string in = folder_.path();
  const std::string locked = "HOME=" + in + "/locked XDG_CACHE_HOME= " + as_plain_user();
  const bool locks = measured("host", locked).exit == 0;
  EXPECT_TRUE(locks || ::geteuid() == 0) << "a plain user is held out by a locked folder";
  const struct {
    std::string environment;
    bool has_device;
  } cases[] = {
      {"OCL_ICD_VENDORS=" + in + "/empty", false},
      {"OCL_ICD_VENDORS=" + in + "/missing", false},
      {"POCL_DEVICES=bogus", false},
      {locks ? locked : "POCL_DEVICES=none", false},
      {"HOME=" + in + "/file XDG_CACHE_HOME=" + in + "/file/below", false},
      {"-u HOME", true},
      {"POCL_MAX_WORK_GROUP_SIZE=1", true},
      {"POCL_MAX_WORK_GROUP_SIZE=1 TENSORSTAT_CL_SHAPE=group", true},
  };
  for (const auto& [environment, has_device] : cases) {
    SCOPED_TRACE(environment);
    const Ran insisted = measured("device", environment);
    EXPECT_EQ(insisted.exit, has_device ? 0 : 4) << insisted.err;
    const Ran ran = measured("auto", environment);
    EXPECT_EQ(ran.exit, 0) << ran.err;
    EXPECT_EQ(ran.out, host.out);
    if (has_device) {
      EXPECT_EQ(insisted.out, host.out);
    }
  }
}

TEST_F(NoDevice, WhoeverInsistsIsToldWhy) {
  const Ran ran = measured("device", "OCL_ICD_VENDORS=" + folder_.path() + "/empty");
  EXPECT_EQ(ran.exit, 4) << ran.err;
  EXPECT_TRUE(holds(ran.err, "OpenCL")) << ran.err;
  // Reported once, for any number of files.
  for (const char* name : {"/y.npy", "/z.npy"}) std::filesystem::copy(folder_ / "x.npy", folder_.path() + name);
  const Ran three = run(folder_, "x.npy y.npy z.npy --on device", "OCL_ICD_VENDORS=" + folder_.path() + "/empty");
  EXPECT_EQ(three.exit, 4);
  EXPECT_EQ(line_count(three.err), 2u) << three.err;
  EXPECT_TRUE(holds(three.err, "the same for 2 more tensors")) << three.err;
}

// Loops of Mesa's llvmpipe run wrong numbers of rounds, and it says nothing. So no number of it is believed.
TEST_F(NoDevice, OneThatIsKnownToComputeWrongIsRefusedByName) {
  const std::string renamed =
      "OPENCL_LAYERS='" + built::cl_layer() + "' CL_LAYER_DEVICE_NAME='llvmpipe (LLVM 15.0.6, 256 bits)'";
  const Ran insisted = measured("device", renamed);
  EXPECT_EQ(insisted.exit, 4) << insisted.err;
  EXPECT_PRED2(holds, insisted.err,
               "llvmpipe (LLVM 15.0.6, 256 bits): its loops run more or fewer rounds than the kernel says");
  const Ran ran = measured("auto", renamed);
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(ran.out, measured("host").out);
  EXPECT_PRED2(holds, run(folder_, "devices", renamed).out, "its loops run more or fewer rounds than the kernel says");
}

// A forked child of a process that uses the device: the host works at once, through the parent's Meter and a new one.
TEST(Fork, AfterUseTheChildRunsOnTheHost) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "TSan does not follow threads that a child of a process with threads starts";
#endif
  const auto bytes = values();
  const Tensor tensor{.dtype = Dtype::kFloat32, .element_count = kElements, .address = bytes.data()};
  setenv("TENSORSTAT_CL_AUTO", "1", 1);
  const Request request{.categories = *categories_from("max,avg,l2norm"), .on = On::kAuto};
  Meter meter;
  const auto expected = meter.measure({&tensor, 1}, request);
  ASSERT_TRUE(expected) << expected.error().message;
  ASSERT_EQ((*expected)[0].placement[0].engine, "opencl");
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);  // so that a hang is a failure
    const auto same = [&](Meter& any) {
      const auto result = any.measure({&tensor, 1}, request);
      return result && std::ranges::equal((*result)[0].statistics.values, (*expected)[0].statistics.values) &&
             (*result)[0].placement[0].engine == "host";
    };
    bool right = same(meter);
    {
      Meter own;
      right = same(own) && right && list_devices().empty();
    }
    _exit(right ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  const auto again = meter.measure({&tensor, 1}, request);
  ASSERT_TRUE(again);
  EXPECT_EQ((*again)[0].placement[0].engine, "opencl");
}

}  // namespace no_device_test
}  // namespace tensorstat::test
