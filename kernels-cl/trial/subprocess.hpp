// Runs another program, and tells how that ended.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "kernels-cl/driver/descriptor.hpp"
#include "kernels-cl/trial/trusted_program.hpp"

namespace tensorstat::cl_engine {

struct Ended {
  bool well = false;  // it exited with 0, or was reaped by somebody else
  std::string how;    // "was ended by SIGABRT"; empty when it ended well
  std::string said;   // the end of what it wrote to stdout and stderr
};

// A program that runs. It has default signal dispositions, an empty stdin, this process's environment and limits, and a
// process group of its own. No thread is started, and none of this process's signals or descriptors changes; but a
// SIGCHLD comes of it, as of any child.
//
// The open descriptor is what runs, as /proc/self/fd/N through posix_spawn. fexecve would run it too, but after a fork
// or vfork that goes on in this program's text, with the locks of threads that the child does not have. Without /proc
// mounted nothing runs, and the words say that there is no such file.
class Subprocess {
 public:
  // What hinders the start, wait() says.
  Subprocess(const TrustedProgram& program, const std::vector<std::string>& arguments);
  // Who has not waited for it has it ended, and whatever it has started.
  ~Subprocess();
  Subprocess(const Subprocess&) = delete;
  Subprocess& operator=(const Subprocess&) = delete;

  // Waits at most so long, and then ends it and whatever it has started. Once.
  Ended wait(std::chrono::milliseconds most);

 private:
  void end();

  pid_t child_ = 0;  // 0: none that runs
  Descriptor output_;
  std::string hindrance_;
};

}  // namespace tensorstat::cl_engine
