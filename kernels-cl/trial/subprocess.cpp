#include "kernels-cl/trial/subprocess.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <thread>

#include "kernels-cl/trial/system_words.hpp"

namespace tensorstat::cl_engine {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostOutputBytes = 4096;
constexpr std::chrono::milliseconds kTick{1};
constexpr std::chrono::seconds kGrace{1};  // for a process that was sent SIGKILL and may be stuck in the kernel

struct Pipe {
  Descriptor read_end, write_end;
  int error = 0;

  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
      error = errno;
      return;
    }
    read_end = Descriptor(ends[0]);
    write_end = Descriptor(ends[1]);
  }
};

// The number of the descriptor of the child's program. It is free in the child, which does not need what this process
// has open under the number.
constexpr int kProgram = 3;
constexpr const char* kProgramPath = "/proc/self/fd/3";

// The arguments of posix_spawn.
class Orders {
 public:
  Orders(int program, int output) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, output, STDERR_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, program, kProgram);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawnattr_init(&attributes_);
    sigset_t signals;
    sigfillset(&signals);
    posix_spawnattr_setsigdefault(&attributes_, &signals);
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes_, &signals);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  }
  ~Orders() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  Orders(const Orders&) = delete;
  Orders& operator=(const Orders&) = delete;

  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

// How long a thread of the process was ready to run while others had the processors: the longest of its threads. Zero
// where the kernel does not say.
std::chrono::nanoseconds kept_waiting(pid_t child) {
  std::chrono::nanoseconds longest{0};
  std::error_code failed;
  std::filesystem::directory_iterator tasks("/proc/" + std::to_string(child) + "/task", failed);
  for (; !failed && tasks != std::filesystem::directory_iterator(); tasks.increment(failed)) {
    std::chrono::nanoseconds::rep ran = 0, waited = 0;
    std::ifstream(tasks->path() / "schedstat") >> ran >> waited;
    longest = std::max(longest, std::chrono::nanoseconds(waited));
  }
  return longest;
}

// When the time of a program is up. What it waits for a processor does not count: a compiler that shares the machine
// with many others takes minutes, and is sound. But threads that wait for each other without end wait for processors,
// too.
class Deadline {
 public:
  static constexpr int kMostTimes = 10;

  Deadline(pid_t child, std::chrono::milliseconds most)
      : child_(child), most_(most), end_(Clock::now() + most), last_(end_) {}

  std::chrono::milliseconds left() {
    if (Clock::now() >= last_) {
      last_ = end_ + std::min<std::chrono::nanoseconds>(kept_waiting(child_), (kMostTimes - 1) * most_);
    }
    return std::max(std::chrono::ceil<std::chrono::milliseconds>(last_ - Clock::now()), std::chrono::milliseconds(0));
  }

 private:
  const pid_t child_;
  const std::chrono::milliseconds most_;
  const Clock::time_point end_;
  Clock::time_point last_;
};

// Reads until nobody can write any more, or until `words` were read. False if time was up first.
bool listen(int descriptor, Deadline& deadline, std::string& output, std::string_view words = {}) {
  while (words.empty() || output.find(words) == output.npos) {
    const auto left = deadline.left().count();
    if (left <= 0) return false;
    pollfd wanted{descriptor, POLLIN, 0};
    const int ready = poll(&wanted, 1, static_cast<int>(left));
    if (ready < 0 && errno != EINTR) return false;
    if (ready <= 0) continue;
    std::array<char, 1024> bytes;
    const ssize_t got = read(descriptor, bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0;
    output.append(bytes.data(), static_cast<std::size_t>(got));
    if (output.size() > kMostOutputBytes) output.erase(0, output.size() - kMostOutputBytes);
  }
  return true;
}

enum class Reaped { kNotYet, kHere, kElsewhere };

Reaped reap(pid_t child, Deadline deadline, int& status) {
  for (;;) {
    const pid_t reaped = waitpid(child, &status, WNOHANG);
    if (reaped == child) return Reaped::kHere;
    if (reaped < 0 && errno != EINTR) return Reaped::kElsewhere;  // SIGCHLD is ignored, or somebody waits for all
    if (deadline.left().count() == 0) return Reaped::kNotYet;
    std::this_thread::sleep_for(kTick);
  }
}

}  // namespace

Subprocess::Subprocess(const TrustedProgram& program, const std::vector<std::string>& arguments) {
  Pipe output;
  if (output.error != 0) {
    hindrance_ = system_words(output.error);
    return;
  }
  std::vector<char*> argv{const_cast<char*>(program.path().c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  // Without its settings a layer of ours is idle: the helper tries the driver, not what watches this process.
  std::vector<char*> environment;
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    if (!std::string_view(*each).starts_with("TENSORSTAT_ATTACH=")) environment.push_back(*each);
  }
  environment.push_back(nullptr);
  const Orders orders(program.descriptor(), output.write_end.number());
  const int code =
      posix_spawn(&child_, kProgramPath, orders.actions(), orders.attributes(), argv.data(), environment.data());
  if (code != 0) {
    child_ = 0;
    hindrance_ = system_words(code);
  }
  output_ = std::move(output.read_end);
}

Subprocess::~Subprocess() { end(); }

void Subprocess::end() {
  if (child_ == 0) return;
  int status = 0;
  kill(-child_, SIGKILL);
  static_cast<void>(reap(child_, {child_, kGrace}, status));
  child_ = 0;
}

bool Subprocess::says(std::string_view words, std::chrono::milliseconds most) {
  if (child_ == 0) return false;
  waited_ += most;
  Deadline deadline(child_, most);
  static_cast<void>(listen(output_.number(), deadline, said_, words));
  return said_.find(words) != said_.npos;
}

Ended Subprocess::wait(std::chrono::milliseconds most) {
  if (child_ == 0) return {false, "could not be started: " + hindrance_, ""};
  Ended ended;
  Deadline deadline(child_, most);
  int status = 0;
  const bool silent = listen(output_.number(), deadline, said_);
  ended.output = std::move(said_);
  const Reaped reaped = silent ? reap(child_, deadline, status) : Reaped::kNotYet;
  if (reaped == Reaped::kNotYet) {
    end();
    ended.how = "had not ended after " + std::to_string((waited_ + most).count()) + " ms";
  } else if (reaped == Reaped::kHere && WIFSIGNALED(status)) {
    const char* name = sigabbrev_np(WTERMSIG(status));
    ended.how =
        "was ended by " + (name == nullptr ? "signal " + std::to_string(WTERMSIG(status)) : "SIG" + std::string(name));
  } else if (reaped == Reaped::kHere && WEXITSTATUS(status) != 0) {
    ended.how = "exited with " + std::to_string(WEXITSTATUS(status));
  }
  child_ = 0;
  ended.well = ended.how.empty();
  return ended;
}

}  // namespace tensorstat::cl_engine
