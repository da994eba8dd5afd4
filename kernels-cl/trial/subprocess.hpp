// Runs another program, and tells how that ended.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "kernels-cl/trial/trusted_program.hpp"

namespace tensorstat::cl_engine {

struct Ended {
  bool well = false;  // it exited with 0, or was reaped by somebody else
  std::string how;    // "was ended by SIGABRT"; empty when it ended well
  std::string said;   // the end of what it wrote to stdout and stderr
};

// Waits for it at most so long, and then ends it and whatever it has started. It has default signal dispositions, an
// empty stdin, this process's environment and limits, and a process group of its own. No thread is started, and none
// of this process's signals or descriptors changes; but a SIGCHLD comes of it, as of any child.
//
// The open descriptor is what runs, as /proc/self/fd/N through posix_spawn. fexecve would run it too, but after a fork
// or vfork that goes on in this program's text, with the locks of threads that the child does not have. Without /proc
// mounted nothing runs, and the words say that there is no such file.
Ended run_program(const TrustedProgram& program, const std::vector<std::string>& arguments,
                  std::chrono::milliseconds most);

}  // namespace tensorstat::cl_engine
