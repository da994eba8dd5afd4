// A fault that kills a process that uses pocl kills the trial's process instead. The host process survives, its row has
// the same bits, and it reports why. Each fault is first shown to kill, or to be told by the driver: pocl 7 survives
// some.
#include "kernels-cl/trial/driver_trial.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kernels-cl/trial/icd_files.hpp"
#include "kernels-cl/trial/limits.hpp"
#include "kernels-cl/trial/passed_trials.hpp"
#include "tests/support/command_run.hpp"
#include "tests/support/npy_files.hpp"
#include "tests/support/sanitized.hpp"

namespace tensorstat::test {
namespace driver_trial_test {

namespace fs = std::filesystem;

constexpr std::size_t kElements = 2'000'000;  // enough for the device to be chosen if there is one

// A fault: changes the driver's files, and the way the command is run.
struct Killer {
  std::string name;
  bool warm = false;  // an earlier process has filled the caches
  std::function<void(const fs::path& cache)> damage = {};
  std::string environment = "", limits = "", wrapper = "";
  bool may_be_had = true;  // possible on this machine
};

// Cuts every file of this name to `share` of its size; with `random` its bytes become random.
std::function<void(const fs::path&)> spoil(const std::string& name, double share, bool random) {
  return [=](const fs::path& cache) {
    std::vector<fs::path> paths;
    for (const auto& each : fs::recursive_directory_iterator(cache)) {
      if (each.path().filename() == name) paths.push_back(each.path());
    }
    ASSERT_FALSE(paths.empty()) << name;
    for (const fs::path& path : paths) {
      std::string content = content_of(path.string());
      content.resize(static_cast<std::size_t>(static_cast<double>(content.size()) * share));
      std::mt19937 any(1);
      if (random) std::ranges::generate(content, [&] { return static_cast<char>(any()); });
      fs::remove(path);
      write_file(path.string(), content);
    }
  };
}

class DriverTrial : public testing::Test {
 protected:
  static constexpr const char* kMeasure = "x.npy --format csv --stats max,count --on ";

  DriverTrial() {
    setenv("TENSORSTAT_CL_AUTO", "1", 1);  // without it `auto` would not use a device that is the CPU
    std::string bytes(kElements, '\x07');
    bytes[kElements / 3] = '\x08';
    write_file(folder_ / "x.npy", npy("{'descr': '|u1', 'fortran_order': False, 'shape': (2000000,), }", bytes));
    fs::create_directory(folder_ / "disk");
  }

  // With caches in the folder `home` of the test's folder.
  std::string home(const std::string& name) { return "HOME=" + (folder_ / name) + " XDG_CACHE_HOME= "; }

  Ran measured(const std::string& where, const std::string& environment) {
    return run(folder_, kMeasure + where, environment);
  }

  // Prepares a home with the fault, and returns the environment for it.
  std::string prepared(const Killer& killer, const std::string& more = "") {
    const std::string name = "home" + std::to_string(++homes_);
    if (killer.warm) {
      fs::copy(folder_ / "warm", folder_ / name, fs::copy_options::recursive);
    } else {
      fs::create_directory(folder_ / name);
    }
    if (killer.damage) killer.damage(folder_ / (name + "/.cache/pocl"));
    return home(name) + more + killer.environment + " prlimit --core=0 " + killer.limits + " " + killer.wrapper;
  }

