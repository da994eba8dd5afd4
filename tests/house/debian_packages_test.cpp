// cpack's packages of this build are complete. dpkg installs them below a root of their own; the command, the C
// library, Python and every example run from there; removing the packages leaves nothing behind. The full test also
// installs them in a minimal Debian. The target `uninstall` removes what `cmake --install` installed.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>

#include "tests/support/built.hpp"
#include "tests/support/npy_files.hpp"
#include "tests/support/samples.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tensorstat {
namespace debian_packages_test {

namespace fs = std::filesystem;

const std::string kPackages[] = {"tensorstat", "libtensorstat-core" + built::major(), "libtensorstat" + built::major(),
                                 "libtensorstat-dev", "python3-tensorstat"};

bool has(const std::string& program) {
  return std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
}

class DebianPackages : public testing::Test {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "no package is made of a sanitized build";
    for (const char* program : {"dpkg", "dpkg-deb", "dpkg-shlibdeps"}) {
      if (!has(program)) GTEST_SKIP() << "there is no " << program << " here";
    }
    static const ScratchFolder packages;  // made once
    if (fs::is_empty(packages.path())) {
      ASSERT_EQ(run("'" + built::cpack() + "' --config '" + built::build_dir() + "/CPackConfig.cmake' -B '" +
                    folder_.path() + "/work' -D CPACK_OUTPUT_FILE_PREFIX='" + packages.path() + "'"),
                0)
          << said_;
    }
    fs::copy(packages.path(), folder_ / "packages");
    test::write_file(folder_ / "x.npy", test::npy("{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }", "abc"));
  }

  // Returns the exit status; the output is in `said_`.
  int run(const std::string& command) {
    const int status = std::system(("cd '" + folder_.path() + "' && (" + command + ") >said 2>&1").c_str());
    said_ = content_of(folder_ / "said");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string printed(const std::string& command) { return run(command) == 0 ? said_ : "failed: " + said_; }

  // dpkg for the root. Maintainer scripts run outside of the root, because it has no shell. They must not call the
  // machine's ldconfig, so `programs` has one that does nothing.
  std::string dpkg() const {
    return "PATH='" + (folder_ / "programs") + "':\"$PATH\" dpkg --root='" + root_ +
           "' --force-depends --force-script-chrootless ";
  }
  void make_root() {
    fs::create_directories(root_ + "/var/lib/dpkg/updates");
    fs::create_directories(root_ + "/var/lib/dpkg/info");
    std::ofstream(root_ + "/var/lib/dpkg/status");
    fs::create_directories(folder_ / "programs");
    std::ofstream(folder_ / "programs/ldconfig") << "#!/bin/sh\n";
    fs::permissions(folder_ / "programs/ldconfig", fs::perms::all);
  }
  // The files below the root, except dpkg's records.
  std::set<std::string> left_in_root() const {
    std::set<std::string> left;
    for (const auto& each : fs::recursive_directory_iterator(root_)) {
      if (!each.is_directory() && each.path().string().find("/var/") == std::string::npos) left.insert(each.path());
    }
    return left;
  }

  const ScratchFolder folder_{folder_of_this_program()};  // nobody else can write here, so the helper is trusted
  const std::string root_ = folder_ / "root";
  std::string said_;
};

TEST_F(DebianPackages, SayWhatTheyNeedAndUnderWhichLicense) {
  for (const std::string& name : kPackages) {
    const std::string deb = "packages/" + name + "_" + built::version() + "_*.deb";
    EXPECT_NE(printed("dpkg-deb -c " + deb).find("/usr/share/doc/" + std::string(name) + "/copyright"),
              std::string::npos);
    // This machine's dpkg knows all other packages, because the build used them.
    std::istringstream depends(printed("dpkg-deb -f " + deb + " Depends"));
    int others = 0;
    for (std::string each; std::getline(depends, each, ',');) {
      const std::string first = each.substr(each.find_first_not_of(' '));
      const std::string package = first.substr(0, first.find_first_of(" (|\n"));
      if (package.find("tensorstat") != std::string::npos) {
        EXPECT_NE(each.find("(= " + built::version() + ")"), std::string::npos) << each;
        continue;
      }
      ++others;
      EXPECT_EQ(run("dpkg-query -W '" + package + "'"), 0) << name << " needs " << each << said_;
    }
    EXPECT_GT(others, 0) << name;
  }
  const std::string library = "libtensorstat" + built::major(), core = "libtensorstat-core" + built::major();
  const std::string needs_of_core = printed("dpkg-deb -f packages/" + core + "_*.deb Depends");
  for (const char* each : {"libc6 (>=", "libssl3", "ocl-icd-libopencl1"}) {
    EXPECT_PRED_FORMAT2(testing::IsSubstring, each, needs_of_core);
  }
  for (const char* each : {"zlib1g", "libsqlite3-0"}) {
    EXPECT_PRED_FORMAT2(testing::IsNotSubstring, each, needs_of_core);
    EXPECT_PRED_FORMAT2(testing::IsSubstring, each, printed("dpkg-deb -f packages/" + library + "_*.deb Depends"));
  }
  if (fs::exists("/etc/debian_version")) {
    EXPECT_EQ(run("dpkg-deb -c packages/" + library +
                  "_*.deb | grep -q \"/usr/lib/$(cc -print-multiarch)/libtensorstat.so." + built::major() + "\""),
              0)
        << "the library lies in the folder of its architecture: "
        << printed("dpkg-deb -c packages/" + library + "_*.deb");
  }
  const std::string command = printed("dpkg-deb -c packages/tensorstat_*.deb");
  for (const char* each : {"/tensorstat/libtensorstat-layer.so\n", "/man1/tensorstat-attach.1.gz\n"}) {
    EXPECT_PRED_FORMAT2(testing::IsSubstring, each, command);
  }
  for (const std::string name : {"libtensorstat", "libtensorstat-core"}) {
    const std::string package = name + built::major();
    EXPECT_EQ(printed("dpkg-deb -I packages/" + package + "_*.deb shlibs"),
              name + " " + built::major() + " " + package + " (>= " + built::version() + ")\n");
  }
}

TEST_F(DebianPackages, AreCleanUnderLintian) {
  if (!samples::full() || !has("lintian")) GTEST_SKIP() << "half a minute, and wants lintian";
  EXPECT_EQ(run("lintian --allow-root --fail-on error,warning packages/*.deb"), 0) << said_;
}

TEST_F(DebianPackages, AreInstalledAndRemovedWithoutATrace) {
  if (::geteuid() != 0) GTEST_SKIP() << "dpkg gives files to root: this wants root";
  make_root();
  ASSERT_EQ(run(dpkg() + "-i packages/*.deb"), 0) << said_;
  const std::string usr = root_ + "/usr", libraries = usr + "/" + built::libdir();
  EXPECT_GT(left_in_root().size(), 40u);

  EXPECT_EQ(run("env -u TENSORSTAT_PREFLIGHT '" + usr + "/bin/tensorstat' x.npy --format ndjson"), 0) << said_;
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "\"max\":99", said_);
  EXPECT_EQ(run("env -u TENSORSTAT_PREFLIGHT '" + usr + "/bin/tensorstat' devices"), 0) << said_;
  // the helper was found: no message about it
  EXPECT_EQ(said_.find("tensorstat-preflight"), std::string::npos) << said_;

