// pip makes a wheel of the Python package, for every Python from 3.11 on. Installed in a bare environment, it needs no
// other file of this project.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/support/built.hpp"
#include "tests/support/npy_files.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tensorstat {
namespace wheel_test {

namespace fs = std::filesystem;

TEST(Wheel, IsInstalledInABareEnvironmentAndNeedsNothingElse) {
  if (kSanitized) GTEST_SKIP() << "no wheel is made of a sanitized build";
  const ScratchFolder folder{folder_of_this_program()};  // nobody else can write here, so the helper is trusted
  std::string said;
  const auto run = [&](const std::string& command) {
    const int status = std::system(("cd '" + folder.path() + "' && (" + command + ") >said 2>&1").c_str());
    said = content_of(folder / "said");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  const std::string python = "/usr/bin/python3 ";
  if (run(python + "-c 'import setuptools, wheel, pip'") != 0) GTEST_SKIP() << said;
  ASSERT_EQ(run("TENSORSTAT_BUILD='" + built::build_dir() + "' " + python +
                "-m pip wheel --no-build-isolation --no-deps --no-index -w wheels '" + built::source_dir() +
                "/stats/python'"),
            0)
      << said;
  for (const auto& each : fs::directory_iterator(built::source_dir() + "/stats/python")) {
    const std::string name = each.path().filename();
    EXPECT_TRUE(name != "build" && !name.ends_with(".egg-info")) << each.path() << " is left among the sources";
  }
  ASSERT_EQ(run("ls wheels"), 0);
  EXPECT_TRUE(said.starts_with("tensorstat-" + built::version() + "-cp311-abi3-linux_") && said.ends_with(".whl\n"))
      << said;

  ASSERT_EQ(run(python + "-m venv --without-pip here"), 0) << said;
  ASSERT_EQ(run(python + "-m pip --python here/bin/python install --no-index wheels/*.whl"), 0) << said;
  ASSERT_EQ(run("env -i here/bin/python '" + built::source_dir() + "/stats/examples/measure.py'"), 0) << said;
  EXPECT_EQ(said.substr(0, 10), "nan nan 1\n") << said;
  // The library is the one inside, and it finds its helper, which a device needs.
  test::write_file(folder / "program.py", R"(
import tensorstat
try:
    tensorstat.measure(b'abc', 'max', on='device')
except tensorstat.Error as fault:  # of a machine without a device
    print(fault)
print(open('/proc/self/maps').read())
)");
  ASSERT_EQ(run("env -i HOME=. PATH=/usr/bin:/bin here/bin/python program.py"), 0) << said;
  EXPECT_NE(said.find(folder / "here/lib/python3"), said.npos) << said;
  EXPECT_EQ(said.find(built::build_dir() + "/" + built::libdir() + "/libtensorstat.so"), said.npos) << said;
  EXPECT_EQ(said.find("cannot be used"), said.npos) << said;
}

}  // namespace wheel_test
}  // namespace tensorstat
