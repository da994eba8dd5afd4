// pip makes a wheel of the Python package, for every Python from 3.11 on and every Linux of the same glibc. Installed
// in a bare environment, it needs no other file of this project, and of the system's libraries only libc and zlib. The
// command comes in it.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

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
  std::string output;
  const auto run = [&](const std::string& command) {
    const int status = std::system(("cd '" + folder.path() + "' && (" + command + ") >said 2>&1").c_str());
    output = content_of(folder / "said");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  const std::string python = "/usr/bin/python3 ";
  if (run(python + "-c 'import setuptools, wheel, pip'") != 0) GTEST_SKIP() << output;
  ASSERT_EQ(run("TENSORSTAT_BUILD='" + built::build_dir() + "' " + python +
                "-m pip wheel --no-build-isolation --no-deps --no-index -w wheels '" + built::source_dir() +
                "/stats/bindings/python'"),
            0)
      << output;
  for (const auto& each : fs::directory_iterator(built::source_dir() + "/stats/bindings/python")) {
    const std::string name = each.path().filename();
    EXPECT_TRUE(name != "build" && !name.ends_with(".egg-info")) << each.path() << " is left among the sources";
  }
  ASSERT_EQ(run("ls wheels"), 0);
  EXPECT_TRUE(output.starts_with("tensorstat-" + built::version() + "-cp311-abi3-manylinux_2_") &&
              output.ends_with(".whl\n"))
      << output;

  ASSERT_EQ(run(python + "-m venv --without-pip here"), 0) << output;
  ASSERT_EQ(run(python + "-m pip --python here/bin/python install --no-index wheels/*.whl"), 0) << output;
  ASSERT_EQ(run("env -i here/bin/python '" + built::source_dir() + "/stats/examples/measure.py'"), 0) << output;
  EXPECT_EQ(output.substr(0, 10), "nan nan 1\n") << output;
  // The library is the one inside, and it finds its helper, which a device needs.
  test::write_file(folder / "program.py", R"(
import tensorstat
try:
    tensorstat.measure(b'abc', 'max', on='device')
except tensorstat.Error as fault:  # of a machine without a device
    print(fault)
print(open('/proc/self/maps').read())
)");
  ASSERT_EQ(run("env -i HOME=. PATH=/usr/bin:/bin here/bin/python program.py"), 0) << output;
  EXPECT_NE(output.find(folder / "here/lib/python3"), output.npos) << output;
  EXPECT_EQ(output.find(built::build_dir() + "/" + built::libdir() + "/libtensorstat.so"), output.npos) << output;
  EXPECT_EQ(output.find("cannot be used"), output.npos) << output;
  EXPECT_EQ(output.find("is not found"), output.npos) << output;

  // The command of the environment, with its helper.
  test::write_file(folder / "x.npy", test::npy("{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }", "abc"));
  for (const char* command : {"tensorstat", "python -m tensorstat"}) {
    ASSERT_EQ(
        run("env -i HOME=. PATH=\"$PWD/here/bin:/usr/bin:/bin\" " + std::string(command) + " x.npy --format ndjson"), 0)
        << output;
    EXPECT_NE(output.find("\"max\":99"), output.npos) << output;
  }
  ASSERT_EQ(run("env -i HOME=. here/bin/tensorstat devices"), 0) << output;
  EXPECT_EQ(output.find("tensorstat-preflight"), output.npos) << output;

  // A machine without OpenCL's loader, SQLite, libyaml and libstdc++: what they are not needed for works, and what they
  // are needed for says so.
  if (geteuid() != 0 || std::system("unshare -m true 2>/dev/null") != 0)
    GTEST_SKIP() << "wants root, to hide libraries";
  test::write_file(folder / "hidden", R"(
touch empty
for each in libOpenCL.so.1 libsqlite3.so.0 libyaml-0.so.2 libstdc++.so.6; do
  for file in $(ldconfig -p | sed -n "s|.*$each .* => ||p"); do mount --bind empty "$file" || exit 9; done
done
exec "$@"
)");
  const std::string hidden = "env -i HOME=. PATH=\"$PWD/here/bin:/usr/sbin:/usr/bin:/bin\" unshare -m sh ./hidden ";
  ASSERT_EQ(run(hidden + "python '" + built::source_dir() + "/stats/examples/measure.py'"), 0) << output;
  EXPECT_EQ(output.substr(0, 10), "nan nan 1\n") << output;
  ASSERT_EQ(run(hidden + "tensorstat x.npy --format ndjson"), 0) << output;
  ASSERT_EQ(run(hidden + "tensorstat devices"), 0) << output;
  EXPECT_NE(output.find("ocl-icd-libopencl1"), output.npos) << output;
  test::write_file(folder / "statistic.csv", "Op Type\n");
  EXPECT_NE(run(hidden + "tensorstat store add runs.db ."), 0) << output;
  EXPECT_NE(output.find("libsqlite3-0"), output.npos) << output;
}

}  // namespace wheel_test
}  // namespace tensorstat