  std::vector<Killer> killers() {
    // Only for root: in a plain user's namespace, root's folders belong to nobody, and a program in them is not
    // trusted.
    const std::string alone = "unshare -m ";
    const std::string mount = "mount -t tmpfs none " + folder_ / "disk" + " -o ";
    const bool may_mount = geteuid() == 0 && std::system((alone + mount + "size=64k 2>/dev/null").c_str()) == 0;
    // A file system for the driver's cache that only the command sees.
    const auto disk = [&](const std::string& name, const std::string& options) {
      return Killer{.name = name,
                    .environment = "POCL_CACHE_DIR=" + folder_ / "disk",
                    .wrapper = alone + "sh -c '" + mount + options + " && exec \"$@\"' sh",
                    .may_be_had = may_mount};
    };
    return {
        {.name = "program.bc empty", .warm = true, .damage = spoil("program.bc", 0, false)},
        {.name = "program.bc cut in half", .warm = true, .damage = spoil("program.bc", 0.5, false)},
        {.name = "program.bc random", .warm = true, .damage = spoil("program.bc", 1, true)},
        {.name = "kernel empty", .warm = true, .damage = spoil("fold.so", 0, false)},
        {.name = "kernel cut in half", .warm = true, .damage = spoil("fold.so", 0.5, false)},
        {.name = "kernel random", .warm = true, .damage = spoil("fold.so", 1, true)},
        // Room for a kernel's text. With less, the driver only returns an error.
        disk("disk full", "size=128k"),
        disk("disk out of inodes", "size=4m,nr_inodes=8"),
        disk("disk that runs nothing", "size=40m,noexec"),
        {.name = "12 descriptors", .limits = "--nofile=12"},
        {.name = "20 descriptors, 7 of them in use",
         .limits = "--nofile=20",
         .wrapper = "sh -c 'exec 3<. 4<. 5<. 6<. 7<. 8<. 9<. && exec \"$@\"' sh"},
        {.name = "files of 128 KiB at most", .limits = "--fsize=131072"},
        {.name = "600 MiB of addresses", .limits = "--as=629145600", .may_be_had = !kSanitized},
        {.name = "20 MiB of data", .limits = "--data=20971520", .may_be_had = !kSanitized},
        {.name = "no linker on the path", .wrapper = "env PATH=/nowhere"},
    };
  }

