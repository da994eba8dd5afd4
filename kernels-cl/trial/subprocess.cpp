#include "kernels-cl/trial/subprocess.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <thread>

#include "kernels-cl/trial/system_words.hpp"

namespace tensorstat::cl_engine {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostSaid = 4096;
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

// Reads until nobody can write any more. False if time was up first.
bool listen(int descriptor, Clock::time_point end, std::string& said) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    if (left <= 0) return false;
    pollfd wanted{descriptor, POLLIN, 0};
    const int ready = poll(&wanted, 1, static_cast<int>(left));
    if (ready < 0 && errno != EINTR) return false;
    if (ready <= 0) continue;
    std::array<char, 1024> bytes;
    const ssize_t got = read(descriptor, bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0;
    said.append(bytes.data(), static_cast<std::size_t>(got));
    if (said.size() > kMostSaid) said.erase(0, said.size() - kMostSaid);
  }
}

enum class Reaped { kNotYet, kHere, kElsewhere };

Reaped reap(pid_t child, Clock::time_point end, int& status) {
  for (;;) {
    const pid_t reaped = waitpid(child, &status, WNOHANG);
    if (reaped == child) return Reaped::kHere;
    if (reaped < 0 && errno != EINTR) return Reaped::kElsewhere;  // SIGCHLD is ignored, or somebody waits for all
    if (Clock::now() >= end) return Reaped::kNotYet;
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
  const Orders orders(program.descriptor(), output.write_end.number());
  const int code = posix_spawn(&child_, kProgramPath, orders.actions(), orders.attributes(), argv.data(), environ);
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
  static_cast<void>(reap(child_, Clock::now() + kGrace, status));
  child_ = 0;
}

Ended Subprocess::wait(std::chrono::milliseconds most) {
  if (child_ == 0) return {false, "could not be started: " + hindrance_, ""};
  Ended ended;
  const auto last = Clock::now() + most;
  int status = 0;
  const bool silent = listen(output_.number(), last, ended.said);
  const Reaped reaped = silent ? reap(child_, last, status) : Reaped::kNotYet;
  if (reaped == Reaped::kNotYet) {
    end();
    ended.how = "had not ended after " + std::to_string(most.count()) + " ms";
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