  // Builds every example against the installed files.
  ASSERT_EQ(run("'" + built::cmake() + "' -S '" + built::source_dir() + "/stats/examples' -B examples -G '" +
                built::generator() + "' -DCMAKE_CXX_COMPILER='" + built::compiler() + "' -DCMAKE_PREFIX_PATH='" + usr +
                "' && '" + built::cmake() + "' --build examples"),
            0)
      << said_;
  EXPECT_PRED_FORMAT2(testing::IsSubstring, usr, content_of(folder_ / "examples/CMakeCache.txt"));
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "max: nan\n", printed("examples/example_measure_c"));
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "avg 1e+308", printed("examples/example_measure"));
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "nan count 0\n", printed("examples/example_two_ranks"));
  EXPECT_PRED_FORMAT2(testing::IsNotSubstring, "failed", printed("examples/example_callers_queue"));
  const ScratchFolder dump;  // a config's path may not contain a dot
  std::string config = content_of(built::source_dir() + "/stats/examples/data_dump.json");
  const std::string path = "/tmp/tensorstat_example";
  config.replace(config.find(path), path.size(), dump.path());
  std::ofstream(folder_ / "data_dump.json") << config;
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "4 rows\n", printed("examples/example_dump_backend data_dump.json"));
  // A backend uses the device: the helper is the packages' own.
  const std::string on_device = "env -u TENSORSTAT_PREFLIGHT ./";
  ASSERT_EQ(run("'" + built::cmake() + "' -S '" + built::source_dir() + "/tests/house/consumer' -B consumer -G '" +
                built::generator() + "' -DCMAKE_CXX_COMPILER='" + built::compiler() + "' -DCMAKE_PREFIX_PATH='" + usr +
                "' -DON_DEVICE=ON -DPARTS=core && '" + built::cmake() + "' --build consumer --target on_device"),
            0)
      << said_;
  EXPECT_PRED_FORMAT2(testing::IsSubstring, " 0 on the host, 0 fallen back",
                      printed(on_device + "consumer/on_device d1"));
  if (has("pkg-config")) {
    ASSERT_EQ(run("export PKG_CONFIG_PATH='" + libraries + "/pkgconfig' && '" + built::compiler() +
                  "' -std=c++20 -o on_device '" + built::source_dir() +
                  "/tests/house/consumer/on_device.cpp' $(pkg-config --cflags --libs tensorstat-cpp OpenCL)"),
              0)
        << said_;
    EXPECT_PRED_FORMAT2(testing::IsSubstring, " 0 on the host, 0 fallen back", printed(on_device + "on_device d2"));
    EXPECT_EQ(
        run("export PKG_CONFIG_PATH='" + libraries + "/pkgconfig' && cc -o by_pkg_config '" + built::source_dir() +
            "/stats/examples/measure.c' $(pkg-config --cflags --libs tensorstat) && LD_LIBRARY_PATH='" + libraries +
            "' ./by_pkg_config"),
        0)
        << said_;
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "nan count: 1\n", said_);
    EXPECT_EQ(run("export PKG_CONFIG_PATH='" + libraries + "/pkgconfig' && '" + built::compiler() +
                  "' -std=c++20 -o cpp_by_pkg_config '" + built::source_dir() +
                  "/stats/examples/measure.cpp' $(pkg-config --cflags --libs tensorstat-cpp) && ./cpp_by_pkg_config"),
              0)
        << said_;
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "avg 1e+308", said_);
  }

  // Python finds the root's library by the link beside its modules, and leaves its compiled files.
  EXPECT_EQ(
      printed("env -u PYTHONDONTWRITEBYTECODE PYTHONPATH='" + usr + "/lib/python3/dist-packages' /usr/bin/python3 '" +
              built::source_dir() + "/stats/examples/measure.py'")
          .substr(0, 10),
      "nan nan 1\n")
      << said_;
  EXPECT_TRUE(fs::exists(usr + "/lib/python3/dist-packages/tensorstat/__pycache__"));

  std::string names;
  for (const std::string& name : kPackages) names.append(name).append(" ");
  ASSERT_EQ(run(dpkg() + "--purge " + names), 0) << said_;
  EXPECT_EQ(left_in_root(), std::set<std::string>());
}

