// An installation can be moved, and its command can be called by any name. It still finds its helper program and
// libraries. Nothing in it contains the folder that it was built in.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/support/built.hpp"
#include "tests/support/npy_files.hpp"
#include "tests/support/samples.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tensorstat {
namespace moved_installation_test {

namespace fs = std::filesystem;

class MovedInstallation : public testing::Test {
 protected:
  MovedInstallation() {
    test::write_file(folder_ / "x.npy", test::npy("{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }", "abc"));
    fs::create_directory(folder_ / "elsewhere");
  }

  // Returns the exit code; the output is in `said_`.
  int run(const std::string& command) {
    const int status = std::system(("cd '" + (folder_ / "elsewhere") + "' && " + command + " >../said 2>&1").c_str());
    said_ = content_of(folder_ / "said");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  void install_and_move(const std::string& build) {
    for (const char* component : {"core", "dump", "helper", "command"}) {
      ASSERT_EQ(run(built::cmake() + " --install '" + build + "' --prefix '" + (folder_ / "first") + "' --component " +
                    component),
                0)
          << said_;
    }
    fs::rename(folder_ / "first", folder_ / "second");
  }

  // Calls the command directly, and by links to it and to its folder.
  void expect_measures_by_every_name() {
    const std::string folder = folder_ / ("second/" + built::bin()), command = folder + "/tensorstat";
    fs::create_symlink(command, folder_ / "elsewhere/link");
    fs::create_directory_symlink(folder_ / "second", folder_ / "elsewhere/current");
    for (const std::string& call :
         {command, "../second/" + built::bin() + "/tensorstat", folder_ / "elsewhere/link", std::string("./link"),
          "./current/" + built::bin() + "/tensorstat", "env PATH='" + folder + "':\"$PATH\" tensorstat"}) {
      EXPECT_EQ(run("env -u TENSORSTAT_PREFLIGHT -u LD_LIBRARY_PATH " + call + " ../x.npy --on device --explain"), 0)
          << call << ": " << said_;
      EXPECT_PRED_FORMAT2(testing::IsSubstring, "opencl: asked for", said_) << call;
    }
  }

  const ScratchFolder folder_{folder_of_this_program()};
  std::string said_;
};

TEST_F(MovedInstallation, FindsItsHelperByWhateverNameItIsCalled) {
  install_and_move(built::build_dir());
  if (HasFatalFailure()) return;
  expect_measures_by_every_name();
  // The helper that ran is the installation's own.
  const fs::path helper = folder_ / ("second/" + built::libexec() + "/tensorstat/tensorstat-preflight");
  EXPECT_TRUE(fs::remove(helper));
  EXPECT_EQ(run("env -u TENSORSTAT_PREFLIGHT ../second/" + built::bin() + "/tensorstat ../x.npy --on device"), 4);
  EXPECT_PRED_FORMAT2(testing::IsSubstring, helper.string() + " cannot be opened: No such file", said_);
}

TEST_F(MovedInstallation, FindsItsSharedLibraries) {
  if (!samples::full()) GTEST_SKIP() << "builds the library again, which takes minutes";
  const std::string build = folder_ / "build";
  ASSERT_EQ(run(built::cmake() + " -S '" + built::source_dir() + "' -B '" + build + "' -G '" + built::generator() +
                "' -DCMAKE_CXX_COMPILER='" + built::compiler() + "' -DCMAKE_CXX_FLAGS='" + built::flags() +
                "' -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON"),
            0)
      << said_;
  ASSERT_EQ(run(built::cmake() + " --build '" + build +
                "' --target tensorstat_command tensorstat_preflight tensorstat_pages"),
            0)
      << said_;
  const std::string built = "'" + build + "/" + built::bin() + "/tensorstat' ../x.npy --on device";
  EXPECT_EQ(run(built), 0) << said_;
  install_and_move(build);
  if (HasFatalFailure()) return;
  fs::remove_all(build);
  expect_measures_by_every_name();
}

TEST_F(MovedInstallation, NamesNoFolderOfTheBuild) {
  if (kSanitized || built::build_type() != "Release") GTEST_SKIP() << "what a debugger reads names them";
  install_and_move(built::build_dir());
  if (HasFatalFailure()) return;
  int files = 0;
  for (const auto& each : fs::recursive_directory_iterator(folder_ / "second")) {
    if (!each.is_regular_file()) continue;
    ++files;
    EXPECT_EQ(content_of(each.path()).find(built::build_dir()), std::string::npos) << each.path();
  }
  EXPECT_GT(files, 10);
}

}  // namespace moved_installation_test
}  // namespace tensorstat
