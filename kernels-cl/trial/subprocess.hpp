// Runs another program, and tells how it ended.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "kernels-cl/driver/descriptor.hpp"
#include "kernels-cl/trial/trusted_program.hpp"

namespace tensorstat::cl_engine {

struct Ended {
  bool well = false;   // it exited with 0, or was reaped by somebody else
  std::string how;     // "was ended by SIGABRT"; empty when it ended well
  std::string output;  // the end of its output on stdout and stderr
};

// A program that runs. It has default signal dispositions, an empty stdin, this process's environment and limits, and
// its own process group. No thread is started, and no signal or descriptor of this process changes. Like any child, it
// causes a SIGCHLD.
//
// posix_spawn runs the open descriptor as /proc/self/fd/N. fexecve would need a fork or vfork. After that this
// program's code would run in the child, with the locks of threads that the child does not have. If /proc is not
// mounted, nothing runs, and the error says that there is no such file.
class Subprocess {
 public:
  // wait() reports why a program did not start.
  Subprocess(const TrustedProgram& program, const std::vector<std::string>& arguments);
  // Without wait(), ends the program and all that it has started.
  ~Subprocess();
  Subprocess(const Subprocess&) = delete;
  Subprocess& operator=(const Subprocess&) = delete;

  bool has_started() const { return child_ != 0; }

  // Waits at most so long until the program has written `words`. False if it ended before, or if the time is over.
  bool says(std::string_view words, std::chrono::milliseconds most);

  // Waits at most so long, then ends the program and all that it has started. The time in which the program was ready
  // to run and had no processor does not count. Call it once.
  Ended wait(std::chrono::milliseconds most);

 private:
  void end();

  pid_t child_ = 0;  // 0: none that runs
  Descriptor output_;
  std::string hindrance_, said_;
  std::chrono::milliseconds waited_{0};  // at most, by says()
};

}  // namespace tensorstat::cl_engine
