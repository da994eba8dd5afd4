// The search for devices restores the signal handlers that the driver replaced. It keeps those that the application
// installs meanwhile, during a trial or during a call of the driver.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <tensorstat/meter.hpp>
#include <thread>

#include "kernels-cl/driver/signal_guard.hpp"
#include "tests/support/npy_files.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tensorstat {
namespace signal_handlers_test {

void of_the_application(int) {}

// pocl replaces these two, among others.
constexpr int kInstalled = SIGTERM, kIgnored = SIGFPE;

void install() { std::signal(kInstalled, of_the_application); }

std::string changed_since(const std::array<void (*)(int), NSIG>& before) {
  std::string changed;
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction now {};
    if (sigaction(signal, nullptr, &now) != 0) continue;
    if (now.sa_handler != before[static_cast<std::size_t>(signal)]) changed += std::to_string(signal) + " ";
  }
  return changed;
}

std::array<void (*)(int), NSIG> handlers() {
  std::array<void (*)(int), NSIG> all{};
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction now {};
    if (sigaction(signal, nullptr, &now) == 0) all[static_cast<std::size_t>(signal)] = now.sa_handler;
  }
  return all;
}

// Ends the process, with success if exactly the expected signals have changed.
[[noreturn]] void end(const std::string& changed, const std::string& expected) {
  std::fprintf(stderr, "changed: %s", changed.c_str());
  std::fflush(stderr);
  _exit(changed == expected ? 0 : 1);
}

[[noreturn]] void search_after_the_application_has_loaded_the_driver() {
  cl_uint platforms = 0;
  clGetPlatformIDs(0, nullptr, &platforms);
  const auto before = handlers();
  setenv("TENSORSTAT_PREFLIGHT", "0", 1);
  const bool has_device = !list_devices().empty();
  end(has_device ? changed_since(before) : "no device", "");
}

[[noreturn]] void install_during_a_call_of_the_driver() {
  const auto before = handlers();
  cl_uint platforms = 0, devices = 0;
  cl_platform_id platform = nullptr;
  clGetPlatformIDs(1, &platform, &platforms);
  {
    const cl_engine::SignalGuard guard(platform);
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &devices);
    if (changed_since(before).empty()) end("the driver replaces no handler", "");
    install();
  }
  end(changed_since(before), std::to_string(kInstalled) + " ");
}

[[noreturn]] void install_during_a_trial(const ScratchFolder& folder) {
  // Makes no trial: waits until the handler is installed.
  const std::string program =
      test::write_file(folder / "program", "#!/bin/sh\n: >'" + (folder / "started") + "'\n: <'" + (folder / "go-on") +
                                               "'\nprintf 'tensorstat-preflight: passed\\n'\n");
  chmod(program.c_str(), 0700);
  for (const char* pipe : {"started", "go-on"}) mkfifo((folder / pipe).c_str(), 0600);
  setenv("TENSORSTAT_PREFLIGHT", program.c_str(), 1);
  std::signal(kIgnored, SIG_IGN);
  const auto before = handlers();
  std::thread application([&] {
    close(open((folder / "started").c_str(), O_RDONLY));
    install();
    close(open((folder / "go-on").c_str(), O_WRONLY));
  });
  const bool has_device = !list_devices().empty();
  application.join();
  std::filesystem::remove_all(folder.path());  // `end` exits without destructors
  end(has_device ? changed_since(before) : "no device", std::to_string(kInstalled) + " ");
}

// Each test in a process of its own: pocl installs its handlers once per process.
class SignalHandlers : public testing::Test {
 protected:
  SignalHandlers() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
  const testing::ExitedWithCode well_{0};
};

TEST_F(SignalHandlers, OfADriverThatTheApplicationHasLoadedArePutBack) {
  EXPECT_EXIT(search_after_the_application_has_loaded_the_driver(), well_, "");
}

TEST_F(SignalHandlers, OfTheApplicationDuringACallOfTheDriverStay) {
  EXPECT_EXIT(install_during_a_call_of_the_driver(), well_, "");
}

TEST_F(SignalHandlers, OfTheApplicationDuringATrialStay) {
  const ScratchFolder folder(folder_of_this_program());
  EXPECT_EXIT(install_during_a_trial(folder), well_, "");
}

}  // namespace signal_handlers_test
}  // namespace tensorstat
