// A backend that is linked with an installation uses the device, and its session counts so: by find_package and by
// pkg-config, wherever the installation lies, and inside another project. Without the helper program the host computes,
// and the log says that the program is not found.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/support/built.hpp"
#include "tests/support/command_run.hpp"
#include "tests/support/sanitized.hpp"

namespace tensorstat {
namespace installed_backend_test {

namespace fs = std::filesystem;

using test::holds;
using test::Ran;

const std::string kConsumer = built::source_dir() + "/tests/house/consumer";
constexpr const char* kOnDevice = "2 rows: 2 on a device, 0 on the host, 0 fallen back\n";
constexpr const char* kOnHost = "2 rows: 0 on a device, 2 on the host, 2 fallen back\n";

class InstalledBackend : public testing::Test {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "the backend would need the sanitizer's flags";
    if (std::getenv("TENSORSTAT_NO_DEVICE") != nullptr) GTEST_SKIP() << "this machine has no OpenCL device";
  }
  void install(const std::string& prefix) {
    for (const char* component : {"core", "dump", "helper"}) {
      const Ran ran = test::run(
          folder_,
          "--install '" + built::build_dir() + "' --prefix '" + (folder_ / prefix) + "' --component " + component, "",
          built::cmake());
      ASSERT_EQ(ran.exit, 0) << ran.err;
    }
  }
  void build_by_find_package(const std::string& prefix, const std::string& build) {
    const Ran configured = test::run(folder_,
                                     "-S '" + kConsumer + "' -B " + build + " -G '" + built::generator() +
                                         "' -DCMAKE_CXX_COMPILER='" + built::compiler() + "' -DCMAKE_PREFIX_PATH='" +
                                         (folder_ / prefix) + "' -DON_DEVICE=ON -DPARTS=core",
                                     "", built::cmake());
    ASSERT_EQ(configured.exit, 0) << configured.err;
    const Ran ran = test::run(folder_, "--build " + build + " --target on_device", "", built::cmake());
    ASSERT_EQ(ran.exit, 0) << ran.out << ran.err;
  }
  void build_by_pkg_config(const std::string& prefix, const std::string& program) {
    const Ran ran =
        test::run(folder_,
                  "-c '" + built::compiler() + " -std=c++20 -o " + program + " " + kConsumer +
                      "/on_device.cpp $(pkg-config --cflags --libs tensorstat-cpp OpenCL)'",
                  "PKG_CONFIG_PATH='" + (folder_ / (prefix + "/" + built::libdir() + "/pkgconfig")) + "'", "/bin/sh");
    ASSERT_EQ(ran.exit, 0) << ran.out << ran.err;
  }
  std::string said(const std::string& program) {
    fs::remove_all(folder_ / "dump");
    const Ran ran = test::run(folder_, "'" + (folder_ / "dump") + "'", "-u TENSORSTAT_PREFLIGHT", folder_ / program);
    return ran.exit == 0 ? ran.out : "exit " + std::to_string(ran.exit) + ": " + ran.out + ran.err;
  }
  fs::path helper(const std::string& prefix) const {
    return folder_ / (prefix + "/" + built::libexec() + "/tensorstat/tensorstat-preflight");
  }

  const ScratchFolder folder_;
};

TEST_F(InstalledBackend, UsesTheDeviceByFindPackage) {
  install("first");
  build_by_find_package("first", "build");
  if (HasFatalFailure()) return;
  EXPECT_EQ(said("build/on_device"), kOnDevice);
  fs::create_directory(folder_ / "elsewhere");
  fs::rename(folder_ / "build/on_device", folder_ / "elsewhere/on_device");
  EXPECT_EQ(said("elsewhere/on_device"), kOnDevice) << "a program lies anywhere";

  // A folder that others can write is not trusted.
  fs::permissions(helper("first").parent_path(), fs::perms::all);
  std::string host = said("elsewhere/on_device");
  EXPECT_TRUE(host.starts_with(kOnHost) && holds(host, "tensorstat-preflight, cannot be used")) << host;
  EXPECT_TRUE(holds(host, "can be written by everybody")) << host;

  fs::permissions(helper("first").parent_path(), fs::perms(0755));
  fs::remove(helper("first"));
  host = said("elsewhere/on_device");
  EXPECT_TRUE(host.starts_with(kOnHost) && holds(host, "tensorstat-preflight, is not found")) << host;
  EXPECT_FALSE(holds(host, "failed")) << host;
}

TEST_F(InstalledBackend, UsesTheDeviceAfterTheInstallationIsMoved) {
  install("first");
  fs::create_directories(folder_ / "second/deep");
  fs::rename(folder_ / "first", folder_ / "second/deep/prefix");
  build_by_find_package("second/deep/prefix", "build");
  if (HasFatalFailure()) return;
  EXPECT_EQ(said("build/on_device"), kOnDevice);
  if (std::system("command -v pkg-config >/dev/null 2>&1") != 0) GTEST_SKIP() << "there is no pkg-config here";
  build_by_pkg_config("second/deep/prefix", "by_pkg_config");
  EXPECT_EQ(said("by_pkg_config"), kOnDevice);
}

}  // namespace installed_backend_test
}  // namespace tensorstat