  ScratchFolder folder_;
  int homes_ = 0;
};

TEST_F(DriverTrial, WhatKillsTheDriversProcessLeavesTheHostAlive) {
  const Ran host = measured("host", "");
  ASSERT_EQ(host.exit, 0) << host.err;
  fs::create_directory(folder_ / "warm");
  const Ran warm = measured("device", home("warm"));
  ASSERT_EQ(warm.exit, 0) << warm.err;
  ASSERT_EQ(warm.out, host.out);
  int survived = 0, killed = 0;
  for (const Killer& killer : killers()) {
    if (!killer.may_be_had) {
      std::printf("not had on this machine: %s\n", killer.name.c_str());
      continue;
    }
    // A driver that hangs is as bad as one that dies.
    const Ran untried = measured("auto", "timeout -k 1 120 env " + prepared(killer, "TENSORSTAT_PREFLIGHT=0 "));
    const bool is_told = untried.exit == 0 && holds(untried.err, "the OpenCL device is not used from now on");
    if (!is_told) {
      EXPECT_NE(untried.exit, 0) << killer.name << ": does not kill";
      EXPECT_NE(untried.out, host.out) << killer.name << ": does not kill";
      ++killed;
    }
    const Ran tried = measured("auto --explain", prepared(killer));
    EXPECT_EQ(tried.exit, 0) << killer.name << ": " << tried.err;
    EXPECT_EQ(tried.out, host.out) << killer.name;
    EXPECT_TRUE(holds(tried.err, "it was tried first in a process of its own")) << killer.name << ": " << tried.err;
    std::printf("%s: exit %d untried; %s\n", killer.name.c_str(), untried.exit, tried.err.c_str());
    ++survived;
  }
  EXPECT_GE(survived, kSanitized ? 6 : 8);
  EXPECT_GE(killed, kSanitized ? 3 : 5);
}

// Only a trial finds a kernel that kills its process.
TEST_F(DriverTrial, IsKeptForLaterProcessesWhereThatIsAskedFor) {
  fs::create_directory(folder_ / "warm");
  fs::copy("/etc/OpenCL/vendors", folder_ / "vendors");
  const std::string kept = home("warm") + "TENSORSTAT_PREFLIGHT=once ";
  const Ran first = measured("device", kept);
  ASSERT_EQ(first.exit, 0) << first.err;
  EXPECT_EQ(measured("device", kept).out, first.out);
  spoil("program.bc", 1, true)(folder_ / "warm/.cache/pocl");
  EXPECT_NE(measured("auto", kept + "prlimit --core=0 ").exit, 0) << "it is made again";
  const std::vector<std::pair<std::string, std::string>> others = {
      {"where nothing is kept", home("warm")},
      {"with fewer descriptors", kept + "prlimit --nofile=64 "},
      {"with smaller files", kept + "prlimit --fsize=1000000000 "},
      {"with another file of the loader", kept + "OCL_ICD_VENDORS=" + (folder_ / "vendors ")},
      {"with another setting of the driver", kept + "POCL_MAX_PTHREAD_COUNT=1 "}};
  for (const auto& [what, environment] : others) {
    const Ran tried = measured("auto --explain", environment);
    EXPECT_EQ(tried.exit, 0) << what << ": " << tried.err;
    EXPECT_EQ(tried.out, first.out) << what;
    EXPECT_TRUE(holds(tried.err, "it was tried first in a process of its own")) << what << ": " << tried.err;
  }
}

// A process of its own for the kernel would load the driver once more.
TEST_F(DriverTrial, OfTheDevicesGoesOnToTheKernel) {
  if (!cl_engine::only_pocl_is_installed()) GTEST_SKIP() << "another driver may be the one that is used";
  const ScratchFolder own(folder_of_this_program());
  const std::string helper =
      (folder_of_this_program().parent_path() / "libexec/tensorstat/tensorstat-preflight").string();
  const std::string program = write_file(
      own / "program", "#!/bin/sh\necho \"$*\" >>'" + (folder_ / "trials") + "'\nexec '" + helper + "' \"$@\"\n");
  chmod(program.c_str(), 0700);
  const std::string environment = home("warm") + "TENSORSTAT_PREFLIGHT=" + program;
  const Ran host = measured("host", "");
  for (const char* kernel : {"not on disk", "on disk"}) {
    fs::remove(folder_ / "trials");
    const Ran device = measured("device", environment);
    EXPECT_EQ(device.exit, 0) << kernel << ": " << device.err;
    EXPECT_EQ(device.out, host.out) << kernel;
    const std::string trials = content_of(folder_ / "trials");
    EXPECT_EQ(std::ranges::count(trials, '\n'), 1) << kernel << ":\n" << trials;
    EXPECT_TRUE(holds(trials, " devices uint8 ")) << kernel << ":\n" << trials;
  }
  // A fault in a kernel is reported for the kernel.
  spoil("fold.so", 1, true)(folder_ / "warm/.cache/pocl");
  const Ran spoilt = measured("device", environment + " prlimit --core=0 ");
  EXPECT_EQ(spoilt.exit, 4);
  EXPECT_TRUE(holds(spoilt.err, "running the kernel of uint8")) << spoilt.err;
}

TEST_F(DriverTrial, NobodyToMakeItMeansTheHost) {
  const Ran host = measured("host", "");
  const std::string missing = folder_of_this_program() / "missing";
  const std::string environment = home("warm") + "TENSORSTAT_PREFLIGHT=" + missing;
  const Ran ran = measured("auto", environment);
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(ran.out, host.out);
  const Ran insisting = measured("device", environment);
  EXPECT_EQ(insisting.exit, 4);
  EXPECT_TRUE(holds(insisting.err, missing + " cannot be opened: No such file")) << insisting.err;
  const Ran listed = run(folder_, "devices", environment);
  EXPECT_TRUE(holds(listed.out, "not used: the program that tries it first")) << listed.out;
}

// The program in TENSORSTAT_PREFLIGHT is checked like any other.
TEST_F(DriverTrial, AProgramThatOthersCanChangeIsNotRun) {
  const ScratchFolder open_to_all(folder_of_this_program());
  const std::string program = write_file(open_to_all / "program", "#!/bin/sh\n: >'" + (folder_ / "ran") + "'\n");
  chmod(program.c_str(), 0755);
  const std::string environment = home("warm") + "TENSORSTAT_PREFLIGHT=" + program;
  static_cast<void>(measured("device", environment));
  EXPECT_TRUE(fs::remove(folder_ / "ran")) << "it runs where nobody else can write";
  chmod(open_to_all.path().c_str(), 0777);
  const Ran ran = measured("device", environment);
  EXPECT_EQ(ran.exit, 4);
  EXPECT_TRUE(holds(ran.err, open_to_all.path() + " can be written by everybody")) << ran.err;
  EXPECT_FALSE(fs::exists(folder_ / "ran"));
  EXPECT_EQ(measured("auto", environment).out, measured("host", "").out);
  EXPECT_FALSE(fs::exists(folder_ / "ran"));
}

// A program that replaces the one that makes trials.
class Trial : public testing::Test {
 protected:
  cl_engine::TrustedProgram program(const std::string& script) {
    const std::string path = write_file(folder_ / "program", "#!/bin/sh\n" + script);
    chmod(path.c_str(), 0700);
    auto opened = cl_engine::TrustedProgram::open(path);
    if (!opened) throw std::runtime_error(opened.error().message);
    return *std::move(opened);
  }
  static std::string words(const Status& status) { return status ? "passed" : status.error().message; }

