// A driver that ends its process, or hangs, does so in the helper process alone: wherever it fails, and beside a sound
// driver. This process never loads it. The sound driver's device is used, and the other is told with the reason.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/command_run.hpp"
#include "tests/support/npy_files.hpp"
#include "tests/support/samples.hpp"
#include "tests/support/sanitized.hpp"

namespace tensorstat::test {
namespace dying_driver_test {

namespace fs = std::filesystem;

class DyingDriver : public testing::Test {
 protected:
  DyingDriver() {
    write_file(folder_ / "x.npy",
               npy("{'descr': '|u1', 'fortran_order': False, 'shape': (2000000,), }", std::string(2'000'000, '\x07')));
    fs::create_directory(folder_ / "vendors");
    for (const auto& each : fs::directory_iterator("/etc/OpenCL/vendors")) {
      if (each.path().filename() == "pocl.icd") fs::copy(each.path(), folder_ / "vendors/a.icd");
    }
    write_file(folder_ / "vendors/b.icd", (folder_of_this_program() / "libdying_driver.so").string() + "\n");
    write_file(folder_ / "program.py",
               "import numpy, tensorstat\nprint(tensorstat.measure(numpy.ones(1 << 24, 'f4'), 'max').max)\n");
  }
  void SetUp() override {
    if (!fs::exists(folder_ / "vendors/a.icd")) GTEST_SKIP() << "pocl is not installed here";
  }
  std::string dying(const std::string& how, const std::string& more = "") {
    return "OCL_ICD_VENDORS=" + (folder_ / "vendors") + " DYING_DRIVER=" + how + " " + more + " prlimit --core=0";
  }
  void expect_survives(const std::string& environment, const std::string& words) {
    const Ran listed = run(folder_, "devices", environment);
    EXPECT_EQ(listed.exit, 0) << listed.err;
    EXPECT_TRUE(holds(listed.out, "Portable Computing Language, driver")) << listed.out;
    EXPECT_TRUE(holds(listed.out, "libdying_driver.so\n")) << listed.out;
    EXPECT_TRUE(holds(listed.out, words)) << listed.out;
    const Ran device = run(folder_, "x.npy --on device --format csv --stats max,count", environment);
    EXPECT_EQ(device.exit, 0) << device.err;
    EXPECT_EQ(device.out, run(folder_, "x.npy --on host --format csv --stats max,count").out);
  }

  ScratchFolder folder_;
};

TEST_F(DyingDriver, EndsTheHelperAlone) {
  std::vector<std::string> ways = {"load:abort", "platforms:_exit", "devices:ill"};
  if (samples::full()) {
    for (const char* where : {"load", "platforms", "devices"}) {
      for (const char* how : {"abort", "exit", "_exit", "ill", "segv"}) ways.push_back(std::string(where) + ":" + how);
    }
  }
  for (const std::string& way : ways) {
    SCOPED_TRACE(way);
    const Ran bare = run(folder_, "devices", dying(way, "TENSORSTAT_PREFLIGHT=0"));
    EXPECT_TRUE(bare.exit != 0 || bare.out.empty()) << "does not end its process: " << bare.out;
    expect_survives(dying(way), way.ends_with("abort")  ? "was ended by SIGABRT"
                                : way.ends_with("ill")  ? "was ended by SIGILL"
                                : way.ends_with("exit") ? "ended early"
                                                        : "was ended by SIGSEGV");
  }
}

TEST_F(DyingDriver, IsNoFaultWhileItLives) {
  const Ran both = run(folder_, "devices", dying("nowhere:abort"));
  EXPECT_EQ(both.exit, 0) << both.err;
  EXPECT_FALSE(holds(both.out, "not used")) << both.out;
  EXPECT_FALSE(holds(both.out, "libdying_driver")) << both.out;
}

// The process that calls the library is not ours.
TEST_F(DyingDriver, EndsNoProcessOfPython) {
  if (kSanitized) GTEST_SKIP() << "Python would need the sanitizer";
  const Ran python = run(folder_, "'" + (folder_ / "program.py") + "'",
                         dying("devices:abort", "PYTHONPATH=" + built::pythonpath()), "/usr/bin/python3");
  EXPECT_EQ(python.exit, 0) << python.err;
  EXPECT_EQ(python.out, "1.0\n");
}

// Two drivers that die leave a third one in use; all drivers dead leave the host.
TEST_F(DyingDriver, MayBeEachOfThem) {
  fs::copy(folder_ / "vendors/b.icd", folder_ / "vendors/c.icd");
  expect_survives(dying("platforms:abort"), "was ended by SIGABRT");
  fs::remove(folder_ / "vendors/a.icd");
  const Ran listed = run(folder_, "devices", dying("load:ill"));
  EXPECT_EQ(listed.exit, 0) << listed.err;
  EXPECT_EQ(line_count(listed.out), 6u) << listed.out;
  const Ran host =
      run(folder_, "x.npy --format csv --stats max,count --on auto", dying("load:ill", "TENSORSTAT_CL_AUTO=1"));
  EXPECT_EQ(host.exit, 0) << host.err;
  EXPECT_EQ(run(folder_, "x.npy --on device", dying("load:ill")).exit, 4);
}

TEST_F(DyingDriver, MayHang) {
  if (!samples::full()) GTEST_SKIP() << "waits two minutes for it";
  const Ran listed = run(folder_, "devices", dying("devices:hang"));
  EXPECT_EQ(listed.exit, 0) << listed.err;
  EXPECT_TRUE(holds(listed.out, "Portable Computing Language, driver")) << listed.out;
  EXPECT_TRUE(holds(listed.out, "had not ended after 60000 ms")) << listed.out;
}

// pocl ends its process where /sys is not mounted, and the loader starts it to sort two drivers.
TEST_F(DyingDriver, MayBePoclWhereSysIsNotMounted) {
  if (geteuid() != 0 || std::system("unshare -m mount -t tmpfs tmpfs /sys 2>/dev/null") != 0) {
    GTEST_SKIP() << "wants root, to hide /sys";
  }
  const std::string hidden = "OCL_ICD_VENDORS=" + (folder_ / "vendors") +
                             " prlimit --core=0 unshare -m sh -c 'mount -t tmpfs tmpfs /sys && exec \"$@\"' sh";
  const Ran bare = run(folder_, "devices", "-u HWLOC_SYNTHETIC TENSORSTAT_PREFLIGHT=0 " + hidden);
  if (bare.exit == 0) GTEST_SKIP() << "this pocl survives it";
  // A trial that is kept where /sys is mounted counts for nothing here.
  const std::string kept = "TENSORSTAT_PREFLIGHT=once HOME=" + folder_.path() + " XDG_CACHE_HOME= ";
  EXPECT_EQ(run(folder_, "devices", kept + dying("nowhere:abort")).exit, 0);
  for (const std::string& environment : {"-u HWLOC_SYNTHETIC " + hidden, "-u HWLOC_SYNTHETIC " + kept + hidden}) {
    const Ran listed = run(folder_, "devices", environment);
    EXPECT_EQ(listed.exit, 0) << listed.err;
    EXPECT_TRUE(holds(listed.out, "pocl")) << listed.out;
    EXPECT_TRUE(holds(listed.out, "was ended by SIG")) << listed.out;
  }
}

}  // namespace dying_driver_test
}  // namespace tensorstat::test
