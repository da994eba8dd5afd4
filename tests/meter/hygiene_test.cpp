// Using the device does not change the process's signal handlers, floating-point environment, locale, working directory
// or umask.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cfenv>
#include <clocale>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <tensorstat/meter.hpp>
#include <vector>

#include "tests/support/float_control.hpp"

namespace tensorstat {
namespace hygiene_test {

struct Process {
  std::array<struct sigaction, NSIG> signals;
  int rounding, umask;
  std::uint64_t control = 0;
  std::string locale, folder;

  Process()
      : rounding(fegetround()),
        umask(0),
        locale(setlocale(LC_ALL, nullptr)),
        folder(std::filesystem::current_path().string()) {
    std::memset(signals.data(), 0, sizeof signals);
    for (int signal = 1; signal < NSIG; ++signal)
      sigaction(signal, nullptr, &signals[static_cast<std::size_t>(signal)]);
    umask = static_cast<int>(::umask(0));
    ::umask(static_cast<mode_t>(umask));
    control = test::float_control();
  }
};

void expect_same(const Process& before, const Process& after) {
  std::string changed;
  for (std::size_t signal = 1; signal < NSIG; ++signal) {
    const auto &a = before.signals[signal], &b = after.signals[signal];
    constexpr int kRestorer = 0x04000000;  // glibc sets this flag on every handler it installs
    if (a.sa_handler != b.sa_handler || (a.sa_flags | kRestorer) != (b.sa_flags | kRestorer))
      changed += std::to_string(signal) + " ";
  }
  EXPECT_EQ(before.signals.size() - 1, 64u);
  EXPECT_EQ(changed, "") << "signal dispositions";
  EXPECT_EQ(before.rounding, after.rounding);
  EXPECT_EQ(before.control, after.control);
  EXPECT_EQ(before.locale, after.locale);
  EXPECT_EQ(before.folder, after.folder);
  EXPECT_EQ(before.umask, after.umask);
}

void on_fault(int) {}

TEST(Hygiene, TheDeviceLeavesTheProcessAsItWas) {
  if (std::getenv("TENSORSTAT_NO_DEVICE") != nullptr) GTEST_SKIP() << "this machine has no OpenCL device";
  std::signal(SIGUSR1, SIG_IGN);
  std::signal(SIGFPE, on_fault);  // pocl would replace this handler
  std::fesetround(FE_UPWARD);
  const Process before;
  {
    Meter meter;
    const std::vector<float> values(300'000, 0.1f);
    const Tensor tensor{.dtype = Dtype::kFloat32, .element_count = values.size(), .address = values.data()};
    const auto result = meter.measure({&tensor, 1}, {.categories = all_categories(), .on = On::kDevice});
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ((*result)[0].placement[0].engine, "opencl");
    EXPECT_FALSE(list_devices().empty());
    expect_same(before, Process());
  }
  expect_same(before, Process());
  std::fesetround(FE_TONEAREST);
}

}  // namespace hygiene_test
}  // namespace tensorstat