  const ScratchFolder folder_{folder_of_this_program()};
  const std::string passes_ = "echo noise; printf 'tensorstat-preflight: passed\\n'";
};

TEST_F(Trial, PassesByItsLastWordsAndItsExit) {
  using cl_engine::make_trial;
  const auto say = [&](const std::string& script) {
    return words(make_trial(program(script), {"devices"}, std::chrono::seconds(60)));
  };
  EXPECT_EQ(say(passes_), "passed");
  EXPECT_TRUE(holds(say("true"), "ended early")) << say("true");
  EXPECT_TRUE(holds(say(passes_ + "; exit 3"), "exited with 3"));
  EXPECT_TRUE(holds(say(passes_ + "; kill -SEGV $$"), "was ended by SIGSEGV"));
  EXPECT_TRUE(holds(say("printf 'a\\001\\033[2J\\n\\nb'; exit 1"), "said: a [2J b"));
  EXPECT_LT(say("yes x | head -100000").size(), 1000u);
}

// What makes the kernels of CUDA's driver, where there is no NVIDIA GPU.
TEST_F(Trial, MakesNoPtxWithoutNvidiasCompiler) {
  const auto helper = cl_engine::TrustedProgram::open(
      (folder_of_this_program().parent_path() / "libexec/tensorstat/tensorstat-preflight").string());
  ASSERT_TRUE(helper) << helper.error().message;
  const auto say = [&](const std::vector<std::string>& what) {
    return words(make_trial(*helper, what, std::chrono::seconds(60)));
  };
  const std::string here = folder_.path() + "/";
  EXPECT_TRUE(holds(say({"ptx", "GPU", "90", "13000", here, "float32", "15"}),
                    here + "libnvidia-opencl.so.1 shows OpenCL no such GPU"));
  EXPECT_TRUE(holds(say({"ptx", "GPU", "90", "13000", here, "float32"}), "has no use by hand"));
  EXPECT_TRUE(holds(say({"ptx", "GPU", "x", "13000", here, "float32", "15"}), "has no use by hand"));
}

TEST_F(Trial, HangsNoLongerThanItMay) {
  const auto sleeper = program("sleep 1000 & sleep 1000");
  const auto before = std::chrono::steady_clock::now();
  EXPECT_TRUE(
      holds(words(cl_engine::make_trial(sleeper, {}, std::chrono::milliseconds(100))), "had not ended after 100 ms"));
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(500));
}

// On one processor with 32 busy threads a program gets a thirty-third of the time: what takes 0.1 s alone takes more
// than the 2 s that it may, and less than ten times that, on a machine six times slower, too.
TEST_F(Trial, TimeWithoutAProcessorDoesNotCount) {
  if (!std::ifstream("/proc/self/schedstat")) GTEST_SKIP() << "the kernel does not say who waits";
  cpu_set_t all, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);  // threads and programs inherit it
  std::atomic<bool> is_done = false;
  std::vector<std::thread> others(32);
  for (std::thread& each : others)
    each = std::thread([&] {
      while (!is_done) continue;
    });
  const auto counts = program("i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done; " + passes_);
  EXPECT_EQ(words(cl_engine::make_trial(counts, {}, std::chrono::seconds(2))), "passed");
  is_done = true;
  for (std::thread& each : others) each.join();
  sched_setaffinity(0, sizeof all, &all);
}

