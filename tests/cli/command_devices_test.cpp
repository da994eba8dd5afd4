// `devices --check` tests each device: the host's bits for every dtype (the quick test names two), and GB/s relative to
// a read-only stream. A failure gives exit status 4. Oclgrind's device passes, and Mesa's on the CPU is refused.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <tensorstat/catalog.hpp>
#include <tensorstat/meter.hpp>
#include <tensorstat/opencl.hpp>

#include "tests/support/command_run.hpp"
#include "tests/support/json_text.hpp"

namespace tensorstat {
namespace command_devices_test {

using nlohmann::json;
using test::holds;
using test::Ran;
using test::run;

bool has_device() {
  for (const DeviceInfo& info : list_devices()) {
    if (info.refusal.empty()) return true;
  }
  return false;
}

TEST(CommandDevices, AreProved) {
  if (!has_device()) GTEST_SKIP() << "there is no OpenCL device here";
  const ScratchFolder folder;
  const bool is_full = std::getenv("TENSORSTAT_FULL") != nullptr;
  const Ran ran =
      run(folder, std::string("devices --check --bytes 1M --json") + (is_full ? "" : " --dtypes float32,int8"));
  ASSERT_EQ(ran.exit, 0) << ran.out << ran.err;
  int checked = 0;
  for (const json& device : test::parsed_json(ran.out)) {
    if (!device.at("refusal").is_null()) continue;
    ++checked;
    EXPECT_EQ(device.at("check").at("passed"), true);
    // Ordinary and random bits, in high and in low.
    EXPECT_EQ(device.at("check").at("tensors"), 4 * (is_full ? kDtypeCount : 2));
    EXPECT_GT(device.at("check").at("gb_per_s"), 0.0);
    EXPECT_GT(device.at("check").at("read_gb_per_s"), 0.0);
  }
  EXPECT_GT(checked, 0);
}

// Asks for more memory than the device has.
TEST(CommandDevices, ThatFailAreSaidAndGiveAnExitStatus) {
  if (!has_device()) GTEST_SKIP() << "there is no OpenCL device here";
  const ScratchFolder folder;
  const Ran ran = run(folder, "devices --check --bytes 1T");
  EXPECT_EQ(ran.exit, 4);
  EXPECT_PRED2(holds, ran.out, "wrong: timing ");
}

// The environment in which this driver is the only one.
std::string alone(const ScratchFolder& folder, const std::string& driver) {
  std::filesystem::create_directory(folder / "vendors");
  std::ofstream(folder / "vendors/alone.icd") << driver;
  return "OCL_ICD_VENDORS='" + (folder / "vendors") + "' XDG_CACHE_HOME='" + (folder / "cache") + "' ";
}

// It interprets each instruction, so the quick test has only one dtype.
TEST(CommandDevices, OfOclgrindHasTheHostsBits) {
  const std::string driver = "/usr/lib/oclgrind/liboclgrind-rt-icd.so";
  if (!std::filesystem::exists(driver)) GTEST_SKIP() << "Debian's oclgrind is not installed";
  const ScratchFolder folder;
  const bool is_full = std::getenv("TENSORSTAT_FULL") != nullptr;
  const Ran ran = run(folder, std::string("devices --check --bytes 1M --json") + (is_full ? "" : " --dtypes int8"),
                      alone(folder, driver));
  ASSERT_EQ(ran.exit, 0) << ran.out << ran.err;
  const json devices = test::parsed_json(ran.out);
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_EQ(devices[0].at("platform_name"), "Oclgrind");
  EXPECT_EQ(devices[0].at("check").at("tensors"), 4 * (is_full ? kDtypeCount : 1));
}

// Mesa's package would put its two drivers in front of every program on this machine. So it is only unpacked.
TEST(CommandDevices, OfRusticlAreRefusedAndTheHostMeasures) {
  if (std::getenv("TENSORSTAT_FULL") == nullptr) GTEST_SKIP() << "fetches a package of Debian: only in --full";
  const ScratchFolder folder;
  const std::string fetch =
      "cd '" + folder.path() + "' && apt-get download -qq mesa-opencl-icd >log 2>&1 && dpkg -x *.deb .";
  if (std::system(fetch.c_str()) != 0) GTEST_SKIP() << "no mesa-opencl-icd: " << content_of(folder / "log");
  std::string driver;
  for (const auto& each : std::filesystem::recursive_directory_iterator(folder.path())) {
    if (each.path().filename() == "libRusticlOpenCL.so.1") driver = each.path();
  }
  const std::string rusticl = "RUSTICL_ENABLE=llvmpipe " + alone(folder, driver);
  const Ran listed = run(folder, "devices --check", rusticl);
  if (holds(listed.out, "no OpenCL device")) GTEST_SKIP() << "rusticl does not start here: " << listed.err;
  EXPECT_PRED2(holds, listed.out, "not used: its loops run more or fewer rounds than the kernel says");
  test::run_python(folder, "import numpy; numpy.save('x.npy', numpy.linspace(-1, 1, 1 << 20, dtype='float32'))");
  EXPECT_EQ(run(folder, "x.npy --on device", rusticl).exit, 4);
  EXPECT_EQ(run(folder, "x.npy --on auto", rusticl).out, run(folder, "x.npy --on host").out);
}

// Loading a driver takes longer than measuring small files.
TEST(CommandDevices, AreNotLoadedToLearnThatOnlyPoclIsInstalled) {
  for (const auto& each : std::filesystem::directory_iterator("/etc/OpenCL/vendors")) {
    if (!each.path().filename().string().starts_with("pocl")) GTEST_SKIP() << each.path() << " is another driver";
  }
  const ScratchFolder folder;
  test::run_python(folder, "import numpy; numpy.save('x.npy', numpy.ones(1 << 19))");
  const std::string environment = "LD_DEBUG=files ";
  EXPECT_FALSE(holds(run(folder, "x.npy", environment).err, "libpocl"));
  EXPECT_PRED2(holds, run(folder, "x.npy", environment + "OCL_ICD_VENDORS=/etc/OpenCL/vendors").err, "libpocl");
}

TEST(CommandDevices, ThatAreNoneAreRefused) {
  const ScratchFolder folder;
  EXPECT_PRED2(holds, run(folder, "devices --device 77:0").err, "there is no OpenCL device 77:0");
  EXPECT_PRED2(holds, run(folder, "devices --device one").err, "'one' is not PLATFORM:DEVICE");
  EXPECT_EQ(run(folder, "devices --bytes 64M").exit, 2);  // needs --check
  EXPECT_EQ(run(folder, "devices --dtypes int8").exit, 2);
  EXPECT_PRED2(holds, run(folder, "devices --check --dtypes int8,int9").err, "'int9' is not a dtype");
}

TEST(DeviceSpeed, RefusesWhatMakesNoSense) {
  EXPECT_EQ(device_speed({}, 4095).error().code, Code::kInvalid);
  EXPECT_EQ(device_speed({}, 0).error().code, Code::kInvalid);
  if (!has_device()) return;
  MeterOptions options;
  options.budget_bytes = 4096;
  EXPECT_EQ(device_speed(options, 1 << 20).error().code, Code::kOverBudget);
}

}  // namespace command_devices_test
}  // namespace tensorstat