TEST_F(DebianPackages, AreAllThatABareDebianNeeds) {
  if (!samples::full()) GTEST_SKIP() << "fetches a Debian, which takes minutes";
  if (::geteuid() != 0 || !has("debootstrap")) GTEST_SKIP() << "wants root and debootstrap";
  if (run("debootstrap --variant=minbase bookworm '" + root_ + "'") != 0)
    GTEST_SKIP() << "no Debian to be had: " << said_;
  const std::string in_root = "chroot '" + root_ + "' env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 ";
  const std::string installed = "find '" + root_ + "/usr' '" + root_ + "/etc' -name '*tensorstat*' | sort";
  fs::copy(folder_ / "packages", root_ + "/packages");
  fs::copy(folder_ / "x.npy", root_ + "/x.npy");
  fs::copy(built::source_dir() + "/stats/examples/measure.py", root_ + "/measure.py");
  ASSERT_EQ(run("rm '" + root_ + "'/packages/libtensorstat-dev*; " + in_root + "apt-get update -q && " + in_root +
                "sh -c 'apt-get install -q -y --no-install-recommends /packages/*.deb'"),
            0)
      << said_;
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "\"max\":99", printed(in_root + "tensorstat /x.npy --format ndjson"));
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "nan nan 1\n", printed(in_root + "python3 /measure.py"));
  ASSERT_EQ(run(in_root + "apt-get purge -q -y tensorstat libtensorstat" + built::major() + " libtensorstat-core" +
                built::major() + " python3-tensorstat"),
            0)
      << said_;
  EXPECT_EQ(printed(installed), "");
}

TEST(Uninstall, TakesAwayWhatWasInstalled) {
  const ScratchFolder folder;
  const auto run = [&](const std::string& command) {
    return std::system(("(" + command + ") >'" + (folder / "said") + "' 2>&1").c_str());
  };
  // Keep the manifest for the end: the build folder belongs to other tests, too.
  ASSERT_EQ(run("'" + built::cmake() + "' --install '" + built::build_dir() + "' --prefix '" + (folder / "here") + "'"),
            0)
      << content_of(folder / "said");
  fs::copy(built::build_dir() + "/install_manifest.txt", folder / "install_manifest.txt");  // /tmp may be another disk
  fs::remove(built::build_dir() + "/install_manifest.txt");
  ASSERT_TRUE(fs::exists(folder / ("here/" + built::libdir() + "/libtensorstat.so")));
  std::ofstream(folder / "here/bin/another") << "program";
  ASSERT_EQ(run("'" + built::cmake() + "' -DBUILD_DIR='" + folder.path() + "' -P '" + built::source_dir() +
                "/stats/packaging/uninstall.cmake'"),
            0)
      << content_of(folder / "said");
  std::set<std::string> left;
  for (const auto& each : fs::recursive_directory_iterator(folder / "here")) {
    if (!each.is_directory()) left.insert(each.path().filename());
    EXPECT_EQ(each.path().filename().string().find("tensorstat"), std::string::npos) << each.path();
  }
  EXPECT_EQ(left, std::set<std::string>{"another"});
  EXPECT_NE(run("'" + built::cmake() + "' -DBUILD_DIR='" + folder.path() + "' -P '" + built::source_dir() +
                "/stats/packaging/uninstall.cmake'"),
            0);
}

}  // namespace debian_packages_test
}  // namespace tensorstat