// The host may wait for children itself, ignore them, block signals, or have no free descriptor.
TEST_F(Trial, LeavesTheHostsChildrenAndSignalsAlone) {
  using cl_engine::make_trial;
  const auto passing = program(passes_);
  const auto say = [&] { return words(make_trial(passing, {}, std::chrono::seconds(60))); };
  std::signal(SIGCHLD, SIG_IGN);
  EXPECT_EQ(say(), "passed");
  std::signal(SIGCHLD, [](int) {
    const int before = errno;
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    errno = before;
  });
  EXPECT_EQ(say(), "passed");
  std::signal(SIGCHLD, SIG_DFL);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
  // The program must not inherit ignored or blocked signals.
  std::signal(SIGTERM, SIG_IGN);
  EXPECT_TRUE(holds(words(make_trial(program("kill -TERM $$"), {}, std::chrono::seconds(60))), "SIGTERM"));
  std::signal(SIGTERM, SIG_DFL);

  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none{0, before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  const std::string without = say();
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_TRUE(holds(without, "could not be started: Too many open files")) << without;
}

TEST_F(Trial, HasTheRoomThatTheHostHasLeft) {
  using namespace cl_engine;
  const Limits some{17, std::nullopt, 123'456'789'012};
  const std::vector<std::string> arguments = to_arguments(some);
  const char* argv[] = {arguments[0].c_str(), arguments[1].c_str(), arguments[2].c_str()};
  const Limits same = limits_from(argv);
  EXPECT_EQ(same.descriptors, some.descriptors);
  EXPECT_EQ(same.address_bytes, some.address_bytes);
  EXPECT_EQ(same.data_bytes, some.data_bytes);

  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit fifty{50, before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &fifty);
  const auto left = limits_left().descriptors;
  const int one = open("/", O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(limits_left().descriptors, *left - 1);
  limit_to({7, std::nullopt, std::nullopt});
  EXPECT_EQ(limits_left().descriptors, 7u);
  close(one);
  setrlimit(RLIMIT_NOFILE, &before);
}

// A passed trial counts only while the process has at least the limits (such as free descriptors) that it had then.
TEST_F(Trial, ThatPassedIsKept) {
  using namespace cl_engine;
  setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1);
  EXPECT_FALSE(has_passed({"kernel", "a"}));
  keep_passed({"kernel", "a"}, limits_left());
  EXPECT_TRUE(has_passed({"kernel", "a"}));
  EXPECT_FALSE(has_passed({"kernel", "b"}));
  const int one = open("/", O_RDONLY | O_CLOEXEC);
  EXPECT_FALSE(has_passed({"kernel", "a"})) << "with a descriptor less";
  keep_passed({"kernel", "a"}, limits_left());
  EXPECT_TRUE(has_passed({"kernel", "a"}));
  close(one);
  EXPECT_TRUE(has_passed({"kernel", "a"})) << "with more than it had";
  unsetenv("XDG_CACHE_HOME");
}

}  // namespace driver_trial_test
}  // namespace tensorstat::test
