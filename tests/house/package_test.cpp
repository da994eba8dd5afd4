// Another project can use each library alone, installed or as a subproject, and gets only that library.

#include <gtest/gtest.h>

#include <string>

#include "tests/support/built.hpp"
#include "tests/support/command_run.hpp"
#include "tests/support/samples.hpp"

namespace tensorstat {
namespace package_test {

using test::holds;
using test::Ran;

Ran run_cmake(const ScratchFolder& folder, const std::string& arguments) {
  return test::run(folder, arguments, "", built::cmake());
}

const std::string kConsumer = built::source_dir() + "/tests/house/consumer";

std::string configure(const std::string& build, const std::string& more) {
  return "-S '" + kConsumer + "' -B " + build + " -G '" + built::generator() + "' -DCMAKE_CXX_COMPILER='" +
         built::compiler() + "' -DCMAKE_CXX_FLAGS='" + built::flags() + "' " + more;
}

// The output of one of the consumer's programs.
std::string said(const ScratchFolder& folder, const std::string& program) {
  const std::string command = "'" + (folder / program) + "' >'" + (folder / "said") + "'";
  return std::system(command.c_str()) == 0 ? content_of(folder / "said") : "failed";
}

class InstalledPackage : public testing::Test {
 protected:
  void install(const std::string& component) {
    const Ran ran = run_cmake(folder_, "--install '" + built::build_dir() + "' --prefix here --component " + component);
    ASSERT_EQ(ran.exit, 0) << ran.err;
  }
  Ran find(const std::string& parts, const std::string& more = "") {
    return run_cmake(folder_, configure("consumer", "-DCMAKE_PREFIX_PATH='" + (folder_ / "here") + "' -DPARTS='" +
                                                        parts + "' " + more));
  }
  void build() {
    const Ran built = run_cmake(folder_, "--build consumer");
    ASSERT_EQ(built.exit, 0) << built.out << built.err;
  }

  ScratchFolder folder_;
};

TEST_F(InstalledPackage, TheCoreIsFoundAndLinkedWithoutTheDumpLayerAndJson) {
  install("core");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "here/include/tensorstat/dump.hpp"));
  const Ran search = find("core", "-DCMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON");
  ASSERT_EQ(search.exit, 0) << search.err;
  build();
  EXPECT_EQ(said(folder_, "consumer/uses_core"), "7.5\n");

  const Ran missing = find("dump");
  EXPECT_NE(missing.exit, 0);
  EXPECT_TRUE(holds(missing.err, "no component \"dump\"")) << missing.err;
}

TEST_F(InstalledPackage, TheDumpLayerComesBesideItAndBothByOneName) {
  install("core");
  install("dump");
  const Ran search = find("core;dump");
  ASSERT_EQ(search.exit, 0) << search.err;
  build();
  EXPECT_TRUE(holds(said(folder_, "consumer/uses_dump"), "common_dump_settings"));
  const Ran everything = find("");
  ASSERT_EQ(everything.exit, 0) << everything.err;
  build();
  EXPECT_TRUE(holds(said(folder_, "consumer/uses_everything"), "common_dump_settings"));
}

TEST_F(InstalledPackage, TheCLibraryStandsAloneAndIsFoundByPkgConfigToo) {
  install("core");  // find_package reads its file
  install("c_core");
  install("c");
  install("c_dev");
  const Ran search = find("c", "-DCMAKE_DISABLE_FIND_PACKAGE_OpenCL=ON -DCMAKE_DISABLE_FIND_PACKAGE_OpenSSL=ON");
  ASSERT_EQ(search.exit, 0) << search.err;
  build();
  EXPECT_EQ(said(folder_, "consumer/uses_c"), "float32\n");
  const std::string pc = content_of(folder_ / ("here/" + built::libdir() + "/pkgconfig/tensorstat.pc"));
  EXPECT_TRUE(holds(pc, "-ltensorstat")) << pc;
  EXPECT_FALSE(holds(pc, built::build_dir())) << pc;
}

TEST_F(InstalledPackage, TheCoreInCNeedsNoOtherLibraryOfTheProject) {
  install("core");  // find_package reads its file
  install("c_core");
  install("c_dev");
  const Ran search = find("c_core", "-DCMAKE_DISABLE_FIND_PACKAGE_ZLIB=ON");
  ASSERT_EQ(search.exit, 0) << search.err;
  build();
  EXPECT_EQ(said(folder_, "consumer/uses_c_core"), "98\n");
  EXPECT_FALSE(std::filesystem::exists(folder_ / ("here/" + built::libdir() + "/libtensorstat.so." + built::major())));
}

TEST_F(InstalledPackage, ThePythonPackageFindsTheCLibraryWhereverBothAre) {
  install("c_core");
  install("c");
  install("python");
  std::filesystem::rename(folder_ / "here", folder_ / "there");
  const std::string command = "PYTHONPATH='" + (folder_ / ("there/" + built::python_dir())) +
                              "' /usr/bin/python3 -c 'import tensorstat; print(tensorstat.measure(b\"ab\").max)' >'" +
                              (folder_ / "said") + "' 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(content_of(folder_ / "said"), "98\n");
}

// As a subproject, tensorstat builds only the libraries and the core's helper program, and installs nothing.
TEST(Subproject, BuildsTheLibrariesAndInstallsNothing) {
  ScratchFolder folder;
  const Ran configured =
      run_cmake(folder, configure("build", "-DSUBPROJECT='" + built::source_dir() + "' -DPARTS='core;dump'"));
  ASSERT_EQ(configured.exit, 0) << configured.err;
  const std::string targets = run_cmake(folder, "--build build --target help").out;
  for (const char* built : {"tensorstat_core", "tensorstat_dump", "tensorstat_preflight"}) {
    EXPECT_TRUE(holds(targets, built)) << built << "\n" << targets;
  }
  for (const char* left_out : {"tensorstat_command", "gpu_bench", "_test"}) {
    EXPECT_FALSE(holds(targets, left_out)) << left_out;
  }
  const std::string script = content_of(folder / "build/tensorstat/cmake_install.cmake");
  EXPECT_FALSE(script.empty());
  EXPECT_FALSE(holds(script, "file(INSTALL")) << script;
  if (!samples::full()) return;  // a second build of the library takes minutes

  const Ran built = run_cmake(folder, "--build build");
  ASSERT_EQ(built.exit, 0) << built.out << built.err;
  EXPECT_EQ(said(folder, "build/uses_core"), "7.5\n");
}

TEST(Subproject, TheCoreAloneAsksForNoJson) {
  ScratchFolder folder;
  const Ran configured = run_cmake(folder, configure("build", "-DSUBPROJECT='" + built::source_dir() +
                                                                  "' -DPARTS=core -DTENSORSTAT_DUMP=OFF "
                                                                  "-DCMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON"));
  ASSERT_EQ(configured.exit, 0) << configured.err;
  EXPECT_FALSE(holds(run_cmake(folder, "--build build --target help").out, "tensorstat_dump"));
}

}  // namespace package_test
}  // namespace tensorstat
